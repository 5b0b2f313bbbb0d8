"""TensorFlow's own TPU functions, and the helpers that they use."""

from __future__ import annotations

from typing import Any

from tpulint.runtime.tensorflow_internals import modules
from tpulint.runtime.tensorflow_internals.modules import nest as nest
from tpulint.runtime.tensorflow_internals.modules import tpu_ops as tpu_ops
from tpulint.runtime.tensorflow_internals.modules import training_loop as training_loop
from tpulint.runtime.tensorflow_internals.patching import patch_value

CompositeTensor = modules.composite_tensor.CompositeTensor
Topology = modules.topology.Topology
XLAOptions = modules.tensorflow_tpu.XLAOptions
check_function_argument_count = modules.xla.check_function_argument_count
convert_variables_to_tensors = modules.variable_utils.convert_variables_to_tensors
core = modules.tpu_name_util.core
current_variable_scope = modules.variable_scope.get_variable_scope
is_flat = modules.xla.is_flat
set_dynamic_dimension_size = modules.tf2xla.set_dynamic_dimension_size


@patch_value(
    "tensorflow.python.autograph.core.config.CONVERSION_RULES",
    why="AutoGraph leaves tpulint's modules as they are, like TensorFlow's own",
)
def _leave_tpulint_unconverted(rules: tuple[Any, ...]) -> tuple[Any, ...]:
    # Functions that a user gives to tpulint are converted or not as if given to TensorFlow's own.
    return (modules.autograph_config.DoNotConvert("tpulint"), *rules)
