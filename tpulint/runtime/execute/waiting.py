"""Waits in graphs and on the host, and whether one lasts for ever.

A wait may last as long as the deadline of the computation says. Without one it may last for as long
as something is at work that could end it, and then for `MAX_IDLE_SECONDS`. It may last for a
program that is compiled, a pipeline that is slow, a host function that takes its time, a thread
that stops at a breakpoint. It lasts forever only where all others wait, too. So the process is idle
where it hardly computes, and each of its Python threads waits for another thread, or for a graph of
TensorFlow that waits itself. A thread that runs neither a graph nor code of the program, such as
those of a notebook, starts no step, and does not count. Where the hosts of a pod are processes,
each of them must be idle, too: who waits asks them for their processor time.

Mostly a few seconds show it. The process is closed where each thread of the program is in a graph
that waits, none of these graphs reads a file or asks another process, and none of the process's
threads wants to compute. Then nothing outside can end a wait, and `MAX_CLOSED_SECONDS` are enough.

There is also a hang of TensorFlow's own: all its threads wait for one of its threads. It has as
many as the machine has cores. A Python function of a graph holds one, and a function of
TensorFlow's that it calls in turn needs another; when all are held like that, none comes free. So
the Python function that takes the last of them runs in a thread of its own, and TensorFlow's thread
waits for it, and fails when the others wait too and there is no more progress.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from tpulint.runtime.errors import DeadlockError
from tpulint.runtime.execute.raising import FaultToken, token_for
from tpulint.runtime.extract.bodies import bodies
from tpulint.runtime.extract.region import Operation, Region, skip_identities
from tpulint.runtime.pods.devices import current_pod
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.schedule.variables import trace_captures
from tpulint.runtime.source_location import is_users, operation_location, place_in_thread
from tpulint.runtime.tensorflow_internals import operations, threads
from tpulint.runtime.tensorflow_internals.threads import (
    Awaited,
    awaited_by_thread,
    is_tensorflows_thread,
    num_threads,
)

# Seconds between two looks.
_LOOK_SECONDS = 0.25
# The share of one core below which the process does not compute.
_IDLE_SHARE = 0.1
# Seconds between two questions to the hosts that are processes, which cost a message each.
_ASK_SECONDS = 0.5
# Looks in a row at which a thread wants to compute, after which it is more than the clock's tick.
_LOOKS_AT_WORK = 4
# Seconds for which what has been noted counts: a wait that goes on is noted all the time.
_NOTE_SECONDS = 5.0
# The same for a wait that has ended in an error, less than any wait takes to end in one.
_GIVEN_UP_SECONDS = 1.0
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_WAITING_FILES = frozenset(
    os.path.join(_STANDARD_LIBRARY, name) for name in ("threading.py", "queue.py", "selectors.py")
)
_DEBUGGERS = ("bdb.py", "pydevd.py")


class IdleTime:
    """A watch on the process, by those that wait in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, tuple[float, tuple[Wait, ...]]] = {}
        """When waits were noted last, by the token of a Python function in their graph, or by their
        Python thread."""
        self._given_up: list[tuple[float, tuple[Wait, ...]]] = []
        """The waits for which an error was raised, and when."""
        self._looked = self._since = self._closed_since = float("-inf")
        self._computed = 0.0
        self._looks_at_work: dict[str, int] = {}
        """How many looks in a row found a thread at work, or ready for it, by its number."""
        self._asked = float("-inf")
        self._answers: dict[int, tuple[float, float]] = {}
        """When each host that is a process last said how many seconds it has computed."""

    def note(self, waiting: Iterable[Hashable], waits: Sequence[Wait]) -> None:
        """Note the `waits` of a graph, given its tokens, or of a Python thread."""
        with self._lock:
            self._waiting.update(dict.fromkeys(waiting, (time.monotonic(), tuple(waits))))

    def forget(self, waiting: Iterable[Hashable]) -> None:
        """Note that this graph, or this Python thread, does not wait now."""
        with self._lock:
            for name in waiting:
                self._waiting.pop(name, None)

    def give_up(self, waiting: Iterable[Hashable], waits: Sequence[Wait]) -> tuple[Wait, ...]:
        """Note that an error is raised for the `waits` of this graph, or of this Python thread.

        Return the waits that were noted a moment ago.
        """
        with self._lock:
            now = time.monotonic()
            self._forget_ended(now)
            listed = [noted for _, noted in (*self._waiting.values(), *self._given_up)]
            for name in waiting:
                self._waiting.pop(name, None)
            self._given_up.append((now, tuple(waits)))
            return tuple(wait for noted in listed for wait in noted)

    def wants_to_ask(self) -> bool:
        """Return whether it is time to ask the hosts that are processes what they have computed."""
        with self._lock:
            now = time.monotonic()
            wants = bool(self._waiting) and now - self._asked >= _ASK_SECONDS
            self._asked = now if wants else self._asked
            return wants

    def note_hosts(self, computed: Sequence[float | None]) -> None:
        """Note the seconds that each host has computed; None where it cannot tell."""
        with self._lock:
            now = time.monotonic()
            for host, seconds in enumerate(computed):
                when, before = self._answers.get(host, (float("-inf"), 0.0))
                idle = seconds is not None and seconds - before <= _IDLE_SHARE * (now - when)
                if now - when > _NOTE_SECONDS or not idle:
                    self._since = self._closed_since = now
                self._answers[host] = (now, seconds or 0.0)

    def leave_out(self, seconds: float) -> None:
        """Leave out the processor time that a thread has spent on its looks while it waits."""
        with self._lock:
            self._computed += seconds

    def is_too_long(self, since: float) -> bool:
        """Return whether all that has gone on since then has been waits, and for too long."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= _LOOK_SECONDS:
                self._look(now)
            # Hosts that are processes, and do not say what they compute, may be at work.
            answered = max((when for when, _ in self._answers.values()), default=float("-inf"))
            if current_pod().workers and now - answered > _NOTE_SECONDS:
                self._since = self._closed_since = now
            idle = now - max(since, self._since)
            closed = now - max(since, self._closed_since)
            return idle >= MAX_IDLE_SECONDS or closed >= MAX_CLOSED_SECONDS

    def _look(self, now: float) -> None:
        passed = now - self._looked
        computed = time.process_time()
        computes = computed - self._computed > _IDLE_SHARE * passed
        self._looked, self._computed = now, computed
        self._forget_ended(now)
        threads_now = tuple(sys._current_frames())
        # Nobody has looked for a while: what happened then is not known.
        if passed > _NOTE_SECONDS or computes or any(map(self._is_thread_at_work, threads_now)):
            self._since = self._closed_since = now
        elif self._wants_to_compute() or not all(map(self._is_thread_closed, threads_now)):
            self._closed_since = now

    def _wants_to_compute(self) -> bool:
        """Return whether a thread has been at work, or has waited for a core, for a while."""
        # On a busy machine a thread that computes may get next to nothing of a core.
        ready = threads.ready_threads()
        if ready is None:
            return True
        self._looks_at_work = {name: self._looks_at_work.get(name, 0) + 1 for name in ready}
        return max(self._looks_at_work.values(), default=0) >= _LOOKS_AT_WORK

    def _is_thread_closed(self, thread: int) -> bool:
        """Return whether only a graph that runs now can end what the thread waits for."""
        graph = threads.graph_in_call(thread)
        if graph is not None:
            return not graph.waits_for_others
        if thread in self._waiting:
            return True
        return not any(is_users(filename) for filename, _ in threads.stack_of_thread(thread))

    def _forget_ended(self, now: float) -> None:
        for waiting, (noted, _) in tuple(self._waiting.items()):
            if now - noted > _NOTE_SECONDS:
                del self._waiting[waiting]
        # Those that wait for one another give up at almost the same time, in any order, and
        # TensorFlow raises the error of any of them: each lists what the others waited for.
        self._given_up = [
            (when, waits) for when, waits in self._given_up if now - when <= _GIVEN_UP_SECONDS
        ]

    def _is_thread_at_work(self, thread: int) -> bool:
        if thread in self._waiting:
            return False
        graph = threads.graph_in_call(thread)
        if graph is not None:
            # It runs a graph: at work, unless that graph itself has said that it waits.
            return graph.tokens.isdisjoint(self._waiting)
        stack = [filename for filename, _ in threads.stack_of_thread(thread)]
        # A breakpoint is no hang, however long it takes.
        if any(filename.endswith(_DEBUGGERS) for filename in stack):
            return True
        return any(map(is_users, stack)) and stack[-1] not in _WAITING_FILES


idle_time = IdleTime()


# Seconds for which nothing may be at work while something waits, where there is no deadline.
MAX_IDLE_SECONDS = 60.0
# The same, in a process in which nothing from outside can end a wait.
MAX_CLOSED_SECONDS = 3.0


@dataclass(eq=False)
class WaitLimit:
    """The limit of the waits in one run of a graph, or in one Python thread.

    `seconds` are counted from the beginning of the wait, whatever is at work.
    """

    seconds: float | None = None
    since: float | None = None
    """When the waits began; None while there are none."""

    def is_over(self, waits: Sequence[Wait], waiting: Iterable[Hashable]) -> bool:
        """Return whether `waits` have taken too long.

        `waiting` has the tokens of the Python functions in the graph that waits, or the Python
        thread.
        """
        if not waits:
            self.since = None
            idle_time.forget(waiting)
            return False
        now = time.monotonic()
        self.since = now if self.since is None else self.since
        if self.seconds is not None:
            return now - self.since >= self.seconds
        idle_time.note(waiting, waits)
        # A wait that has just begun is no hang in a process that was idle before.
        return idle_time.is_too_long(self.since)


def deadlock_of_waits(
    first_line: str, waits: Sequence[Wait], waiting: Iterable[Hashable] = ()
) -> DeadlockError:
    """Return the error of waits that have taken too long, and of all other waits in the process.

    `waiting`, as in `WaitLimit.is_over`, does not count as waiting from now on.
    """
    listed = [*waits, *idle_time.give_up(waiting, waits)]
    rules = {wait.rule for wait in waits}
    return DeadlockError(
        "\n".join([first_line, *dict.fromkeys(f"  {wait}" for wait in listed)]),
        place=next((wait.place for wait in waits if wait.place), None),
        rule=rules.pop() if len(rules) == 1 else "",
    )


_QUEUE_OPERATIONS = ("QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "QueueEnqueue")
_TAKES_FROM = {
    **{
        f"{name}{version}": "the queue"
        for name in (*_QUEUE_OPERATIONS, "QueueEnqueueMany")
        for version in ("", "V2")
    },
    "AccumulatorTakeGradient": "the accumulator",
    "BarrierTakeMany": "the barrier",
    "MutexLock": "the critical section",
    "ResourceAccumulatorTakeGradient": "the accumulator",
}
_STAGES = frozenset({"MapPeek", "MapUnstage", "MapUnstageNoKey", "OrderedMapUnstage", "Unstage"})
WAITING_OPERATIONS = _STAGES.union(_TAKES_FROM)
# The rule that a host cluster breaks by waiting for ever in a queue.
_QUEUE_RULE = "TPU106"
_REASON, _RULE = "_tpulint_waits", "_tpulint_waits_rule"


def explain_wait(op: Operation, reason: str, rule: str) -> None:
    """Give the reason, and the rule, of the wait in `op`, of a type in `WAITING_OPERATIONS`."""
    operations.set_attr(op, _REASON, reason)
    operations.set_attr(op, _RULE, rule)


def may_wait(region: Region) -> bool:
    """Return whether something in `region`, or in the bodies in it, waits for others."""
    return any(
        op.type in WAITING_OPERATIONS or any(map(may_wait, bodies(region, op))) for op in region.ops
    )


def wait_of_operation(op: Operation, lane: str) -> Wait:
    """Return the wait of `lane` in `op`, of a type in `WAITING_OPERATIONS`."""
    attributes = op.node_def.attr
    place = operation_location(op)
    if _REASON in attributes:
        reason, rule = (attributes[name].s.decode() for name in (_REASON, _RULE))
        return Wait(lane, op.name, reason, place, rule)
    rule = _QUEUE_RULE if _TAKES_FROM.get(op.type) == "the queue" else ""
    return Wait(lane, op.name, f"waits in {op.type} {_describe_awaited(op)}", place, rule)


def _describe_awaited(op: Operation) -> str:
    if op.type in _STAGES:
        name = op.get_attr("shared_name").decode()
        return f"for something in the staging area '{name or op.name}'"
    does = "room in" if "Enqueue" in op.type else "something in"
    if op.type == "MutexLock":
        does = "its turn in"
    *_, handle = trace_captures(op.inputs[0])  # the outermost
    awaited = f"for {does} {_TAKES_FROM[op.type]}"
    if getattr(handle, "graph", None) is None:  # it is an eager tensor, which has no name
        return awaited
    resource = skip_identities(handle).op
    shared = "shared_name" in resource.node_def.attr and resource.get_attr("shared_name").decode()
    return f"{awaited} '{shared or resource.name}'"


# Seconds without progress after which there will be none.
_FOREVER_SECONDS = 5.0
# Seconds between two looks.
_POOL_LOOK_SECONDS = 0.1
# The share of one core below which the process does not compute.
_POOL_IDLE_SHARE = 0.5

_runners: dict[int, int] = {}
"""For each thread of TensorFlow that a Python function holds, the one that runs the function. It
has no lock: every Python function comes here, and an operation on a dict is atomic in CPython."""


def host_functions() -> list[str]:
    """Return the user's lines that Python functions of graphs are at now."""
    lines = (place_in_thread(thread) for thread in tuple(_runners.values()))
    return [place for place in lines if place]


