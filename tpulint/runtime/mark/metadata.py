"""What `TPUReplicateMetadata` says, and whether the replicas fit the cores that it names."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.errors import DeviceAssignmentError
from tpulint.runtime.mark.request import Request


def attributes_of(request: Request) -> dict[str, Any]:
    """The attributes of the metadata operation, but for `num_replicas` and `use_tpu`."""
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
    options = request.xla_options or tfi.XLAOptions()
    found["use_spmd_for_xla_partitioning"] = options.use_spmd_for_xla_partitioning
    if hasattr(options, "use_shardy_partitioner"):  # not in 2.12
        found["use_shardy_partitioner"] = options.use_shardy_partitioner
    return found


def check_assignment(assignment: Any, num_replicas: int) -> None:
    """Raise `DeviceAssignmentError` where TensorFlow's distributed rewrite refuses to run.

    TensorFlow's Python does not look; its C++ does when the step is run. The texts are its own.
    """
    if assignment is None:
        return
    cores = assignment.core_assignment
    coordinates = cores.reshape(-1, cores.shape[-1]).tolist()
    per_replica = assignment.num_cores_per_replica
    in_topology = assignment.topology.num_tasks * assignment.topology.num_tpus_per_task
    if num_replicas > in_topology:
        raise DeviceAssignmentError(
            f"Requested num_replicas={num_replicas} but there are only {in_topology} cores in "
            "the TPU topology."
        )
    if num_replicas * per_replica > in_topology:
        raise DeviceAssignmentError(
            f"Requested num_replicas={num_replicas} with {per_replica} cores per replica, but "
            f"there are only {in_topology} cores in the TPU topology."
        )
    if len(coordinates) != num_replicas * per_replica:
        raise DeviceAssignmentError(
            f"Length of device_assignment attribute must be equal to num_replicas "
            f"({num_replicas}) * num_cores_per_replica ({per_replica}) * {cores.shape[-1]} "
            f"got {cores.size}"
        )
    twice = [c for c, count in Counter(map(tuple, coordinates)).items() if count > 1]
    if twice:
        raise DeviceAssignmentError(
            f"Duplicate coordinates in device_assignment: {', '.join(map(str, twice))}"
        )
