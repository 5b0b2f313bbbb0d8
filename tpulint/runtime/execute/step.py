"""The step that one `replicate()` becomes in the user's graph.

It is one call of one function, which has the program of one replica once for each replica, so
that TensorFlow's executor runs them concurrently; XLA compiles each device segment once for all.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tpulint.runtime.emulate.system import is_initialized
from tpulint.runtime.errors import UninitializedSystemError
from tpulint.runtime.execute.comparisons import compare_copies, compare_replicas
from tpulint.runtime.execute.compose import Composer
from tpulint.runtime.execute.deadline import Deadline
from tpulint.runtime.execute.exchanges import Exchanges, RendezvousReports
from tpulint.runtime.execute.feeds import Feeds
from tpulint.runtime.execute.probes import Probes
from tpulint.runtime.execute.raising import Failures, call_python, token_for
from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image, token_after
from tpulint.runtime.execute.waiting import may_wait
from tpulint.runtime.extract.copying import copy_operations, cut_dimension, find_cut_sizes
from tpulint.runtime.extract.program import ReplicatedProgram, cores_of_replicas, replica_names
from tpulint.runtime.extract.region import (
    Operation,
    Region,
    Tensor,
    graph_nodes,
    in_program_order,
    needed_operations,
)
from tpulint.runtime.mark.marked import Marked, StepOutputs
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.locks import AccessSchedule, Wait
from tpulint.runtime.schedule.schedule import Plan, Schedule
from tpulint.runtime.schedule.variables import TouchedVariable
from tpulint.runtime.schedule.work import Recorded, shape_of
from tpulint.runtime.source_location import user_location
from tpulint.runtime.tensorflow_internals import graphs, operations

# The shared_name with which VarHandleOp makes a variable of its own each time it runs
# (tensorflow/core/framework/resource_handle.h, ResourceHandle::ANONYMOUS_NAME).
_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
_mutex_numbers = itertools.count()


def execute(scheduled: Schedule, recorded: Recorded | None = None) -> StepOutputs:
    """Build, in the graph that is being built, the step that runs what is scheduled.

    `recorded` gets the shapes that the graph of the program leaves open, and the rounds of loops.
    """
    program = scheduled.program
    # The user's tensors that the step needs, by their names in the marked graph.
    if program.marked.in_function:
        users = {inner.name: outer for outer, inner in program.marked.graph.captures}
    else:
        users = {tensor.name: tensor for row in program.boundary.values() for tensor in row}

    def step(*arguments: Tensor) -> list[Tensor]:
        images = TensorMap(dict(zip(users, arguments, strict=True)))
        _compute_boundary(program, images)
        return _StepBuilder(scheduled, images, recorded).build()

    function = graphs.wrap_function(step, [tensor.dtype for tensor in users.values()])
    token, *outputs = function(*users.values())
    count = len(outputs) // program.num_replicas
    return StepOutputs(
        outputs=tuple(
            tuple(outputs[replica * count : (replica + 1) * count])
            for replica in range(program.num_replicas)
        ),
        done=token.op,
    )


def _compute_boundary(program: ReplicatedProgram, images: TensorMap) -> None:
    """Compute the operations around the cluster in its own marked graph, from its captures."""
    graph = program.marked.graph
    missing = [
        tensor.op
        for tensors_by_replica in program.boundary.values()
        for tensor in tensors_by_replica
        if tensor.name not in images.tensors
    ]
    if not missing:
        return
    # Those are given: everything else around the cluster is computed again from them.
    captured = {tensor.op.name for _, tensor in graph.captures}
    around_cluster = needed_operations(missing, lambda op: op.name not in captured)
    ops = in_program_order(graph, around_cluster)
    around = Region(graph, ops, tuple(images.tensors), (), graph_nodes(graph))
    before = {
        op.name: frozenset(other.name for other in op.control_inputs) & around.names for op in ops
    }
    images.tensors.update(copy_operations(around, ops, images.tensors.__getitem__, before).tensors)


class _StepBuilder:
    """A builder of the step of what is scheduled, in the graph that is being built.

    `around` has the images of the tensors around the program.
    """

    def __init__(self, scheduled: Schedule, around: TensorMap, recorded: Recorded | None) -> None:
        program, seconds = scheduled.program, scheduled.options.deadline
        self._scheduled, self._program, self._recorded = scheduled, program, recorded
        names = replica_names(program.marked)
        # With a deadline all rendezvous are followed, so that its error can say who waits for whom.
        rendezvous = RendezvousReports(scheduled.rendezvous, names, all_of_them=seconds is not None)
        waits: dict[Hashable, Wait] = {}
        feeds = Feeds(scheduled.feeds, program.marked, names, waits)
        limited = seconds is not None or feeds.may_wait or may_wait(program.region)
        probes = Probes(program.region, may_merge=not limited and scheduled.is_of_device)
        self._composer = Composer(
            names,
            scheduled.access_schedule,
            rendezvous,
            Exchanges(scheduled.rendezvous, program.num_replicas),
            probes,
            Deadline(seconds, waits, rendezvous.waits, probes.started, names, may_wait=limited),
            feeds,
            scheduled.options.compile == "always",
        )
        self._failures = Failures(program.marked.graph)
        self._cores = cores_of_replicas(program.marked, logical_core=0)
        self._images = tuple(
            TensorMap(
                _inputs(program, replica, around),
                replica=tf.constant(replica),
                queues=self._composer.exchanges.queues(replica),
                feeds=feeds.queues(replica),
                handles={name: name for name in program.region.inputs},
                constants=program.constants,
            )
            for replica in range(program.num_replicas)
        )

    def build(self) -> list[Tensor]:
        """Return a token, which has a value when all has run, and the outputs, by replica."""
        composer, program = self._composer, self._program
        lock = acquire_step_mutex() if self._shares_state() else None
        locked = [] if lock is None else [lock.op]
        first, cleared = self._start(locked)
        watching = composer.deadline.watch([first])
        serving = composer.exchanges.run([first, *cleared])
        ended = self._run_parts(first, cleared)
        ended = self._run_deferred(first, locked, ended)
        ended += composer.probes.end_step(program.num_replicas, ended)
        ended += compare_copies(self._scheduled.unsynchronized, self._images, ended)
        # The watch and the servers end when they are told that the step has.
        stopped = composer.exchanges.stop(ended)
        ended += [*stopped, *serving, *composer.deadline.end(ended), *watching]
        outputs = [
            [
                constant_or_image(program.region, out.name, here, on_host=False)
                for out in program.region.outputs
            ]
            for here in self._images
        ]
        if composer.probes.wanted:
            ended += compare_replicas(program, self._images, outputs, ended)
        ended += self._failures.end(ended)
        ended += _record_rounds(self._recorded, outputs)
        if lock is not None:
            with devices.on_coordinator(), tf.control_dependencies(ended):
                ended.append(tf.raw_ops.ConsumeMutexLock(mutex_lock=lock))
        count = len(program.region.outputs) - (len(self._recorded.rounds) if self._recorded else 0)
        return [token_after(ended), *(tensor for here in outputs for tensor in here[:count])]

    def _shares_state(self) -> bool:
        """Return whether concurrent runs of the step would share some state."""
        return bool(
            self._scheduled.rendezvous
            or self._scheduled.access_schedule.queued
            or self._composer.deadline.watches
            or self._composer.probes.wanted
            or self._failures.watches
        )

    def _start(self, locked: Sequence[Operation]) -> tuple[Operation, list[Operation]]:
        """Return what comes before all else of a run, and what empties the queues.

        A run that has failed leaves something in them. Host clusters do not wait for it to go.
        """
        composer, images = self._composer, self._images
        # What the host gives the replicas: all that is no variable.
        handed_in = [here.tensors[name] for here in images for name in self._program.boundary]
        with tf.control_dependencies(locked):
            cleared = [
                *composer.rendezvous.begin(),
                *composer.exchanges.begin([here.queues for here in images]),
            ]
            starting = [
                *_assert_system_initialized(self._program.marked),
                *composer.probes.begin(handed_in),
                *composer.deadline.begin(),
                *self._failures.begin(),
                *_record_shapes(self._recorded, images[0]),
            ]
            return tf.group(starting, locked), cleared

    def _run_parts(self, first: Operation, cleared: Sequence[Operation]) -> list[Operation]:
        """Run the host clusters before, the device programs, and the host clusters after.

        Return what has run last. Between the parts, the copies that the device programs work on are
        made and written back.
        """
        before = [first, *self._run(self._scheduled.before, [first])]
        filled: list[Operation] = []
        for variable in self._scheduled.copied:
            filled += self._copy(variable, before)
        ready = [*before, *filled, *cleared]
        # A device program may have no operations; what is next then comes after the parts before.
        during = self._run(self._scheduled.during, ready) or ready
        written = []
        with tf.control_dependencies(during):
            for variable in self._scheduled.copied:
                # Those of the first replica, as on a TPU.
                if variable.device_writes:
                    here = self._images[0]
                    value = _read(here.device_tensors[variable.handle], variable)
                    written.append(_assign(here.tensors[variable.handle], value))
        released = [*during, *written]
        return [*released, *self._run(self._scheduled.after, released)]

    def _copy(self, variable: TouchedVariable, waits_for: Sequence[Operation]) -> list[Operation]:
        """Make a copy of `variable` for each replica; return what fills them."""
        # The host clusters before the device program have written by now.
        with tf.control_dependencies(waits_for):
            value = _read(self._images[0].tensors[variable.handle], variable)
        filled = []
        for here, core in zip(self._images, self._cores, strict=True):
            with devices.on_host_of_core(core):
                copy = tf.raw_ops.VarHandleOp(
                    dtype=variable.dtype,
                    shape=tf.TensorShape(None),
                    shared_name=_ANONYMOUS,
                    container="",
                )
                here.device_tensors[variable.handle] = copy
                filled.append(_assign(copy, value))
        return filled

    def _run(self, planned: Plan, waits_for: Sequence[Operation]) -> list[Operation]:
        """Run `planned` in all replicas; return for each an operation that runs last."""
        if not planned.region.ops:
            return []
        if len(self._images) > 1:
            return self._run_called(planned, waits_for)
        # One replica needs no function: fewer operations, and a shorter traceback.
        (images,) = self._images
        images.entry = tuple(waits_for)
        with devices.on_host_of_core(self._cores[0]):
            self._composer.build(planned, images)
        with tf.control_dependencies([*waits_for, *images.effects]):
            return [tf.no_op()]

    def _run_called(self, planned: Plan, waits_for: Sequence[Operation]) -> list[Operation]:
        region, example = planned.region, self._images[0]
        copied = [name for name in region.inputs if name in example.device_tensors]

        def program(replica: Tensor, *arguments: Tensor) -> list[Tensor]:
            replica.set_shape([])
            rest = iter(arguments)
            inside = TensorMap(
                {name: next(rest) for name in region.inputs},
                {name: next(rest) for name in copied},
                replica=replica,
                handles=example.handles,
                constants=example.constants,
                queues=next(rest) if example.queues is not None else None,
                feeds=dict(zip(example.feeds, rest, strict=True)),
            )
            self._composer.build(planned, inside)
            token = token_after(inside.effects)
            outputs = [
                constant_or_image(region, tensor.name, inside, on_host=False)
                for tensor in region.outputs
            ]
            return [token, *outputs]

        arguments_by_replica = [
            [
                images.replica,
                *(images.tensors[name] for name in region.inputs),
                *(images.device_tensors[name] for name in copied),
                *([] if images.queues is None else [images.queues]),
                *images.feeds.values(),
            ]
            for images in self._images
        ]
        dtypes = [tensor.dtype for tensor in arguments_by_replica[0]]
        function = graphs.wrap_function(program, dtypes)
        done = []
        for core, images, arguments in zip(
            self._cores, self._images, arguments_by_replica, strict=True
        ):
            with tf.control_dependencies(waits_for), devices.on_host_of_core(core):
                token, *outputs = function(*arguments)
            # Inlined, the replicas are operations of one executor, which runs them concurrently. In
            # sessions of 2.12 a call on one host would not hear that another one's has failed.
            if devices.hosts_are_remote():
                operations.set_attr(token.op, "_lower_as_multi_device_function", True)
            for tensor, output in zip(region.outputs, outputs):
                images.tensors[tensor.name] = output
            done.append(token.op)
        return done

    def _run_deferred(
        self, first: Operation, locked: Sequence[Operation], ended: Sequence[Operation]
    ) -> list[Operation]:
        """Run, after `ended`, the clusters in bodies that were queued; return what runs last."""
        # Their variables are free now: what was scheduled for the accesses has no meaning any more.
        build = replace(self._composer, access_schedule=AccessSchedule(), deferred=[]).build
        last = list(ended)
        for cluster in self._composer.deferred:
            with tf.control_dependencies(locked):
                # A failed run may have left entries of its own rounds.
                first._add_control_inputs([cluster.clear()])
            last.append(cluster.run(self._images[0], last, build))
        return last


@devices.on_coordinator()
def acquire_step_mutex() -> Tensor:
    """Return the lock of one run. One that fails gives it up: the lock goes with its tensors."""
    # By a name of its own: the resource lives in the session, with those of other steps.
    name = f"tpulint_step_{next(_mutex_numbers)}"
    return tf.raw_ops.MutexLock(mutex=tf.raw_ops.MutexV2(shared_name=name, container=""))


def _assert_system_initialized(marked: Marked) -> list[Operation]:
    """Return operations that fail where the system is not initialized when the step runs.

    There are none where it is initialized now, and none in a session, which may be of a server on
    which another one has initialized it.
    """
    if is_initialized() or not marked.in_function:
        return []
    place = user_location()

    def look() -> None:
        if not is_initialized():
            message = (
                "The TPU system has not been initialized.\n  Call tf.tpu.experimental."
                "initialize_tpu_system(resolver) before anything runs on the TPU"
            )
            raise token_for(UninitializedSystemError(message, place=place))

    return [call_python(look)]


def _read(handle: Tensor, variable: TouchedVariable) -> Tensor:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=variable.dtype)


def _assign(handle: Tensor, value: Tensor) -> Operation:
    return tf.raw_ops.AssignVariableOp(resource=handle, value=value)


def _inputs(program: ReplicatedProgram, replica: int, around: TensorMap) -> dict[str, Tensor]:
    """Return the tensors of `replica` for the inputs of the region."""
    tensors = {
        name: around.tensors[tensors_by_replica[replica].name]
        for name, tensors_by_replica in program.boundary.items()
    }
    for size in find_cut_sizes(program.region):
        tensors[size.name] = cut_dimension(tensors[size.name], size.dimension, tensors[size.size])
    return tensors


def _record_shapes(recorded: Recorded | None, images: TensorMap) -> list[Operation]:
    """Return operations that note the shapes of the inputs whose sizes the graph leaves open."""
    if recorded is None:
        return []
    open_ = {
        name: images.tensors[name]
        for name, (tensor, *_) in recorded.program.boundary.items()
        if shape_of(tensor) is None and tensor.dtype not in (tf.resource, tf.variant)
    }

    def note(*shapes: Any) -> None:
        recorded.shapes.update(
            (name, tuple(shape.tolist())) for name, shape in zip(open_, shapes, strict=True)
        )

    return [call_python(note, [tf.shape(tensor) for tensor in open_.values()])] if open_ else []


def _record_rounds(
    recorded: Recorded | None, outputs: Sequence[Sequence[Tensor]]
) -> list[Operation]:
    """Return operations that note the counters of loops, the last `outputs` of each replica."""
    if recorded is None or not recorded.rounds:
        return []

    def note(*rounds: Any) -> None:
        for loop, number in zip(itertools.cycle(recorded.rounds.values()), rounds):
            loop.add(int(number))

    counters = [tensor for here in outputs for tensor in here[-len(recorded.rounds) :]]
    return [call_python(note, counters)]
