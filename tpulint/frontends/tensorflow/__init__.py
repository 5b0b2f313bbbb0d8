"""What only programs of TensorFlow and Keras mean: a front end of the analysis.

`build_program` begins in the modules that name the TPU API (`models.registry.ENTRY_NAMES`). All
modules are read that device code, host clusters, input pipelines and the scope of a TPU's strategy
lead to; of other host code, those that name the TPU API or hold records. `--statistics` counts what
is left out.
The result is `program.Program`: computations, clusters, accesses, uses.
"""

from tpulint.frontends import FrontEnd
from tpulint.frontends.tensorflow import prefilter
from tpulint.frontends.tensorflow.knowledge import tf_names

FRONT_END = FrontEnd(
    frozenset(tf_names.TENSORFLOW_ROOTS),
    tf_names.INSTALLED,
    prefilter.passes,
    tf_names.SIGNS,
    tf_names.is_tensorflow,
    "tpulint.frontends.tensorflow.models.registry:Models",
    prefilter.names_a_tpu,
    prefilter.names_estimators,
    prefilter.placement_in,
)
