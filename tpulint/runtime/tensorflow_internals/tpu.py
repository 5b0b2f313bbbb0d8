"""TensorFlow's own TPU functions, and the helpers that they use."""

from __future__ import annotations

from typing import Any

from tpulint.runtime.tensorflow_internals.modules import (
    autograph_config,
    composite_tensor,
    tensorflow_tpu,
    tf2xla,
    topology,
    tpu_name_util,
    variable_scope,
    variable_utils,
    xla,
)
from tpulint.runtime.tensorflow_internals.modules import nest as nest
from tpulint.runtime.tensorflow_internals.modules import tpu_ops as tpu_ops
from tpulint.runtime.tensorflow_internals.modules import training_loop as training_loop
from tpulint.runtime.tensorflow_internals.patching import patch_value

CompositeTensor = composite_tensor.CompositeTensor
Topology = topology.Topology
XLAOptions = tensorflow_tpu.XLAOptions
check_function_argument_count = xla.check_function_argument_count
convert_variables_to_tensors = variable_utils.convert_variables_to_tensors
core = tpu_name_util.core
current_variable_scope = variable_scope.get_variable_scope
is_flat = xla.is_flat
set_dynamic_dimension_size = tf2xla.set_dynamic_dimension_size


@patch_value(
    "tensorflow.python.autograph.core.config.CONVERSION_RULES",
    why="AutoGraph leaves tpulint's modules as they are, like TensorFlow's own",
)
def _leave_tpulint_unconverted(rules: tuple[Any, ...]) -> tuple[Any, ...]:
    # Functions that a user gives to tpulint are converted or not as if given to TensorFlow's own.
    return (autograph_config.DoNotConvert("tpulint"), *rules)
