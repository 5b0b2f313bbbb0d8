"""The attributes that TensorFlow's C++ passes read, under TensorFlow's names."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

REPLICATE = "_tpu_replicate"
OUTSIDE = "_xla_outside_compilation"
MAP_OUTSIDE = "_xla_map_outside_compilation"
PIVOT = "_pivot_for_cluster"
INPUT_IDENTITY = "_tpu_input_identity"
OUTPUT_IDENTITY = "_tpu_output_identity"
POST_DEVICE_REWRITE = "_post_device_rewrite"
COMPILATION_STATUS = "_tpu_compilation_status"
HOST_COMPUTE_CORE = "host_compute_core"
_BOUNDARY = frozenset({"TPUReplicatedInput", "TPUReplicatedOutput"})


def is_marked(op: tf.Operation) -> bool:
    """Return whether `op` belongs to a computation or its boundary, or is its pivot."""
    attrs = op.node_def.attr
    return op.type in _BOUNDARY or REPLICATE in attrs or PIVOT in attrs


def string_attr(value: str) -> Any:
    """Return an AttrValue that holds `value`."""
    return tf.compat.v1.AttrValue(s=value.encode())


def bool_attr(value: bool) -> Any:
    """Return an AttrValue that holds `value`."""
    return tf.compat.v1.AttrValue(b=value)


def string_list_attr(values: list[str]) -> Any:
    """Return an AttrValue that holds the list `values`."""
    attr = tf.compat.v1.AttrValue()
    attr.list.s.extend(value.encode() for value in values)
    return attr
