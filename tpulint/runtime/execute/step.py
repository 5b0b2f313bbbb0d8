"""The step that one `replicate()` becomes in the user's graph.

It is one call of one function, which has the program of one replica once for each replica, so
that TensorFlow's executor runs them concurrently; XLA compiles each device segment once for all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
from tpulint.runtime.execute.tensor_map import (
    TensorMap,
    constant_or_image,
    empty_iteration,
    token_after,
)
from tpulint.runtime.execute.waiting import CurrentWaits, may_wait
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
from tpulint.runtime.schedule.locks import AccessSchedule
from tpulint.runtime.schedule.schedule import Plan, Schedule
from tpulint.runtime.schedule.variables import TouchedVariable
from tpulint.runtime.schedule.work import Recorded, shape_of
from tpulint.runtime.source_location import user_location
from tpulint.runtime.tensorflow_internals import graphs, operations

_mutex_numbers = itertools.count()


class StepMutex:
    """The lock of one run; without `needed` every run has it at once.

    A run that fails gives it up: the lock goes with its tensors.
    """

    @devices.on_coordinator()
    def __init__(self, needed: bool) -> None:
        self._lock: Tensor | None = None
        if needed:
            # By a name of its own: the resource lives in the session, with those of other steps.
            mutex = tf.raw_ops.MutexV2(
                shared_name=f"tpulint_step_{next(_mutex_numbers)}", container=""
            )
            self._lock = tf.raw_ops.MutexLock(mutex=mutex)

    def acquire(self) -> list[Operation]:
        """Return operations that have run when this run has the lock."""
        return [] if self._lock is None else [self._lock.op]

    @devices.on_coordinator()
    def release(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that pass the lock to the next run."""
        if self._lock is None:
            return []
        with tf.control_dependencies(waits_for):
            return [tf.raw_ops.ConsumeMutexLock(mutex_lock=self._lock)]


_NOT_INITIALIZED = "The TPU system has not been initialized."
_INITIALIZE_FIRST = (
    "Call tf.tpu.experimental.initialize_tpu_system(resolver) before anything runs on the TPU"
)


def assert_system_initialized(marked: Marked) -> list[Operation]:
    """Return operations that fail where the system is not initialized when the step runs.

    There are none where it is initialized now, and none in a session, which may be of a server on
    which another one has initialized it.
    """
    if is_initialized() or marked.mode == "graph":
        return []
    place = user_location()

    def look() -> None:
        if not is_initialized():
            raise token_for(
                UninitializedSystemError(f"{_NOT_INITIALIZED}\n  {_INITIALIZE_FIRST}", place=place)
            )

    return [call_python(look)]


# The shared_name with which VarHandleOp makes a variable of its own each time it runs
# (tensorflow/core/framework/resource_handle.h, ResourceHandle::ANONYMOUS_NAME).
_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"


@dataclass(frozen=True, eq=False)
class VariableCopies:
    """The copies of one variable, one a replica."""

    variable: TouchedVariable
    original: Tensor
    copies: tuple[Tensor, ...]


def make_copies(
    variables: Iterable[TouchedVariable],
    images: Sequence[TensorMap],
    cores: Sequence[int],
    waits_for: Sequence[Operation],
) -> tuple[list[VariableCopies], list[Operation]]:
    """Return copies of `variables` for each replica, on `cores`, and what fills them."""
    per_variable: list[VariableCopies] = []
    filled: list[Operation] = []
    for variable in variables:
        dtype = variable.dtype
        original = images[0].tensors[variable.handle]
        # The host clusters before the device program have written by now.
        with tf.control_dependencies(waits_for):
            value = _read(original, dtype)
        copies = []
        for here, core in zip(images, cores, strict=True):
            with devices.on_host_of_core(core):
                copy = here.device_tensors[variable.handle] = tf.raw_ops.VarHandleOp(
                    dtype=dtype, shape=tf.TensorShape(None), shared_name=_ANONYMOUS, container=""
                )
                filled.append(_assign(copy, value))
            copies.append(copy)
        per_variable.append(VariableCopies(variable, original, tuple(copies)))
    return per_variable, filled


