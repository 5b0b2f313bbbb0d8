"""TensorFlow's own TPU functions, and the helpers that they use."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import (
    autograph_config,
    composite_tensor,
    tensorflow_tpu,
    tf2xla,
    topology,
    tpu_name_util,
    tpu_replication,
    variable_scope,
    variable_utils,
    xla,
)
from tpulint.runtime.tensorflow_internals.modules import nest as nest
from tpulint.runtime.tensorflow_internals.modules import tpu_ops as tpu_ops
from tpulint.runtime.tensorflow_internals.modules import training_loop as training_loop
from tpulint.runtime.tensorflow_internals.patching import patch_value

CompositeTensor = composite_tensor.CompositeTensor
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


def tensorflows_replicate(*args: Any) -> list[Any]:
    """Call TensorFlow's own `split_compile_and_replicate`."""
    results: list[Any] = tensorflow_tpu.split_compile_and_replicate(*args)
    return results


def tensorflows_outside_compilation(is_map: bool, *args: Any, **kwargs: Any) -> Any:
    """Call TensorFlow's own `outside_compilation` or `experimental_map_outside_compilation`."""
    if is_map:
        return tpu_replication.experimental_map_outside_compilation(*args, **kwargs)
    return tf.compat.v1.tpu.outside_compilation(*args, **kwargs)


def parse_topology(serialized: bytes) -> Any:
    """Return the Topology of `serialized`."""
    return topology.Topology(serialized=serialized)


def core_coordinates(flat: list[int], cores_per_replica: int, of: Any) -> Any:
    """Return the coordinates in `flat`, by replica and logical core."""
    return np.reshape(flat, [-1, cores_per_replica, of.mesh_rank])
