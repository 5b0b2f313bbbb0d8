"""The attributes that `TPUReplicateMetadata` holds of a computation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime.mark.request import ReplicateRequest
from tpulint.runtime.tensorflow_internals import tpu


def attributes_of(request: ReplicateRequest) -> dict[str, Any]:
    """Return the attributes of the metadata operation, except `num_replicas` and `use_tpu`."""
    found: dict[str, Any] = {}
    assignment = request.device_assignment
    if assignment is not None:
        found["topology"] = assignment.topology.serialized()
        found["device_assignment"] = assignment.core_assignment.flatten().tolist()
        found["num_cores_per_replica"] = assignment.num_cores_per_replica
    found["allow_soft_placement"] = tf.config.get_soft_device_placement()
    found["step_marker_location"] = getattr(
        request.computation, "step_marker_location", "STEP_MARK_AT_ENTRY"
    )
    options = request.xla_options or tpu.XLAOptions()
    found["use_spmd_for_xla_partitioning"] = options.use_spmd_for_xla_partitioning
    if hasattr(options, "use_shardy_partitioner"):  # not in 2.12
        found["use_shardy_partitioner"] = options.use_shardy_partitioner
    return found