def write_back(copies: Iterable[VariableCopies], waits_for: Sequence[Operation]) -> list[Operation]:
    """Assign the first replica's copies to the variables after a step, as on a TPU."""
    written = []
    for copy in copies:
        if copy.variable.device_writes:
            with tf.control_dependencies(waits_for):
                value = _read(copy.copies[0], copy.variable.dtype)
                written.append(_assign(copy.original, value))
    return written


def _read(handle: Tensor, dtype: Any) -> Tensor:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)


def _assign(handle: Tensor, value: Tensor) -> Operation:
    return tf.raw_ops.AssignVariableOp(resource=handle, value=value)


@dataclass(frozen=True, eq=False)
class Replicas:
    """The replicas of a step: the images of each one's tensors, and its first core."""

    composer: Composer
    images: tuple[TensorMap, ...]
    cores: tuple[int, ...]

    def run(self, planned: Plan, waits_for: Sequence[Operation]) -> list[Operation]:
        """Run `planned` in all replicas; return for each an operation that runs last."""
        if not planned.region.ops:
            return []
        # One replica needs no function: fewer operations, and a shorter traceback.
        if len(self.images) == 1:
            return [self._run_in_place(planned, waits_for)]
        return self._run_called(planned, waits_for)

    def _run_in_place(self, planned: Plan, waits_for: Sequence[Operation]) -> Operation:
        (images,) = self.images
        images.entry = tuple(waits_for)
        with devices.on_host_of_core(self.cores[0]):
            self.composer.build(planned, images)
        with tf.control_dependencies([*waits_for, *images.effects]):
            return tf.no_op()

    def _run_called(self, planned: Plan, waits_for: Sequence[Operation]) -> list[Operation]:
        region = planned.region
        example = self.images[0]
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
                iteration=empty_iteration(),
                queues=next(rest) if example.queues is not None else None,
                feeds=dict(zip(example.feeds, rest, strict=True)),
            )
            self.composer.build(planned, inside)
            token = token_after(inside.effects)
            outputs = [
                constant_or_image(region, tensor.name, inside, on_host=False)
                for tensor in region.outputs
            ]
            return [token, *outputs]

        arguments_by_replica = [
            [
                images.replica,
                *_arguments(images, region.inputs, copied),
                *([] if images.queues is None else [images.queues]),
                *images.feeds.values(),
            ]
            for images in self.images
        ]
        function = graphs.wrap_function(
            program, [tensor.dtype for tensor in arguments_by_replica[0]]
        )
        done = []
        for core, images, arguments in zip(
            self.cores, self.images, arguments_by_replica, strict=True
        ):
            with tf.control_dependencies(waits_for), devices.on_host_of_core(core):
                token, *outputs = function(*arguments)
            # Inlined, the replicas are operations of one executor, which runs them concurrently.
            devices.inline_call(token.op)
            for tensor, output in zip(region.outputs, outputs):
                images.tensors[tensor.name] = output
            done.append(token.op)
        return done


def _arguments(images: TensorMap, names: Sequence[str], copied: Sequence[str]) -> list[Tensor]:
    return [images.tensors[name] for name in names] + [
        images.device_tensors[name] for name in copied
    ]


@dataclass(frozen=True, eq=False)
class StepServices:
    """What the programs of all replicas share in a step, apart from its variables."""

    rendezvous: RendezvousReports
    exchanges: Exchanges
    feeds: Feeds
    probes: Probes
    deadline: Deadline
    failures: Failures

    def need_mutex(self, scheduled: Schedule) -> bool:
        """Return whether concurrent runs of the step would share some state."""
        return bool(
            scheduled.rendezvous
            or scheduled.access_schedule.queued
            or self.deadline.watches
            or self.probes.wanted
            or self.failures.watches
        )


@dataclass(frozen=True, eq=False)
class StepStart:
    """The begin of a run."""

    first: Operation
    """It comes before all else of the step."""
    cleared: Sequence[Operation]
    """They empty what a failed run has left in the queues. Host clusters do not wait for them."""


