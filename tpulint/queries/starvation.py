"""What waits for ever: more is taken from a feed or a queue than can have been put into it.

Only programs of sessions are asked, whose fetches say what runs and in which order. For each call
of `run` the least that is taken by then is compared with the most that can have been put. What is
not seen may put anything: then nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import NamedTuple

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain.events import ApiCall, Computation, Context, Operation, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Function, Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import parts
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Const, External, Partial, Value
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.tf_names import (
    PARALLEL_PACKAGES,
    RUNS_APART,
    is_tensorflow,
)
from tpulint.frontends.tensorflow.program import Program, answered_once
from tpulint.ordering import Phase, reachable
from tpulint.queries.entry_calls import SIGNATURES, argument_value, constant_int, replicas
from tpulint.queries.happens_before import given_by_scopes, order_of
from tpulint.queries.launches import least_rounds, most_rounds
from tpulint.syntax.nodes import Attribute, CallNode, last_name

INFEED, OUTFEED = "infeed", "outfeed"
FEEDS = (INFEED, OUTFEED)
# tensorflow/python/tpu/ops/tpu_ops.py, by store: whether it puts.
_FEED_CALLS = {
    f"{feed}_{does}queue{tuple_}": (feed, does == "en")
    for feed in FEEDS
    for does in ("en", "de")
    for tuple_ in ("", "_tuple")
}
_INFEED_QUEUE = "InfeedQueue"
# tensorflow/python/ops/data_flow_ops.py: whether it puts, and the least and the most at once.
_QUEUE_CALLS = {
    "enqueue": (True, 1, 1),
    "enqueue_many": (True, 0, inf),
    "dequeue": (False, 1, 1),
    "dequeue_many": (False, 1, inf),
    "dequeue_up_to": (False, 1, inf),
}
_SPLITS = "split_inputs_and_generate_enqueue_ops"
_NAMES = frozenset(
    {*_FEED_CALLS, *_QUEUE_CALLS, _SPLITS, "generate_enqueue_ops", "generate_dequeue_op"}
)
_HARMLESS_OF_QUEUES = frozenset({"size", "is_closed"})
_SESSIONS = frozenset({"Session", "InteractiveSession"})
_Rounds = Callable[[Program, scopes.Scope, Context], float]
_KNOWN_PACKAGES = frozenset({"builtins", "numpy", "math", "time", "os", "sys"})


@dataclass(frozen=True, eq=False)
class Transfer:
    """A call that puts into a store, or takes out of it, and how much whenever it runs.

    store: INFEED, OUTFEED or a queue. computation: whose launch runs it, else a session does.
    """

    store: Hashable
    is_put: bool
    least: float
    most: float
    call: ApiCall
    computation: Computation | None

    @property
    def node(self) -> ApiCall:
        """The call on the host of which it is a part."""
        return self.call if self.computation is None else self.computation.call

    @property
    def operation(self) -> Operation | None:
        result = self.call.result
        return result.operation if isinstance(result, Tensor) else None


class Starvation(NamedTuple):
    """A taker that waits for ever. taken, put: at least so many, and at most.

    is_of_room: it puts into a queue that is full. is_later: more is put, but only after it.
    """

    transfer: Transfer
    run: ApiCall
    taken: int
    put: int
    is_of_room: bool
    is_later: bool


@answered_once
def shortages(program: Program) -> list[Starvation]:
    """Return the shortages of each store, the first of each."""
    return list(_shortages(program))


def _shortages(program: Program) -> Iterator[Starvation]:
    runs = _session_runs(program)
    transfers = list(_transfers(program)) if runs else []
    if not any(not transfer.is_put for transfer in transfers) or not runs:
        return
    graph = _HostGraph(program)
    for store in dict.fromkeys(transfer.store for transfer in transfers):
        of_store = [transfer for transfer in transfers if transfer.store == store]
        if not _is_all_seen(program, store, of_store, runs):
            continue
        puts = [transfer for transfer in of_store if transfer.is_put]
        takes = [transfer for transfer in of_store if not transfer.is_put]
        accounts = [_Account(program, graph, runs, puts, takes)]
        queues = (call for call in program.named.get("FIFOQueue", ()) if call.result is store)
        room = next((constant_int(queue.value("capacity", 0)) for queue in queues), None)
        if room is not None:  # what puts takes room, and what takes gives it back
            accounts.append(_Account(program, graph, runs, takes, puts, room, is_of_room=True))
        shortage = next(
            (starvation for account in accounts for starvation in account.shortages()), None
        )
        if shortage is not None:
            yield shortage


def _session_runs(program: Program) -> list[ApiCall]:
    """Return the calls of `run` of sessions, in order; none where something else may run graphs."""
    runs = []
    if program.unfollowed or program.failures:
        return []
    for call in program.all_calls():
        first = call.path.partition(".")[0]
        if call.last in RUNS_APART or first in PARALLEL_PACKAGES:
            return []
        is_unknown = not is_tensorflow(call.path) and first not in _KNOWN_PACKAGES
        if is_session(call.receiver) and call.last == "run":
            runs.append(call)
        elif (call.path.startswith("?.") and call.last in ("run", "eval")) or (
            is_unknown and any(is_session(argument.value) for argument in call.arguments)
        ):
            return []
    return runs


def is_session(value: Value | None) -> bool:
    """Return whether `value` certainly is a plain session of TensorFlow's."""
    return (
        isinstance(value, ExternalObject) and is_tensorflow(value.path) and value.last in _SESSIONS
    )