def run_watched(function: Callable[..., Any], *args: Any) -> Any:
    """Return `function(*args)`, of a graph, that never waits forever for TensorFlow's threads.

    It runs in this thread of TensorFlow's, or in one of its own for as long as there is progress.
    """
    thread = threading.get_ident()
    # It holds the thread already, or none of TensorFlow.
    if thread in _runners or not is_tensorflows_thread():
        return function(*args)
    _runners[thread] = thread
    try:
        # A further thread is free: whatever this calls can go on.
        if len(_runners) < num_threads():
            return function(*args)
        call, _runners[thread] = run_detached(lambda: function(*args))
        waits: dict[int, Awaited] = {}
        probes: list[Future[Any]] = []
        while not futures.wait([call], _POOL_LOOK_SECONDS).done:
            now = _waits_of_all_threads()
            # There was a free thread, or not all wait for the same as before.
            if not now or now != waits or any(probe.done() for probe in probes):
                waits, probes = now, []
                since, computed = time.monotonic(), time.process_time()
                continue
            seconds = time.monotonic() - since
            # A probe takes a thread as soon as one is free, so that it shows progress; it costs
            # one, so not at once.
            if seconds > _FOREVER_SECONDS / 2 and not probes:
                needed = {awaited.probe for awaited in waits.values()}
                probes = [run_detached(probe)[0] for probe in needed]
            is_idle = time.process_time() - computed < _POOL_IDLE_SHARE * seconds
            if seconds > _FOREVER_SECONDS and is_idle:
                raise _starved(waits)
        return call.result()
    finally:
        del _runners[thread]


