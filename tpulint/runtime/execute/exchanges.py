"""Collectives of the replicas, which run concurrently in one graph: their exchanges, and who waits.

Each rendezvous has an exchange, which takes the parts of every member, in the order of the group,
and returns to each its results: a part and a result for each of its collectives. Between it and
each member there are two queues, each with one producer and one consumer that go iteration by
iteration, so that none takes another's parts. Waiting in a queue takes no thread, so any number of
replicas can wait.

Operations of the graph report the rendezvous that a replica is about to wait in, the branch of a
conditional that it takes, and the rounds after which it leaves a loop. A rendezvous is a
collective's site and an iteration; the order of arrival does not matter. All replicas run the same
operations in the same order, apart from the branches that they take and the rounds that their loops
make. So whenever some wait forever in collectives, the first of these in program order is one that
a member of its group has passed by such a decision: that alone is proof. Waiting in another
collective proves nothing, as other operations of the replica may go on.
"""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.raising import call_python, token_for
from tpulint.runtime.execute.tensor_map import TensorMap, in_this_graph, token_after
from tpulint.runtime.extract.collectives import Collective, Decision, source_target_pairs
from tpulint.runtime.extract.region import Iteration, Operation, RegionSite, Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.schedule.schedule import Rendezvous
from tpulint.runtime.source_location import operation_location
from tpulint.runtime.tensorflow_internals import graphs


@devices.on_coordinator()
def make_queue(dtypes: Sequence[tf.DType], name: str) -> Tensor:
    """Return the queue `name` of tuples of `dtypes`, of any shapes and any number."""
    return tf.raw_ops.FIFOQueueV2(
        component_types=list(dtypes), shapes=[], capacity=-1, container="", shared_name=name
    )


@devices.on_coordinator()
def enqueue(handle: Tensor, components: Sequence[Tensor]) -> Operation:
    """Put a tuple into a queue."""
    return tf.raw_ops.QueueEnqueueV2(handle=handle, components=list(components), timeout_ms=-1)


@devices.on_coordinator()
def dequeue(handle: Tensor, dtypes: Sequence[tf.DType]) -> list[Tensor]:
    """Take a tuple out of a queue, when there is one."""
    taken: list[Tensor] = tf.raw_ops.QueueDequeueV2(
        handle=handle, component_types=list(dtypes), timeout_ms=-1
    )
    return taken


@devices.on_coordinator()
def queue_at(handles: Tensor, place: int | Tensor) -> Tensor:
    """Return the queue at `place` of the queues `handles`, one tensor."""
    return tf.raw_ops.Gather(params=handles, indices=place)


@devices.on_coordinator()
def empty_all(handles: Tensor, dtypes: Sequence[tf.DType]) -> Tensor:
    """Empty the queues `handles`, and return a token."""
    count = tf.size(handles)

    def is_left(place: Tensor) -> Tensor:
        return place < in_this_graph(count)

    def empty_one(place: Tensor) -> Tensor:
        handle = queue_at(in_this_graph(handles), place)
        with tf.control_dependencies([empty(handle, dtypes)]):
            return place + 1

    return tf.equal(tf.while_loop(is_left, empty_one, [0], parallel_iterations=1)[0], count)


@devices.on_coordinator()
def empty(handle: Tensor, dtypes: Sequence[tf.DType]) -> Tensor:
    """Empty a queue, and return a token."""
    return for_each_tuple(handle, dtypes, lambda components: [components[0].op])


def for_each_tuple(
    handle: Tensor,
    dtypes: Sequence[tf.DType],
    act: Callable[[Sequence[Tensor]], Sequence[Operation]],
) -> Tensor:
    """Take all tuples out of a queue, and `act` on each before the next; return a token."""

    def is_left(before: Tensor) -> Tensor:
        with tf.control_dependencies([before]):
            return tf.raw_ops.QueueSizeV2(handle=in_this_graph(handle)) > 0

    def take_one(before: Tensor) -> Tensor:
        with tf.control_dependencies([before]):
            components = dequeue(in_this_graph(handle), dtypes)
        with tf.control_dependencies(act(components)):
            return tf.identity(before)

    start = tf.identity(True)
    return tf.while_loop(is_left, take_one, [start], parallel_iterations=1)[0]


