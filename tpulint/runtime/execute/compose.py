"""Build the program of one replica, from its segments, in the graph that is being built.

A device segment becomes a call of a function that XLA compiles; host clusters are plain operations
between the segments; a conditional or a loop that holds both is rebuilt around them.
So a whole step runs inside TensorFlow's own executor, without Python between the segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import tensorflow as tf

from tpulint.runtime.errors import RuntimeFault
from tpulint.runtime.execute.control import DeferredCluster, Rebuilder
from tpulint.runtime.execute.deadline import Deadline
from tpulint.runtime.execute.device_program import DeviceProgram
from tpulint.runtime.execute.exchanges import Exchanges, RendezvousReports
from tpulint.runtime.execute.feeds import Feeds, feed_lane
from tpulint.runtime.execute.probes import Probes, WatchedSegment
from tpulint.runtime.execute.raising import failing_tensors
from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image, in_this_graph, scope_of
from tpulint.runtime.extract import kernels
from tpulint.runtime.extract.constants import device_constant, shaped_tensors
from tpulint.runtime.extract.copying import copy_operations, inputs_of
from tpulint.runtime.extract.region import Operation, Tensor, key_of
from tpulint.runtime.extract.segments import Segment, Side
from tpulint.runtime.schedule.locks import AccessSchedule, Deadlock
from tpulint.runtime.schedule.schedule import Plan
from tpulint.runtime.source_location import host_function_of, operation_location
from tpulint.runtime.tensorflow_internals import operations

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
        later = DeferredCluster(planned.deferred, images) if planned.deferred else None
        if later:
            self.deferred.append(later)
        for segment in planned.segments:
            SegmentBuilder(self, planned, segment, images).build()
        if later:
            images.effects.append(later.put(images))


class SegmentBuilder:
    """A builder of one segment of `planned`."""

    def __init__(
        self, composer: Composer, planned: Plan, segment: Segment, images: TensorMap
    ) -> None:
        self._composer, self._planned, self._images = composer, planned, images
        self._region, self._side, self._ops = planned.region, segment.side, segment.ops
        self._own = frozenset(op.name for op in segment.ops)
        # The constants of a segment come first, and are on no side.
        self._is_host = planned.region.cluster_of(segment.ops[-1]) is not None
        self._lane = "device" if segment.cluster is None else f"host cluster {segment.cluster}"
        if segment.side is Side.FEED:
            self._lane = feed_lane(segment.ops[0])

    @cached_property
    def _watched(self) -> WatchedSegment:
        first = self._ops[0]
        function = host_function_of(first) if self._side is Side.HOST else ""
        return WatchedSegment(self._lane, first.name, operation_location(first), function)

    def build(self) -> None:
        """Build the segment, or in its place an operation that fails if nothing can run it."""
        if self._side is Side.COLLECTIVE:
            self._build_collective()
        elif self._side is Side.FEED:
            self._build_feed()
        elif fault := self._fault():
            self._build_failure(fault)
        elif self._side is Side.CONTROL:
            self._build_control()
        elif self._side is Side.DEVICE and not all(map(_is_plain, self._ops)):
            self._build_compiled()
        else:
            self._build_plain()

    def _fault(self) -> RuntimeFault | None:
        """Return the fault of an operation that nothing on its side can run, or None."""
        if self._side is Side.HOST:
            return kernels.unreachable_python_function(self._region, self._ops)
        # XLA never sees an operation that holds both sides, so it cannot refuse it.
        if self._side is Side.CONTROL:
            return kernels.refused_array_use(self._region, self._ops[0])
        return kernels.unsupported_operation(self._region, self._ops)

    def _image(self, name: str) -> Tensor:
        return constant_or_image(self._region, name, self._images, on_host=self._is_host)

    def _waits_of(self, op: Operation) -> list[Operation]:
        """Return the operations outside the segment that `op` waits for, apart from its inputs."""
        if op.name not in self._planned.before or op.type == "Const":
            return []
        data = {tensor.op.name for tensor in op.inputs}
        earlier = self._planned.before[op.name]
        waits_for = [self._images.operations[name] for name in sorted(earlier - self._own - data)]
        return waits_for if earlier else [*waits_for, *self._images.entry]

    def _waits(self) -> list[Operation]:
        """Return the operations outside the segment that any of its operations waits for."""
        waits = (earlier for op in self._ops for earlier in self._waits_of(op))
        return list({earlier.name: earlier for earlier in waits}.values())

    def _note_start(self) -> list[Operation]:
        """Note that the segment starts, once all its inputs are ready."""
        if not self._composer.probes.wanted or self._side is Side.PLAIN:
            return []
        takes = {name: self._image(name) for name in inputs_of(self._ops)}
        waits_for = [*(tensor.op for tensor in takes.values()), *self._waits()]
        crossing = [
            image for name, image in takes.items() if self._is_host and not self._is_on_host(name)
        ]
        return self._composer.probes.start(self._watched, self._images.replica, crossing, waits_for)

    def _is_on_host(self, name: str) -> bool:
        """Return whether `name` is made on the host, or is a constant that is not sent."""
        region, op = self._region, self._region.graph.get_tensor_by_name(name).op
        return op.name in region.names and (op.type == "Const" or region.cluster_of(op) is not None)

    def _note_end(self, built: Sequence[Operation]) -> None:
        """Note that the segment, as it has been `built`, has ended, before others go on."""
        images = self._images
        outputs = [tensor for op in self._ops for tensor in op.outputs]
        gives = [
            images.tensors[tensor.name]
            for tensor in outputs
            if self._is_host and self._leads_to_device(tensor)
        ]
        ended = self._composer.probes.end(self._watched, images.replica, gives, built)
        images.effects += ended
        with tf.control_dependencies(ended):
            for tensor in outputs:
                # Constants and handles never cross.
                is_value = tensor.dtype.base_dtype not in (tf.resource, tf.variant)
                if is_value and tensor.op.type != "Const" and tensor.name in images.tensors:
                    images.tensors[tensor.name] = tf.identity(images.tensors[tensor.name])

    def _leads_to_device(self, tensor: Tensor) -> bool:
        region = self._region
        users = region.used_by.get(tensor.name, frozenset()) - self._own
        return tensor.name in region.output_names or any(
            region.cluster_of(region.graph.get_operation_by_name(user)) is None for user in users
        )

    def _give(self, tensors: Iterable[Tensor], results: Iterable[Tensor], done: Operation) -> None:
        """Let `results` be the images of `tensors`.

        Each operation of the segment has run when `done` has: the whole call, if it is compiled.
        """
        self._images.effects.append(done)
        self._images.operations.update(dict.fromkeys(self._own, done))
        for tensor, result in zip(tensors, results):
            result.set_shape(tensor.shape)
            self._images.tensors[tensor.name] = result

    def _build_plain(self) -> None:
        images, deadline = self._images, self._composer.deadline
        copied = copy_operations(
            self._region, self._ops, self._image, self._planned.before, on_device=not self._is_host
        )
        started = self._note_start()
        for op in self._ops:
            image = copied.operations[op.name]
            waits_for = self._waits_of(op)
            # The others come after one of these in the segment anyway.
            if not self._planned.before.get(op.name, frozenset()) & self._own:
                waits_for += started
            deadlock = self._composer.access_schedule.deadlocks.get(key_of(self._region, op))
            if deadlock:
                waits_for.append(self._build_deadlock(deadlock))
            if waits_for:
                image._add_control_inputs(waits_for)
            # In a function nothing else makes it run: the step fetches its token only.
            if image.op_def.is_stateful:
                images.effects.append(image)
            deadline.bound_python_function(op, image, self._lane)
            images.effects += deadline.note_wait(
                op, image, self._lane, in_this_graph(images.replica)
            )
        images.tensors.update(copied.tensors)
        images.operations.update(copied.operations)
        if started:
            self._note_end(list(copied.operations.values()))

    def _build_compiled(self) -> None:
        wanted = self._tensors_used_outside()
        program = DeviceProgram(
            self._planned, self._ops, wanted, self._images, compiles=self._composer.compiles
        )
        started = self._note_start()
        with tf.control_dependencies([*self._waits(), *started]):
            results, call = program.launch()
        self._give(wanted, results, call)
        if started:
            self._note_end([call])

    def _build_failure(self, fault: RuntimeFault) -> None:
        """Build, in place of a segment that nothing there can run, an operation that fails."""
        wanted = self._tensors_used_outside()
        # The fault comes when the segment would run: what is before it has run, as on a TPU.
        with tf.control_dependencies(self._waits()):
            results = failing_tensors(lambda: fault, (), [tensor.dtype for tensor in wanted])
        self._give(wanted, results, results[0].op)

    def _tensors_used_outside(self) -> list[Tensor]:
        """Return the tensors of the segment that are used outside it."""
        tensors = [tensor for op in self._ops if op.type != "Const" for tensor in op.outputs]
        leaving = {
            tensor.name: tensor
            for tensor in tensors
            if self._region.is_used_outside(tensor, self._own)
        }
        # A constant that is computed anew elsewhere needs no value from here, but may need a shape.
        scope = scope_of(self._region, self._images)
        for tensor in tuple(leaving.values()):
            if value := device_constant(scope, tensor):
                leaving |= {
                    source.name: source
                    for around, source in shaped_tensors(value)
                    if around is scope and source.op.name in self._own
                }
        return list(leaving.values())

    def _build_collective(self) -> None:
        images = self._images
        values = [self._image(op.inputs[0].name) for op in self._ops]
        # All of the segment are one rendezvous, which is known by its first.
        site = (*images.site, self._ops[0].name)
        waits_for = [*dict.fromkeys(value.op for value in values), *self._waits()]
        arrived = self._composer.rendezvous.report_arrival(site, images, waits_for)
        # All parts go together, so that no replica waits in one collective while another waits in
        # the next.
        with tf.control_dependencies([*waits_for, *arrived]):
            values = tf.identity_n(values)
        results = self._composer.exchanges.exchange(site, self._ops, values, images)
        ends = list(dict.fromkeys(result.op for result in results))
        # Where something waits for an operation alone, constant folding of TensorFlow's optimizer
        # (grappler) may move a constant beyond it, as in (x + 1) + 1, and leave a graph with a
        # circle, of which nothing ever runs (seen with 2.21).
        for end in (values[0].op, *ends):
            operations.set_attr(end, "_grappler_do_not_remove", True)
        images.effects += ends
        for op, result in zip(self._ops, results, strict=True):
            result.set_shape(op.outputs[0].shape)
            images.tensors[op.outputs[0].name] = result
            images.operations[op.name] = result.op

    def _build_feed(self) -> None:
        (op,) = self._ops
        images, probes = self._images, self._composer.probes
        values = [self._image(tensor.name) for tensor in op.inputs]
        waits_for = self._waits_of(op)
        waits_for += probes.start(self._watched, images.replica, values, waits_for)
        results, done = self._composer.feeds.build(op, values, waits_for, images)
        self._give(op.outputs, results, done)
        images.effects += probes.end(self._watched, images.replica, results, [done])

    def _build_control(self) -> None:
        (op,) = self._ops
        waits_for, composer = self._waits_of(op), self._composer
        rebuilder = Rebuilder(
            self._planned, op, self._images, waits_for, composer.build, composer.rendezvous
        )
        results, done = rebuilder.rebuild()
        self._give(op.outputs, results, done)

    def _build_deadlock(self, deadlock: Deadlock) -> Operation:
        """Return an operation that fails once the segment, which cannot run, has its inputs."""
        needs = {
            tensor.op.name: self._image(tensor.name).op for tensor in inputs_of(self._ops).values()
        }
        names = self._composer.names
        # The deadlock closes when the cluster has its inputs and asks for the variable, not before.
        with tf.control_dependencies([*needs.values(), *self._waits()]):
            return failing_tensors(
                lambda replica: deadlock.fault(names[int(replica)]),
                [in_this_graph(self._images.replica)],
            )[0].op


def _is_plain(op: Operation) -> bool:
    """Return whether `op` of the device gives the same without XLA: the test of a loop mostly."""
    if op.type in _COSTS_NOTHING:
        return True
    scalars = all(
        tensor.shape.rank == 0 and tensor.dtype in _COMPARABLE_DTYPES for tensor in op.inputs
    )
    return op.type in _COMPARISONS | _LOGICAL and scalars