def run_replicas(scheduled: Schedule, around: TensorMap, recorded: Recorded | None) -> list[Tensor]:
    """Return a token, which has a value when all has run, and the outputs, replica by replica."""
    program = scheduled.program
    names = replica_names(program.marked)
    services = _make_services(scheduled, names)
    images = _images_of_replicas(program, services, around)
    mutex = StepMutex(needed=services.need_mutex(scheduled))
    start = _start_step(program, services, images, mutex, recorded)
    composer = Composer(
        names,
        scheduled.access_schedule,
        services.rendezvous,
        services.exchanges,
        services.probes,
        services.deadline,
        services.feeds,
        scheduled.options.compile == "always",
    )
    replicas = Replicas(composer, images, cores_of_replicas(program.marked, logical_core=0))
    watching = services.deadline.watch([start.first])
    serving = services.exchanges.run([start.first, *start.cleared])
    ended = _run_parts(scheduled, replicas, start)
    ended = _run_deferred(replicas, start, mutex, ended)
    ended += services.probes.end_step(program.num_replicas, ended)
    ended += compare_copies(scheduled.unsynchronized, images, ended)
    # The watch and the servers end when they are told that the step has.
    ended += [*services.exchanges.stop(ended), *serving, *services.deadline.end(ended), *watching]
    outputs = [
        [
            constant_or_image(program.region, out.name, here, on_host=False)
            for out in program.region.outputs
        ]
        for here in images
    ]
    if services.probes.wanted:
        ended += compare_replicas(program, images, outputs, ended)
    ended += services.failures.end(ended)
    ended += record_rounds(recorded, outputs)
    token = token_after([*ended, *mutex.release(ended)])
    count = len(program.region.outputs) - (len(recorded.rounds) if recorded else 0)
    return [token, *(tensor for here in outputs for tensor in here[:count])]


def _make_services(scheduled: Schedule, names: Sequence[str]) -> StepServices:
    program, seconds = scheduled.program, scheduled.options.deadline
    # With a deadline all rendezvous are followed, so that its error can say who waits for whom.
    rendezvous = RendezvousReports(scheduled.rendezvous, names, all_of_them=seconds is not None)
    waits = CurrentWaits()
    feeds = Feeds(scheduled.feeds, program.marked, names, waits)
    limited = seconds is not None or feeds.may_wait or may_wait(program.region)
    probes = Probes(program.region, may_merge=not limited and scheduled.is_of_device)
    deadline = Deadline(seconds, waits, rendezvous.waits, probes.started, names, may_wait=limited)
    return StepServices(
        rendezvous=rendezvous,
        exchanges=Exchanges(scheduled.rendezvous, program.num_replicas),
        feeds=feeds,
        probes=probes,
        deadline=deadline,
        failures=Failures(program.marked.graph),
    )


def _images_of_replicas(
    program: ReplicatedProgram, services: StepServices, around: TensorMap
) -> tuple[TensorMap, ...]:
    """Return for each replica the images of its inputs, from those `around` the program."""
    return tuple(
        TensorMap(
            _inputs(program, replica, around),
            replica=tf.constant(replica),
            iteration=empty_iteration(),
            queues=services.exchanges.queues(replica),
            feeds=services.feeds.queues(replica),
            handles={name: name for name in program.region.inputs},
            constants=program.constants,
        )
        for replica in range(program.num_replicas)
    )


def _start_step(
    program: ReplicatedProgram,
    services: StepServices,
    images: Sequence[TensorMap],
    mutex: StepMutex,
    recorded: Recorded | None,
) -> StepStart:
    with tf.control_dependencies(mutex.acquire()):
        cleared = [
            *services.rendezvous.begin(),
            *services.exchanges.begin([here.queues for here in images]),
        ]
        ready = assert_system_initialized(program.marked)
        starting = [
            *services.probes.begin(_given(program, images)),
            *services.deadline.begin(),
            *services.failures.begin(),
            *record_shapes(recorded, images[0]),
        ]
        return StepStart(tf.group(ready, starting, mutex.acquire()), cleared)


def _given(program: ReplicatedProgram, images: Sequence[TensorMap]) -> list[Tensor]:
    """Return what the host gives the replicas when a step begins: all that is no variable."""
    return [here.tensors[name] for here in images for name in program.boundary]