def collective_results(
    op: Operation, group: Sequence[int], parts: Sequence[Tensor]
) -> list[Tensor]:
    """Return the result of the collective `op` for each replica of `group`, given their `parts`."""
    if op.type == "CrossReplicaSum":
        return sum_parts(parts)
    if op.type == "AllToAll":
        # Each member gets the parts that all members have for it.
        count, axis = op.get_attr("split_count"), op.get_attr("split_dimension")
        split = [tf.split(part, count, axis=axis) for part in parts]
        return [tf.concat(mine, axis=op.get_attr("concat_dimension")) for mine in zip(*split)]
    # Each gets the part of the source whose target it is, or zeros without one.
    source_of = {target: source for source, target in source_target_pairs(op)}
    part_of = dict(zip(group, parts, strict=True))
    return [
        part_of[source_of[member]] if member in source_of else tf.zeros_like(own)
        for member, own in part_of.items()
    ]


def sum_parts(parts: Sequence[Tensor]) -> list[Tensor]:
    """Return the sum of `parts` for each of their members."""
    return [tf.add_n(list(parts))] * len(parts)


_cached_servers: dict[Hashable, Callable[..., Tensor]] = {}
"""The functions that serve sums. They live as long as the process, and refer to no program."""
_names = itertools.count()

# From the parts of a group's members to the result of each.
Combine = Callable[[Sequence[Tensor]], list[Tensor]]