def _waits_of_all_threads() -> dict[int, Awaited]:
    """Return the waits of the Python functions by thread, if they hold all and all wait."""
    threads = tuple(_runners.values())
    waits = {thread: awaited_by_thread(thread) for thread in threads}
    awaited_by = {thread: awaited for thread, awaited in waits.items() if awaited is not None}
    return awaited_by if len(awaited_by) == len(threads) >= num_threads() else {}


def _starved(waits: Mapping[int, Awaited]) -> FaultToken:
    places = {thread: place_in_thread(thread) for thread in waits}
    lines = [
        f"  at {places[thread] or 'a place unknown'}: waits for {awaited.name}"
        for thread, awaited in waits.items()
    ]
    message = (
        f"Python functions hold all {len(waits)} threads of TensorFlow, "
        "and each waits for a thread of TensorFlow\n" + "\n".join(lines) + "\n"
        "  tf.config.threading.set_inter_op_parallelism_threads gives it more, at the start"
    )
    place = next((place for place in places.values() if place), None)
    return token_for(DeadlockError(message, place=place, rule=""))


def run_detached(function: Callable[[], Any], name: str = "tpulint") -> tuple[Future[Any], int]:
    """Run a function in a thread of its own, abandoned if no other thread waits for it.

    Return its future, and the number of the thread.
    """
    future = Future[Any]()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # it is raised again in the thread that waits
            future.set_exception(error)

    # A daemon, since a function that never returns must not keep the process.
    thread = threading.Thread(target=run, daemon=True, name=name)
    thread.start()
    return future, thread.ident or 0