def _transfers(program: Program) -> Iterator[Transfer]:
    for call in program.calls:
        yield from _transfers_of(call, None)
    for computation in program.computations:
        for call in computation.calls:
            yield from _transfers_of(call, computation)
        if computation.kind in SIGNATURES and _is_infeed_queue(
            argument_value(computation, "infeed_queue")
        ):
            yield Transfer(INFEED, False, 1, 1, computation.call, computation)


def _transfers_of(call: ApiCall, computation: Computation | None) -> Iterator[Transfer]:
    store = call.receiver
    is_of_queue = isinstance(store, Variable) and store.sort == "queue"
    if call.last in _FEED_CALLS and (is_tensorflow(call.path) or call.path.startswith("?")):
        feed, is_put = _FEED_CALLS[call.last]
        yield Transfer(feed, is_put, 1, 1, call, computation)
    elif is_of_queue and call.last in _QUEUE_CALLS:
        is_put, least, most = _QUEUE_CALLS[call.last]
        yield Transfer(store, is_put, least, most, call, computation)
    elif _is_infeed_queue(store):
        if call.last == "generate_enqueue_ops":
            shards = call.value("sharded_inputs", 0)
            least, most = 0, inf
            if isinstance(shards, Sequence) and not shards.open:
                least = most = len(shards.items)
            yield Transfer(INFEED, True, least, most, call, computation)
        elif call.last == "generate_dequeue_op":
            yield Transfer(INFEED, False, 1, 1, call, computation)
    elif call.last == "repeat" and _is_infeed_queue(call.value("infeed_queue", 3)):
        number = constant_int(call.value("n", 0))
        if number is not None:
            yield Transfer(INFEED, False, number, number, call, computation)


def _is_infeed_queue(value: Value | None) -> bool:
    return isinstance(value, ExternalObject) and value.last == _INFEED_QUEUE


def _is_all_seen(
    program: Program, store: Hashable, transfers: list[Transfer], runs: list[ApiCall]
) -> bool:
    """Return whether no other code puts into the store, or takes from it."""
    if any(call.result is store and call.argument("shared_name") for call in program.calls):
        return False  # another process may have it too
    reading = {run.context.run for run in runs}
    if len(reading) != 1 or any(
        place.run not in reading or place.is_inside(scopes.NO_KNOWN_CALLER)
        for place in [transfer.call.context for transfer in transfers]
    ):
        return False
    for call in program.all_calls():
        if isinstance(store, Variable):
            is_method = call.last in _QUEUE_CALLS or call.last in _HARMLESS_OF_QUEUES
            if (call.receiver is store and not is_method) or any(
                argument.value is store for argument in call.arguments
            ):
                return False
        elif naming.ENQUEUES.is_in(call.last) and call.last not in _NAMES - {_SPLITS}:
            return False
    return _all_are_read(program)


def _all_are_read(program: Program) -> bool:
    """Return whether each call of the source that puts or takes was read, and none is passed on."""
    read = {call.site for call in program.all_calls()}
    for module in program.modules:
        called: set[int] = set()
        for node in module.nodes():
            if isinstance(node, CallNode) and last_name(node.callee) in _NAMES:
                called.add(id(node.callee))
                if Site(module, node.place) not in read:
                    return False
            elif isinstance(node, Attribute) and node.name in _NAMES and id(node) not in called:
                return False
    return True


class _Fetched(NamedTuple):
    """The calls without which a fetch is not computed, by id; is_complete: all of them."""

    calls: dict[int, ApiCall]
    is_complete: bool