def _run_parts(scheduled: Schedule, replicas: Replicas, start: StepStart) -> list[Operation]:
    """Run the host clusters before, the device programs, and the host clusters after.

    Return what has run last. Between the parts, the copies that the device programs work on are
    made and written back.
    """
    before = [start.first, *replicas.run(scheduled.before, [start.first])]
    copies, filled = make_copies(scheduled.copied, replicas.images, replicas.cores, before)
    ready = [*before, *filled, *start.cleared]
    # A device program may have no operations; what is next then comes after the parts before it.
    during = replicas.run(scheduled.during, ready) or ready
    released = [*during, *write_back(copies, during)]
    return [*released, *replicas.run(scheduled.after, released)]


def _run_deferred(
    replicas: Replicas, start: StepStart, mutex: StepMutex, ended: Sequence[Operation]
) -> list[Operation]:
    """Run, after `ended`, the clusters in bodies that have been queued; return what runs last."""
    composer = replicas.composer
    # Their variables are free now: what was scheduled for the accesses has no meaning any more.
    build = replace(composer, access_schedule=AccessSchedule(), deferred=[]).build
    last = list(ended)
    for cluster in composer.deferred:
        with tf.control_dependencies(mutex.acquire()):
            # A failed run may have left entries of its own rounds.
            operations.add_control_inputs(start.first, [cluster.clear()])
        last.append(cluster.run(replicas.images[0], last, build))
    return last


def _inputs(program: ReplicatedProgram, replica: int, around: TensorMap) -> dict[str, Tensor]:
    """Return the tensors of `replica` for the inputs of the region."""
    tensors = {
        name: around.tensors[tensors_by_replica[replica].name]
        for name, tensors_by_replica in program.boundary.items()
    }
    for size in find_cut_sizes(program.region):
        tensors[size.name] = cut_dimension(tensors[size.name], size.dimension, tensors[size.size])
    return tensors


def record_shapes(recorded: Recorded | None, images: TensorMap) -> list[Operation]:
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


def record_rounds(
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


def execute(scheduled: Schedule, recorded: Recorded | None = None) -> StepOutputs:
    """Build, in the graph that is being built, the step that runs what is scheduled.

    `recorded` gets the shapes that the graph of the program leaves open, and the rounds of loops.
    """
    program = scheduled.program
    users = _users_tensors(program)
    inside = {name: place for place, name in enumerate(users)}

    def step(*arguments: Tensor) -> list[Tensor]:
        images = TensorMap({name: arguments[place] for name, place in inside.items()})
        _compute_boundary(program, images)
        return run_replicas(scheduled, images, recorded)

    function = graphs.wrap_function(step, [tensor.dtype for tensor in users.values()])
    token, *outputs = function(*users.values())
    count = len(outputs) // program.num_replicas
    return StepOutputs(
        outputs=tuple(
            tuple(outputs[replica * count : (replica + 1) * count])
            for replica in range(program.num_replicas)
        ),
        done=(token.op,) * program.num_replicas,
    )


def _users_tensors(program: ReplicatedProgram) -> dict[str, Tensor]:
    """Return the user's tensors that the step needs, by their names in the marked graph."""
    needed_here = {
        tensor.name: tensor
        for tensors_by_replica in program.boundary.values()
        for tensor in tensors_by_replica
    }
    if program.marked.mode == "graph":
        return needed_here
    return {inner.name: outer for outer, inner in program.marked.graph.captures}


def _compute_boundary(program: ReplicatedProgram, images: TensorMap) -> None:
    """Compute the operations around the cluster in its own marked graph, from its captures."""
    marked = program.marked
    missing = [
        tensor.op
        for tensors_by_replica in program.boundary.values()
        for tensor in tensors_by_replica
        if tensor.name not in images.tensors
    ]
    if not missing:
        return
    # Those are given: everything else around the cluster is computed again from them.
    captured = {tensor.op.name for _, tensor in marked.graph.captures}
    around_cluster = needed_operations(missing, lambda op: op.name not in captured)
    ops = in_program_order(marked.graph, around_cluster)
    around = Region(marked.graph, ops, tuple(images.tensors), (), graph_nodes(marked.graph))
    before = {
        op.name: frozenset(other.name for other in op.control_inputs) & around.names for op in ops
    }
    images.tensors.update(copy_operations(around, ops, images.tensors.__getitem__, before).tensors)
