"""Probes at the start and the end of a segment, with the tensors that cross there."""

from __future__ import annotations

import tensorflow as tf

from tpulint.runtime.execute.ordering import all_wait_for
from tpulint.runtime.execute.probes import Probes, WatchedSegment
from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image
from tpulint.runtime.extract.copying import inputs_of
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.extract.segments import Segment, Side
from tpulint.runtime.schedule.plan import Plan
from tpulint.runtime.source_location import place_of_operation


def starts(
    probes: Probes, planned: Plan, segment: Segment, own: frozenset[str], images: TensorMap
) -> list[Operation]:
    """Note that `segment` starts, once all its inputs are ready."""
    if not probes.wanted or segment.side is Side.PLAIN:
        return []
    takes = {
        name: constant_or_image(planned.region, name, images, on_host=segment.side is Side.HOST)
        for name in inputs_of(segment.ops)
    }
    waits_for = [
        *(tensor.op for tensor in takes.values()),
        *all_wait_for(planned, segment, own, images),
    ]
    crossing = [
        image
        for name, image in takes.items()
        if segment.side is Side.HOST and not _is_hosts(planned.region, name)
    ]
    return probes.start(_watched(segment), images.replica, crossing, waits_for)


def ends(
    probes: Probes,
    planned: Plan,
    segment: Segment,
    own: frozenset[str],
    images: TensorMap,
    made: list[Operation],
) -> None:
    """Note that `segment`, whose images are `made`, has ended, before others go on."""
    gives = [
        images.tensors[tensor.name]
        for op in segment.ops
        for tensor in op.outputs
        if segment.side is Side.HOST and _goes_to_the_device(planned.region, tensor, own)
    ]
    ended = probes.end(_watched(segment), images.replica, gives, made)
    images.effects += ended
    with tf.control_dependencies(ended):
        for tensor in _values(segment):
            if tensor.name in images.tensors:
                images.tensors[tensor.name] = tf.identity(images.tensors[tensor.name])


def lane_of(segment: Segment) -> str:
    """Return the lane in which `segment` runs."""
    return f"host cluster {segment.cluster}" if segment.side is Side.HOST else "device"


def _values(segment: Segment) -> list[Tensor]:
    """Return the outputs of `segment`, except constants and handles, which never cross."""
    return [
        tensor
        for op in segment.ops
        if op.type != "Const"
        for tensor in op.outputs
        if tensor.dtype.base_dtype not in (tf.resource, tf.variant)
    ]


def _watched(segment: Segment) -> WatchedSegment:
    first = segment.ops[0]
    return WatchedSegment(lane_of(segment), first.name, place_of_operation(first))


def _is_hosts(region: Region, name: str) -> bool:
    """Return whether the tensor `name` is made on the host, or is a constant that is not sent."""
    op = region.graph.get_tensor_by_name(name).op
    return op.name in region.names and (op.type == "Const" or region.cluster_of(op) is not None)


def _goes_to_the_device(region: Region, tensor: Tensor, own: frozenset[str]) -> bool:
    users = region.used_by.get(tensor.name, frozenset()) - own
    on_device = (
        region.cluster_of(region.graph.get_operation_by_name(user)) is None for user in users
    )
    return tensor.name in region.output_names or any(on_device)
