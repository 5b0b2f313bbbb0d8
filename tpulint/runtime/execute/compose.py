"""Build the program of one replica, from its segments, in the graph that is being built.

A device segment becomes a call of a function that XLA compiles; host clusters are plain operations
between the segments; a conditional or a loop that holds both is rebuilt around them.
So a whole step runs inside TensorFlow's own executor, without Python between the segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import RuntimeFault
from tpulint.runtime.execute.control import DeferredCluster, Rebuilder, defer
from tpulint.runtime.execute.deadline import Deadline
from tpulint.runtime.execute.device_program import DeviceProgram
from tpulint.runtime.execute.exchanges import Exchanges, RendezvousReports
from tpulint.runtime.execute.feeds import Feeds, feed_lane
from tpulint.runtime.execute.probes import Probes, WatchedSegment
from tpulint.runtime.execute.raising import failing_tensors
from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image, in_this_graph, scope_of
from tpulint.runtime.extract.constants import constant_arguments, device_constant, shaped_tensors
from tpulint.runtime.extract.copying import copy_operations, inputs_of
from tpulint.runtime.extract.kernels import (
    refused_array_use,
    unreachable_python_function,
    unsupported_operation,
)
from tpulint.runtime.extract.region import Operation, Region, Tensor, key_of
from tpulint.runtime.extract.segments import Segment, Side
from tpulint.runtime.schedule.locks import AccessSchedule, Deadlock
from tpulint.runtime.schedule.schedule import Plan
from tpulint.runtime.source_location import host_function_of, operation_location
from tpulint.runtime.tensorflow_internals import operations


def operation_waits(
    planned: Plan, op: Operation, own: frozenset[str], images: TensorMap
) -> list[Operation]:
    """Return the operations outside its segment that `op` waits for, apart from its inputs."""
    if op.name not in planned.before or op.type == "Const":
        return []
    data = {tensor.op.name for tensor in op.inputs}
    earlier = planned.before[op.name]
    waits_for = [images.operations[name] for name in sorted(earlier - own - data)]
    return waits_for if earlier else [*waits_for, *images.entry]


def segment_waits(
    planned: Plan, segment: Segment, own: frozenset[str], images: TensorMap
) -> list[Operation]:
    """Return the operations outside `segment` that any of its operations waits for."""
    waits = [operation_waits(planned, op, own, images) for op in segment.ops]
    return list({op.name: op for group in waits for op in group}.values())


def note_start(
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
        *segment_waits(planned, segment, own, images),
    ]
    crossing = [
        image
        for name, image in takes.items()
        if segment.side is Side.HOST and not _is_made_on_host(planned.region, name)
    ]
    return probes.start(_watched(segment), images.replica, crossing, waits_for)


def note_end(
    probes: Probes,
    planned: Plan,
    segment: Segment,
    own: frozenset[str],
    images: TensorMap,
    images_made: list[Operation],
) -> None:
    """Note that `segment`, whose images are `images_made`, has ended, before others go on."""
    gives = [
        images.tensors[tensor.name]
        for op in segment.ops
        for tensor in op.outputs
        if segment.side is Side.HOST and _leads_to_device(planned.region, tensor, own)
    ]
    ended = probes.end(_watched(segment), images.replica, gives, images_made)
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
    function = host_function_of(first) if segment.side is Side.HOST else ""
    return WatchedSegment(lane_of(segment), first.name, operation_location(first), function)


def _is_made_on_host(region: Region, name: str) -> bool:
    """Return whether the tensor `name` is made on the host, or is a constant that is not sent."""
    op = region.graph.get_tensor_by_name(name).op
    return op.name in region.names and (op.type == "Const" or region.cluster_of(op) is not None)


def _leads_to_device(region: Region, tensor: Tensor, own: frozenset[str]) -> bool:
    users = region.used_by.get(tensor.name, frozenset()) - own
    on_device = (
        region.cluster_of(region.graph.get_operation_by_name(user)) is None for user in users
    )
    return tensor.name in region.output_names or any(on_device)


_COSTS_NOTHING = frozenset({"Identity", "Const", "NoOp"})
# Of scalars these give what XLA's give, and a program of XLA takes ten times as long to start.
_COMPARISONS = frozenset({"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"})
_LOGICAL = frozenset({"LogicalAnd", "LogicalOr", "LogicalNot"})
# Of types that TensorFlow can compare without XLA; of others, such as float8, it has no kernels.
_COMPARABLE_DTYPES = frozenset({tf.bool, tf.int32, tf.int64, tf.float16, tf.bfloat16, tf.float32})


@dataclass(frozen=True, eq=False)
class Composer:
    """A builder of regions that follows the schedule of their host accesses."""

    names: Sequence[str]
    """The names of the replicas."""
    access_schedule: AccessSchedule
    rendezvous: RendezvousReports
    exchanges: Exchanges
    probes: Probes
    deadline: Deadline
    feeds: Feeds
    compiles: bool = True
    deferred: list[DeferredCluster] = field(default_factory=list)
    """The operations found to run when the device program has ended."""

    def build(self, planned: Plan, images: TensorMap) -> None:
        """Build all of `planned`, and add the images of its tensors and operations to `images`."""
        later = self._defer(planned.deferred, images) if planned.deferred else None
        for segment in planned.segments:
            if segment.side is Side.CONTROL:
                self._build_control(planned, segment, images)
            elif segment.side is Side.COLLECTIVE:
                self._build_collective(planned, segment, images)
            elif segment.side is Side.FEED:
                self._build_feed(planned, segment.ops[0], images)
            elif segment.side is Side.HOST:
                self._build_host(planned, segment, images)
            else:
                self._build_device(planned, segment, images)
        if later:
            images.effects.append(later.put(images))

    def _defer(self, planned: Plan, images: TensorMap) -> DeferredCluster:
        later = defer(planned, images)
        self.deferred.append(later)
        return later

    def _build_plain(self, planned: Plan, segment: Segment, images: TensorMap) -> None:
        on_host = segment.side is Side.HOST
        copied = copy_operations(
            planned.region,
            segment.ops,
            lambda name: constant_or_image(planned.region, name, images, on_host=on_host),
            planned.before,
            on_device=not on_host,
        )
        own = frozenset(copied.operations)
        started = note_start(self.probes, planned, segment, own, images)
        for op in segment.ops:
            image = copied.operations[op.name]
            waits_for = operation_waits(planned, op, own, images)
            # The others come after one of these in the segment anyway.
            if not planned.before.get(op.name, frozenset()) & own:
                waits_for += started
            deadlock = self.access_schedule.deadlocks.get(key_of(planned.region, op))
            if deadlock:
                waits_for.append(self._build_deadlock(deadlock, planned, segment, own, images))
            if waits_for:
                operations.add_control_inputs(image, waits_for)
            # In a function nothing else makes it run: the step fetches its token only.
            if image.op_def.is_stateful:
                images.effects.append(image)
            self.deadline.bound_python_function(op, image, lane_of(segment))
            replica = in_this_graph(images.replica)
            images.effects += self.deadline.note_wait(op, image, lane_of(segment), replica)
        images.tensors.update(copied.tensors)
        images.operations.update(copied.operations)
        if started:
            copies = list(copied.operations.values())
            note_end(self.probes, planned, segment, own, images, copies)

    def _build_host(self, planned: Plan, segment: Segment, images: TensorMap) -> None:
        fault = unreachable_python_function(planned.region, segment.ops)
        if fault:
            self._build_failure(planned, segment, fault, images)
        else:
            self._build_plain(planned, segment, images)

    def _build_device(self, planned: Plan, segment: Segment, images: TensorMap) -> None:
        fault = unsupported_operation(planned.region, segment.ops)
        if fault:
            self._build_failure(planned, segment, fault, images)
        elif segment.side is Side.DEVICE and not all(map(_is_plain, segment.ops)):
            self._build_compiled(planned, segment, images)
        else:
            self._build_plain(planned, segment, images)

    def _build_compiled(self, planned: Plan, segment: Segment, images: TensorMap) -> None:
        own = frozenset(op.name for op in segment.ops)
        wanted = _tensors_used_outside(planned.region, segment, own, images)
        program = DeviceProgram(planned, segment, wanted, images, compiles=self.compiles)
        started = note_start(self.probes, planned, segment, own, images)
        with tf.control_dependencies([*segment_waits(planned, segment, own, images), *started]):
            results, call = program.launch()
        images.effects.append(call)
        # An operation of a compiled segment has run when the whole call has.
        images.operations.update(dict.fromkeys(own, call))
        for tensor, result in zip(wanted, results):
            result.set_shape(tensor.shape)
            images.tensors[tensor.name] = result
        if started:
            note_end(self.probes, planned, segment, own, images, [call])

    def _build_failure(
        self, planned: Plan, segment: Segment, fault: RuntimeFault, images: TensorMap
    ) -> None:
        """Build, in place of a segment that nothing there can run, an operation that fails."""
        own = frozenset(op.name for op in segment.ops)
        wanted = _tensors_used_outside(planned.region, segment, own, images)
        # The fault comes when the segment would run: what is before it has run, as on a TPU.
        with tf.control_dependencies(segment_waits(planned, segment, own, images)):
            results = failing_tensors(lambda: fault, (), [tensor.dtype for tensor in wanted])
        images.effects.append(results[0].op)
        images.operations.update(dict.fromkeys(own, results[0].op))
        for tensor, result in zip(wanted, results):
            result.set_shape(tensor.shape)
            images.tensors[tensor.name] = result

    def _build_collective(self, planned: Plan, segment: Segment, images: TensorMap) -> None:
        ops = segment.ops
        values = [
            constant_or_image(planned.region, op.inputs[0].name, images, on_host=False)
            for op in ops
        ]
        own = frozenset(op.name for op in ops)
        # All of the segment are one rendezvous, which is known by its first.
        site = (*images.site, ops[0].name)
        waits_for = list(dict.fromkeys(value.op for value in values))
        waits_for += segment_waits(planned, segment, own, images)
        arrived = self.rendezvous.report_arrival(site, images, waits_for)
        # All parts go together, so that no replica waits in one collective while another waits in
        # the next.
        with tf.control_dependencies([*waits_for, *arrived]):
            values = tf.identity_n(values)
        results = self.exchanges.exchange(site, ops, values, images)
        ends = list(dict.fromkeys(result.op for result in results))
        # Constant folding may move a constant beyond the exchange, which closes a circle.
        for end in (values[0].op, *ends):
            operations.exempt_from_grappler(end)
        images.effects += ends
        for op, result in zip(ops, results, strict=True):
            result.set_shape(op.outputs[0].shape)
            images.tensors[op.outputs[0].name] = result
            images.operations[op.name] = result.op

    def _build_feed(self, planned: Plan, op: Operation, images: TensorMap) -> None:
        region = planned.region
        on_host = region.cluster_of(op) is not None
        values = [
            constant_or_image(region, tensor.name, images, on_host=on_host) for tensor in op.inputs
        ]
        waits_for = operation_waits(planned, op, frozenset({op.name}), images)
        segment = WatchedSegment(feed_lane(op), op.name, operation_location(op))
        waits_for += self.probes.start(segment, images.replica, values, waits_for)
        results, done = self.feeds.build(op, values, waits_for, images)
        images.tensors.update(
            {out.name: result for out, result in zip(op.outputs, results, strict=True)}
        )
        images.operations[op.name] = done
        ended = self.probes.end(segment, images.replica, results, [done])
        images.effects += [done, *ended]

    def _build_control(self, planned: Plan, segment: Segment, images: TensorMap) -> None:
        region, (op,) = planned.region, segment.ops
        # XLA never sees this operation, so it cannot refuse it.
        fault = refused_array_use(region, op)
        if fault:
            self._build_failure(planned, segment, fault, images)
            return
        waits_for = operation_waits(planned, op, frozenset({op.name}), images)

        site = (*images.site, op.name)

        def build_inside(
            number: int, body: Region, inside: TensorMap, handed_in: Sequence[Tensor]
        ) -> None:
            inside.site = (*site, number)
            inside.replica, inside.queues, inside.feeds = (
                images.replica,
                images.queues,
                images.feeds,
            )
            # Each body is a graph of its own, which captures what is the same in every round.
            outside = in_this_graph(images.iteration)
            if inside.rounds is None:
                inside.iteration = outside
                inside.effects += self.rendezvous.report_decision(site, images, tf.constant(number))
            else:
                inside.iteration = tf.concat([outside, inside.rounds[tf.newaxis]], 0)
            inside.handles = {
                name: images.handles[tensor.name]
                for name, tensor in zip(body.inputs, handed_in, strict=True)
                if tensor.name in images.handles
            }
            constants = constant_arguments(scope_of(region, images), body.inputs, handed_in)
            inside.constants = {
                name: value for name, value in constants.items() if name not in inside.changing
            }
            self.build(planned.nested[op.name][number], inside)

        rebuilt = Rebuilder(
            region,
            op,
            lambda name, on_host, captured=True: constant_or_image(
                region, name, images, on_host=on_host, captured=captured
            ),
            waits_for,
            build_inside,
        ).rebuild()
        for tensor, result in zip(op.outputs, rebuilt.outputs):
            result.set_shape(tensor.shape)
            images.tensors[tensor.name] = result
        images.operations[op.name] = rebuilt.done
        images.effects.append(rebuilt.done)
        # A loop has decided when it ends; a branch when it begins, in `build_inside`.
        if rebuilt.rounds is not None:
            images.effects += self.rendezvous.report_decision(
                site, images, rebuilt.rounds, [rebuilt.done]
            )

    def _build_deadlock(
        self,
        deadlock: Deadlock,
        planned: Plan,
        segment: Segment,
        own: frozenset[str],
        images: TensorMap,
    ) -> Operation:
        """Return an operation that fails once `segment`, which cannot run, has its inputs."""
        needs = {
            tensor.op.name: constant_or_image(planned.region, tensor.name, images, on_host=True).op
            for tensor in inputs_of(segment.ops).values()
        }

        def fault(replica: Any) -> RuntimeFault:
            return deadlock.fault(self.names[int(replica)])

        # The deadlock closes when the cluster has its inputs and asks for the variable, not before.
        first = [*needs.values(), *segment_waits(planned, segment, own, images)]
        with tf.control_dependencies(first):
            return failing_tensors(fault, [in_this_graph(images.replica)])[0].op


def _is_plain(op: Operation) -> bool:
    """Return whether `op` of the device gives the same without XLA: the test of a loop mostly."""
    if op.type in _COSTS_NOTHING:
        return True
    scalars = all(
        tensor.shape.rank == 0 and tensor.dtype in _COMPARABLE_DTYPES for tensor in op.inputs
    )
    return op.type in _COMPARISONS | _LOGICAL and scalars


def _tensors_used_outside(
    region: Region, segment: Segment, own: frozenset[str], images: TensorMap
) -> list[Tensor]:
    """Return the tensors of `segment` that are used outside it."""
    tensors = [tensor for op in segment.ops if op.type != "Const" for tensor in op.outputs]
    leaving = {tensor.name: tensor for tensor in tensors if region.is_used_outside(tensor, own)}
    # A constant that is computed anew elsewhere needs no value from here, but may need a shape.
    scope = scope_of(region, images)
    for tensor in tuple(leaving.values()):
        value = device_constant(scope, tensor)
        if value:
            leaving |= {
                source.name: source
                for around, source in shaped_tensors(value)
                if around is scope and source.op.name in own
            }
    return list(leaving.values())
