"""Infeed and outfeed: the operations of a program that meet the host's own, core by core."""

from __future__ import annotations

from tpulint.ordering.operations import FEEDS
from tpulint.runtime.extract.bodies import bodies
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.pods import devices
from tpulint.runtime.tensorflow_internals.feeds import core_assignment_of, topology_of

_CORES_PER_HOST = 8
"""The number that TensorFlow's default placement of an infeed queue assumes (tpu_feed.py)."""


def feeds(region: Region) -> frozenset[Operation]:
    """Return the infeed and outfeed operations of `region` and of the bodies in it."""
    found = {op for op in region.ops if op.type in FEEDS}
    for op in region.ops:
        for body in bodies(region, op):
            found |= feeds(body)
    return frozenset(found)


def core_number(task: int, ordinal: int) -> int:
    """Return the number among all cores of the core `ordinal` of the host `task`."""
    return task * cores_of_this_host() + ordinal


def cores_of_this_host() -> int:
    """Return the number of cores of each host."""
    return devices.cores_of_a_host(_CORES_PER_HOST)


def cores_of_replicas(marked: Marked, logical_core: int) -> tuple[int, ...]:
    """Return for each replica the number of its core for `logical_core`."""
    assigned = marked.metadata.get_attr("device_assignment")
    if not assigned:
        return tuple(range(marked.num_replicas))
    topology = topology_of(marked.metadata.get_attr("topology"))
    cores = core_assignment_of(
        assigned, marked.metadata.get_attr("num_cores_per_replica"), topology
    )
    return tuple(
        core_number(
            topology.task_ordinal_at_coordinates(replica[logical_core]),
            topology.tpu_device_ordinal_at_coordinates(replica[logical_core]),
        )
        for replica in cores
    )