class Exchanges:
    """The exchanges of one step. One step runs at a time.

    A step that fails leaves untaken parts in the queues. It also leaves the mark of a running
    step, by which the next one sees that it has to empty them.
    """

    def __init__(self, all_rendezvous: Iterable[Rendezvous], replicas: int) -> None:
        # The queues of the same dtypes are next to each other, so that one loop can empty them.
        self._all_rendezvous = sorted(
            (
                rendezvous
                for rendezvous in all_rendezvous
                if any(len(group) > 1 for group in rendezvous[0].groups)
            ),
            key=lambda rendezvous: [dtype.as_datatype_enum for dtype in _dtypes(rendezvous)],
        )
        self._number = {
            rendezvous[0].site: number for number, rendezvous in enumerate(self._all_rendezvous)
        }
        self._name = f"tpulint_exchange_{next(_names)}"
        self._replicas = replicas
        self._to_exchange, self._from_exchange = self._make_queues("to"), self._make_queues("from")
        if self._all_rendezvous:
            self._running = make_queue([tf.bool], f"{self._name}_running")
            """It holds a mark for each step that has begun and not ended."""

    def queues(self, replica: int) -> Tensor | None:
        """Return the queues of `replica` to and from each rendezvous's exchange, in one tensor."""
        if not self._all_rendezvous:
            return None
        pairs = zip(self._to_exchange, self._from_exchange, strict=True)
        return tf.stack([way[replica] for pair in pairs for way in pair])

    def begin(self, queues: Sequence[Tensor]) -> list[Operation]:
        """Return operations that empty all replicas' `queues`, if the previous step failed."""
        if not self._all_rendezvous:
            return []
        # The mark of a step that has not ended: only then is there anything to empty.
        left = tf.raw_ops.QueueSizeV2(handle=self._running)
        emptied = tf.cond(left > 0, lambda: self._empty_queues(queues), lambda: tf.constant(True))
        with tf.control_dependencies([emptied]):
            return [enqueue(self._running, [tf.constant(True)])]

    def run(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that serve the members of all groups until the signal to stop."""
        with tf.control_dependencies(waits_for):
            return [
                self._make_server(rendezvous, group)(
                    *(self._to_exchange[number][member] for member in group),
                    *(self._from_exchange[number][member] for member in group),
                ).op
                for number, rendezvous in enumerate(self._all_rendezvous)
                for group in rendezvous[0].groups
            ]

    def stop(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that stop the exchanges, and note that the step left nothing behind."""
        if not self._all_rendezvous:
            return []
        with tf.control_dependencies(waits_for):
            stops = []
            for number, rendezvous in enumerate(self._all_rendezvous):
                # One that is served once has ended by itself.
                for group in () if rendezvous[0].comes_once else rendezvous[0].groups:
                    no_parts = [tf.zeros([], dtype) for dtype in _dtypes(rendezvous)[1:]]
                    queue = self._to_exchange[number][group[0]]
                    stops.append(enqueue(queue, [tf.constant(False), *no_parts]))
            return [*stops, dequeue(self._running, [tf.bool])[0].op]

    def exchange(
        self,
        site: RegionSite,
        ops: Sequence[Operation],
        values: Sequence[Tensor],
        images: TensorMap,
    ) -> list[Tensor]:
        """Return the results of `ops`, which are at `site`, for a replica's `values`."""
        if site not in self._number:
            return [
                collective_results(op, (0,), [value])[0]
                for op, value in zip(ops, values, strict=True)
            ]
        number = self._number[site]
        dtypes = _dtypes(self._all_rendezvous[number])
        queues = in_this_graph(images.queues)
        put = enqueue(queue_at(queues, 2 * number), [tf.constant(True), *values])
        with tf.control_dependencies([put]):
            return dequeue(queue_at(queues, 2 * number + 1), dtypes)[1:]

    def _make_server(self, rendezvous: Rendezvous, group: Sequence[int]) -> Callable[..., Tensor]:
        """Return the function that serves `group` at the exchange of `rendezvous`.

        Sums of the same dtypes over as many members share one, as do those of all steps: to trace
        it costs more than anything else here.
        """
        ops = [collective.op for collective in rendezvous]
        sums = all(op.type == "CrossReplicaSum" for op in ops)
        combine = [sum_parts if sums else partial(collective_results, op, group) for op in ops]
        serve = partial(_serve, combine, _dtypes(rendezvous), comes_once=rendezvous[0].comes_once)
        taken = [tf.resource] * (2 * len(group))
        if not sums:
            return graphs.wrap_function(serve, taken)
        key = (*_dtypes(rendezvous), rendezvous[0].comes_once, len(group))
        if key not in _cached_servers:
            # In a graph of its own, as the one that is built now goes with its program.
            with tf.Graph().as_default():
                _cached_servers[key] = graphs.wrap_function(serve, taken)
        return _cached_servers[key]

    def _make_queues(self, way: str) -> list[list[Tensor]]:
        """Return for each rendezvous the queues of all replicas to or from its exchange."""
        return [
            [
                make_queue(_dtypes(rendezvous), f"{self._name}_{number}_{way}_{replica}")
                for replica in range(self._replicas)
            ]
            for number, rendezvous in enumerate(self._all_rendezvous)
        ]

    def _empty_queues(self, queues: Sequence[Tensor]) -> Tensor:
        done = empty(self._running, [tf.bool])
        dtypes = [_dtypes(rendezvous) for rendezvous in self._all_rendezvous]
        of_replicas = tf.stack([in_this_graph(handles) for handles in queues])
        for same in dict.fromkeys(dtypes):
            # Those of the same dtypes are next to each other, by `__init__`.
            first = 2 * dtypes.index(same)
            end = first + 2 * dtypes.count(same)
            with tf.control_dependencies([done]):
                of_dtypes = tf.reshape(of_replicas[:, first:end], [-1])
                done = empty_all(of_dtypes, same)
        return done


def _serve(
    combine: Sequence[Combine], dtypes: Sequence[tf.DType], *queues: Tensor, comes_once: bool
) -> Tensor:
    """Serve a group, with its `queues` to and from the exchange; give a token at the end."""
    members = len(queues) // 2
    to_exchange, from_exchange = queues[:members], queues[members:]

    def take_from(place: int) -> list[Tensor]:
        goes_on, *parts = dequeue(in_this_graph(to_exchange[place]), dtypes)
        goes_on.set_shape([])
        return [goes_on, *parts]

    def give_results(first: Sequence[Tensor]) -> list[Operation]:
        of_members = [first, *(take_from(place)[1:] for place in range(1, members))]
        combined = [
            combine_parts(parts)
            for combine_parts, parts in zip(combine, zip(*of_members, strict=True), strict=True)
        ]
        return [
            enqueue(in_this_graph(way), [tf.constant(True), *mine])
            for way, mine in zip(from_exchange, zip(*combined, strict=True), strict=True)
        ]

    def next_round(_: Tensor, *first: Tensor) -> list[Tensor]:
        with tf.control_dependencies(give_results(first)):
            return take_from(0)

    start = take_from(0)
    # Without a loop: nothing has to tell it when to end.
    if comes_once:
        return token_after(give_results(start[1:]))
    ended = tf.while_loop(
        lambda goes_on, *_: goes_on,
        next_round,
        start,
        shape_invariants=[tf.TensorShape([]), *[tf.TensorShape(None)] * len(combine)],
        parallel_iterations=1,
    )
    return token_after([ended[0].op])


def _dtypes(rendezvous: Rendezvous) -> tuple[tf.DType, ...]:
    """Return the dtypes of what goes through a queue: the signal to go on, and the parts."""
    return (
        tf.bool,
        *(collective.op.outputs[0].dtype.base_dtype for collective in rendezvous),
    )


class _LastDecision(NamedTuple):
    """A replica's last decision at a site: its branch, or the rounds of its loop."""

    iteration: Iteration
    choice: int


class RendezvousReports:
    """A thread-safe record of the rendezvous of one step. One step runs at a time.

    A replica reports on one site in the order of the iterations. Only rendezvous that replicas can
    miss are followed, unless `all_of_them` are wanted.
    """

    def __init__(
        self, all_rendezvous: Iterable[Rendezvous], names: Sequence[str], *, all_of_them: bool
    ) -> None:
        self._names = names
        self._collectives = {
            collective.site: collective
            for collective, *_ in all_rendezvous
            if (collective.can_be_missed or all_of_them)
            and any(len(group) > 1 for group in collective.groups)
        }
        self._below: dict[RegionSite, list[Collective]] = defaultdict(list)
        for collective in self._collectives.values():
            for decision in collective.decisions:
                self._below[decision.site].append(collective)
        self._lock = threading.Lock()
        self.forget()

    def begin(self) -> list[Operation]:
        """Return operations that forget the previous step."""
        return [call_python(self.forget)] if self._collectives else []

    def report_arrival(
        self, site: RegionSite, images: TensorMap, waits_for: Sequence[Operation]
    ) -> list[Operation]:
        """Return operations that report a replica's arrival at the rendezvous at `site`."""
        if site not in self._collectives:
            return []
        return [self._report(self.arrive, site, images, waits_for)]

    def report_decision(
        self,
        site: RegionSite,
        images: TensorMap,
        choice: Tensor,
        waits_for: Sequence[Operation] = (),
    ) -> list[Operation]:
        """Return operations that report the branch taken, or the rounds that a loop has made.

        They must run in an iteration before anything of the next one does.
        """
        if site not in self._below:
            return []
        return [self._report(self.decide, site, images, waits_for, choice)]

    def _report(
        self,
        note: Callable[..., DivergentCollectiveError | None],
        site: RegionSite,
        images: TensorMap,
        waits_for: Sequence[Operation],
        *choice: Tensor,
    ) -> Operation:
        def report(replica: Any, iteration: Any, *number: Any) -> None:
            if fault := note(site, int(replica), tuple(iteration.tolist()), *map(int, number)):
                raise token_for(fault)

        where = [in_this_graph(images.replica), in_this_graph(images.iteration)]
        return call_python(report, [*where, *choice], waits_for)

    def forget(self) -> None:
        """Forget the previous step."""
        with self._lock:
            self._waiting: dict[RegionSite, dict[Iteration, set[int]]] = defaultdict(dict)
            self._taken: dict[tuple[RegionSite, int], _LastDecision] = {}

    def arrive(
        self, site: RegionSite, replica: int, iteration: Iteration
    ) -> DivergentCollectiveError | None:
        """Note that `replica` waits at `site`; return the fault if it would wait forever."""
        collective = self._collectives[site]
        group = collective.group_of(replica)
        with self._lock:
            arrived = self._waiting[site].setdefault(iteration, set())
            arrived.add(replica)
            if not arrived.issuperset(group):
                return self._fault(collective, iteration, arrived, group)
            # The next iteration begins with nobody there.
            arrived.difference_update(group)
            if not arrived:
                del self._waiting[site][iteration]
        return None

    def decide(
        self, site: RegionSite, replica: int, iteration: Iteration, choice: int
    ) -> DivergentCollectiveError | None:
        """Note a branch, or a loop's rounds; return the fault if a replica now waits forever."""
        with self._lock:
            # The last one is enough: a replica decides in the order of the iterations.
            self._taken[site, replica] = _LastDecision(iteration, choice)
            faults = (
                self._fault(below, waits_in, arrived.intersection(group), [replica])
                for below in self._below[site]
                for group in [below.group_of(replica)]
                for waits_in, arrived in self._waiting[below.site].items()
            )
            return next((fault for fault in faults if fault), None)

    def waits(self) -> tuple[Wait, ...]:
        """Return the waits of replicas for others at this moment."""
        with self._lock:
            return tuple(
                self._wait(self._collectives[site], replica, other)
                for site, rendezvous in self._waiting.items()
                for arrived in rendezvous.values()
                for replica in arrived
                for other in self._collectives[site].group_of(replica)
                if other not in arrived
            )

    def _fault(
        self, collective: Collective, iteration: Iteration, arrived: set[int], others: Iterable[int]
    ) -> DivergentCollectiveError | None:
        """Return the fault if any of `others` has not `arrived` at `collective` and never will."""
        for other in others if arrived else ():
            for decision in collective.decisions if other not in arrived else ():
                taken = self._taken.get((decision.site, other))
                why = taken and _why_never(decision, taken, iteration)
                if why:
                    waiting = min(arrived.intersection(collective.group_of(other)))
                    wait = self._wait(collective, waiting, other)
                    return DivergentCollectiveError(
                        "Only some replicas reach a collective, the others never come\n"
                        f"  {wait}\n  {wait.held_up_by}: {why}",
                        place=wait.place,
                        rule=collective.rule,
                    )
        return None

    def _wait(self, collective: Collective, replica: int, other: int) -> Wait:
        return Wait(
            self._names[replica],
            self._names[other],
            f"waits in {collective.op.type} '{collective.op.name}' for {self._names[other]}",
            operation_location(collective.op),
        )


def _why_never(decision: Decision, taken: _LastDecision, iteration: Iteration) -> str | None:
    """Say why a replica that has taken `taken`, and has not arrived in `iteration`, never will."""
    now = iteration[: decision.loops]
    # It has not come so far yet, or it is on its way to the collective.
    if taken.iteration < now or (taken.iteration == now and taken.choice == decision.branch):
        return None
    place = operation_location(decision.op)
    where = f"'{decision.op.name}'" + (f" ({place})" if place else "")
    if taken.iteration > now:
        return f"is in a later iteration of the loop around {where}"
    if decision.branch is None:
        times = "round" if taken.choice == 1 else "rounds"
        return f"has ended its loop {where} after {taken.choice} {times}"
    return f"has taken another branch of {where}"