class _HostGraph:
    """The graph outside of computations, in which a computation is one node."""

    def __init__(self, program: Program) -> None:
        self._calls = {_key(call.site, call.context): call for call in program.calls}
        self.computations = {id(computation.call) for computation in program.computations}
        self._closures: dict[int, _Fetched] = {}

    def fetched_by(self, run: ApiCall) -> _Fetched:
        """Return what one call of a session's `run` computes."""
        fetches = run.value("fetches", 0) or UNKNOWN
        fetched = self._closure([fetches])
        return fetched._replace(is_complete=fetched.is_complete and not _names_any(fetches))

    def before(self, call: ApiCall) -> _Fetched:
        """Return what is computed before `call`, or the computation that it builds."""
        if id(call) not in self._closures:
            self._closures[id(call)] = self._closure(self._given(call))
        return self._closures[id(call)]

    def _closure(self, values: Iterable[Value]) -> _Fetched:
        calls: dict[int, ApiCall] = {}
        unread, is_complete = list(values), True
        while unread:
            value = unread.pop()
            if isinstance(value, (Sequence, Mapping)):
                unread += parts(value)
                is_complete = is_complete and not value.open
            elif isinstance(value, Tensor):
                call = self._made_by(value)
                is_complete = is_complete and call is not None and _is_known(call)
                if call is not None and id(call) not in calls:
                    calls[id(call)] = call
                    unread += self._given(call)
            elif not isinstance(value, (Const, External, Variable, ExternalObject)):
                is_complete = False
        return _Fetched(calls, is_complete)

    def _given(self, call: ApiCall) -> list[Value]:
        """Return what an operation, or a computation, takes or waits for."""
        # What the function of a computation does is known.
        code = (Function, Bound, Partial) if id(call) in self.computations else ()
        passed = [it.value for it in call.arguments if not isinstance(it.value, code)]
        passed += [call.receiver] if isinstance(call.receiver, Tensor) else []
        dependencies: list[Value] = []
        for scope in call.context.scopes:
            if scope.effect in (scopes.CLEARS, scopes.INIT_SCOPE):
                dependencies = []
            elif scope.effect == scopes.DEPENDENCIES and isinstance(scope.payload, Value):
                dependencies.append(scope.payload)
        return passed + dependencies

    def _made_by(self, tensor: Tensor) -> ApiCall | None:
        if tensor.made is None or tensor.site is None:
            return None
        return self._calls.get(_key(tensor.site, tensor.made))


def _is_known(call: ApiCall) -> bool:
    is_known = is_tensorflow(call.path) or call.path.partition(".")[0] in _KNOWN_PACKAGES
    return is_known or isinstance(call.receiver, (Variable, ExternalObject))


def _names_any(fetches: Value) -> bool:
    """Return whether something is fetched by its name, or is of an object that is not read."""
    if isinstance(fetches, (Sequence, Mapping)):
        return any(map(_names_any, parts(fetches)))
    return isinstance(fetches, (Const, External, ExternalObject)) and fetches != NONE


def _key(site: object, context: Context) -> Hashable:
    return site, context.run, context.call_chain, context.scopes.rounds


