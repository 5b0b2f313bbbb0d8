"""TensorFlow's own TPU functions, and the helpers that they use."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import (
    autograph_config,
    composite_tensor,
    tensorflow_tpu,
    tf2xla,
    tpu_name_util,
    tpu_replication,
    variable_scope,
    variable_utils,
    xla,
)
from tpulint.runtime.tensorflow_internals.modules import nest as nest
from tpulint.runtime.tensorflow_internals.modules import tpu_ops as tpu_ops
from tpulint.runtime.tensorflow_internals.modules import training_loop as training_loop

CompositeTensor = composite_tensor.CompositeTensor
XLAOptions = tensorflow_tpu.XLAOptions
check_function_argument_count = xla.check_function_argument_count
convert_variables_to_tensors = variable_utils.convert_variables_to_tensors
core = tpu_name_util.core
current_variable_scope = variable_scope.get_variable_scope
is_flat = xla.is_flat
set_dynamic_dimension_size = tf2xla.set_dynamic_dimension_size

# AutoGraph leaves TensorFlow's own modules as they are. It must leave these, too: the functions
# that a user gives to them are converted or not as if they had been given to TensorFlow's.
autograph_config.CONVERSION_RULES = (
    autograph_config.DoNotConvert("tpulint"),
    *autograph_config.CONVERSION_RULES,
)


def tensorflows_replicate(*args: Any) -> list[Any]:
    """Call TensorFlow's own `split_compile_and_replicate`."""
    results: list[Any] = tensorflow_tpu.split_compile_and_replicate(*args)
    return results


def tensorflows_outside_compilation(is_map: bool, *args: Any, **kwargs: Any) -> Any:
    """Call TensorFlow's own `outside_compilation` or `experimental_map_outside_compilation`."""
    if is_map:
        return tpu_replication.experimental_map_outside_compilation(*args, **kwargs)
    return tf.compat.v1.tpu.outside_compilation(*args, **kwargs)