@dataclass(eq=False)
class _Account:
    """The account of one store: what is taken out and put in, or, of a queue, its free places.

    initial: what it holds at first.
    """

    _program: Program
    _graph: _HostGraph
    _runs: list[ApiCall]
    _puts: list[Transfer]
    _takes: list[Transfer]
    _initial: int = 0
    is_of_room: bool = False

    @cached_property
    def _fetched(self) -> dict[int, _Fetched]:
        return {id(run): self._graph.fetched_by(run) for run in self._runs}

    def shortages(self) -> Iterator[Starvation]:
        """Yield the shortages, by the call of `run` that shows them first."""
        for place, run in enumerate(self._runs):
            if not _is_sure(run.context) or run.argument("options", 2) is not None:
                continue
            takes = [take for take in self._takes if self._least(take, run, run, False)]
            if not takes:
                continue
            yield from self._late(takes, run, place)
            yield from self._too_few(takes, run, self._runs[: place + 1], False)
            loops = _loops(run.context)
            if loops:
                in_loop = [other for other in self._runs if loops[0] in _loops(other.context)]
                last = max(self._runs.index(other) for other in in_loop)
                yield from self._too_few(takes, run, self._runs[: last + 1], True)

    def _too_few(
        self, takes: list[Transfer], run: ApiCall, runs: list[ApiCall], whole: bool
    ) -> Iterator[Starvation]:
        taken, put = self._moved(runs, run, whole)
        if taken > put:
            yield Starvation(takes[-1], run, int(taken), int(put), self.is_of_room, False)

    def _moved(self, runs: list[ApiCall], at: ApiCall, whole: bool) -> tuple[float, float]:
        """Return how much `runs` surely take, and how much there is at most to be taken."""
        taken = sum(self._least(take, run, at, whole) for take in self._takes for run in runs)
        put = sum(self._most(put, run, at, whole) for put in self._puts for run in runs)
        return taken, self._initial + put

    def _late(self, takes: list[Transfer], run: ApiCall, place: int) -> Iterator[Starvation]:
        """Yield the takes in `run` that all comes too late for."""
        taken, held = self._moved(self._runs[:place], run, False)
        for take in takes:
            before = taken + sum(
                other.least if _is_beside(other, take) else self._least(other, run, run, False)
                for other in takes
                if other is take or self._depends(take, other)
            )
            late = [put for put in self._puts if self._depends(put, take)]
            early = [put for put in self._puts if put not in late]
            in_time = held + sum(self._most(put, run, run, False) for put in early)
            if before > in_time:
                is_later = any(self._most(put, run, run, False) for put in late)
                yield Starvation(take, run, int(before), int(in_time), self.is_of_room, is_later)

    def _depends(self, user: Transfer, source: Transfer) -> bool:
        """Return whether `user` certainly runs only after `source` has."""
        if not _is_beside(user, source):
            return id(source.node) in self._graph.before(user.node).calls
        first, last = source.operation, user.operation
        if first is None or last is None or user is source:
            return False

        def waits_for(operation: Operation) -> Iterator[Operation]:
            yield from (*operation.sources, *operation.after)
            yield from (it for it, is_certain in given_by_scopes(operation.context) if is_certain)

        return any(operation is first for operation in reachable([last], waits_for, id))

    def _least(self, transfer: Transfer, run: ApiCall, at: ApiCall, whole: bool) -> float:
        """Return how much the transfer surely moves by the call `run` wherever `at` is reached.

        whole: by the end of the loops around `at`.
        """
        here = run.context
        if (
            id(transfer.node) not in self._fetched[id(run)].calls
            or not _is_sure(here)
            or not here.reached_whenever(at.context)
            or _built_in(transfer.node.context, here)
        ):
            return 0
        count = transfer.least * _times(self._program, here, at.context, whole, least_rounds)
        if transfer.computation is None:
            return count
        if not self._surely_runs(transfer, transfer.computation):
            return 0
        number = _replicas(transfer.computation) or 1
        return count * number * self._repeated(transfer, least_rounds)

    def _most(self, transfer: Transfer, run: ApiCall, at: ApiCall, whole: bool) -> float:
        """Return how much the transfer moves at most by the call `run`."""
        fetched = self._fetched[id(run)]
        if id(transfer.node) not in fetched.calls and fetched.is_complete:
            return 0
        if _built_in(transfer.node.context, run.context):
            return inf
        count = transfer.most * _times(self._program, run.context, at.context, whole, most_rounds)
        if transfer.computation is None:
            return count
        number = _replicas(transfer.computation)
        return count * (inf if number is None else number) * self._repeated(transfer, most_rounds)

    def _surely_runs(self, transfer: Transfer, computation: Computation) -> bool:
        """Return whether each launch of the computation runs a transfer in it."""
        if transfer.call is computation.call:
            return True
        place = transfer.call.context
        if not _is_sure(place) or not place.reached_whenever(computation.context):
            return False
        order = order_of(self._program, computation)
        if id(transfer.operation) not in order.needed:
            return False
        if place.cluster is None:
            return True
        return any(
            placement.is_definite and placement.when is not Phase.AFTER
            for placement in order.placements(place.cluster)
        )

    def _repeated(self, transfer: Transfer, rounds: _Rounds) -> float:
        """Return how often a launch repeats a transfer."""
        count = 1.0
        is_least = rounds is least_rounds
        for scope in transfer.call.context.scopes[len(transfer.node.context.scopes) :]:
            if scope.kind == scopes.LOOP:
                count *= rounds(self._program, scope, transfer.call.context)
            elif scope.kind == scopes.WHILE:
                calls = () if transfer.computation is None else transfer.computation.calls
                repeats = (it for it in calls if it.site == scope.site and it.last == "repeat")
                number = next((constant_int(it.value("n", 0)) for it in repeats), None)
                count *= (0 if is_least else inf) if number is None else number
            elif scope.kind == scopes.COND and is_least:
                count = 0
        return count


def _is_beside(transfer: Transfer, other: Transfer) -> bool:
    return transfer.computation is not None and transfer.computation is other.computation


def _is_sure(context: Context) -> bool:
    """Return whether a place is reached as it reads."""
    return not (
        context.is_guess
        or context.is_tried
        or any(scope.kind in (scopes.DATA, scopes.NO_KNOWN_CALLER) for scope in context.scopes)
    )


def _loops(context: Context) -> list[scopes.Scope]:
    return [scope for scope in context.scopes if scope.kind in (scopes.LOOP, scopes.WHILE)]


def _built_in(built: Context, run: Context) -> bool:
    """Return whether loops build an operation that do not also run it."""
    around = _loops(run)
    return any(loop not in around for loop in _loops(built))


def _times(program: Program, run: Context, at: Context, whole: bool, rounds: _Rounds) -> float:
    """Return how often a call runs: in one round of the loops around `at`, or in the `whole`."""
    shared = [] if whole else _loops(at)
    return prod(rounds(program, loop, run) for loop in _loops(run) if loop not in shared)


def _replicas(computation: Computation) -> int | None:
    return replicas(computation) if computation.kind in SIGNATURES else None
