"""The record that `tpulint run` keeps of a program that it runs on an emulated TPU."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Literal

from tpulint.runtime.emulate.calls import HostRead, current_launch, watch_reads
from tpulint.runtime.emulated import emulated_tpu
from tpulint.runtime.emulator import process_options
from tpulint.runtime.errors import RuntimeFault, RuntimeFaultWarning, warnings_sent_to
from tpulint.runtime.execute import probes, raising, waiting
from tpulint.runtime.execute.device_program import segments_sent_to
from tpulint.runtime.execute.raising import faults_sent_to
from tpulint.runtime.schedule.work import Recorded, StepWork, watch_programs, work_of
from tpulint.runtime.tensorflow_internals import threads

FEEDS = ("infeed", "outfeed")
"""The lanes in which the device takes from queues of the host, and puts into them."""
SHORTEST_WAIT = 0.001
"""Seconds of open requests that make a wait of a step."""
MOST_ERRORS = 20
"""How many errors of steps are kept, with all that their tracebacks hold."""


@dataclass
class Total:
    """One lane of one computation, over all its steps and replicas.

    `place` is the user's line that made it, None where no line of the user's did; `round_trips`
    counts the runs of a host cluster that gave bytes back to the device.
    """

    place: str | None
    runs: int = 0
    round_trips: int = 0
    bytes_to_host: int = 0
    bytes_to_device: int = 0
    seconds: float = 0.0
    function: str = ""


@dataclass
class Reads:
    """The values of the device that one line of the program has read on the host."""

    number: int = 0
    bytes: int = 0


@dataclass
class Build:
    """A program that was compiled: its first step, which includes the time of XLA's compiler."""

    step: int
    start: float
    end: float
    traced: probes.Traced | None


@dataclass
class Totals:
    """The lanes of one computation by name, its steps, and the last step of each replica.

    `builds` are the times that it was built, and so compiled; `launches` the calls from Python that
    its steps ran in; `input_bytes` what they took from the host.
    """

    lanes: dict[str, Total] = field(default_factory=dict)
    steps: set[int] = field(default_factory=set)
    builds: dict[int, Build] = field(default_factory=dict)
    launches: set[int] = field(default_factory=set)
    input_bytes: int = 0
    last: dict[int, int] = field(default_factory=dict)


class StorageWaits:
    """How many steps have waited while a request to a bucket was open, and how long, by bucket.

    The device waits from the end of a step to the beginning of the next, and in a step for its
    infeed. `seconds` returns how long requests to each bucket have been open so far.
    """

    def __init__(self, seconds: Callable[[], list[float]]) -> None:
        self._seconds = seconds
        self.steps = [0] * len(seconds())
        self.seconds = [0.0] * len(self.steps)
        self._of_step = list(self.seconds)
        self._since: list[float] | None = None
        """What it was when the device began to wait; None while it works."""
        self._feeds = 0
        """The replicas that wait for their infeed."""

    def begin(self) -> None:
        """Note that a step begins."""
        self._of_step, self._feeds = [0.0] * len(self.steps), 0
        self._go_on()

    def start(self, lane: str) -> None:
        """Note that a segment starts."""
        if lane == "infeed":
            if not self._feeds:
                self._since = self._seconds()
            self._feeds += 1

    def end(self, lane: str) -> None:
        """Note that a segment has ended; of a device's, the next may be in another step."""
        if lane == "infeed" and self._feeds:
            self._feeds -= 1
            if not self._feeds:
                self._go_on()
        elif lane == "device":
            self._since = self._seconds()

    def _go_on(self) -> None:
        """Count what has passed since the device began to wait."""
        if self._since is None:
            return
        for slot, (now, since) in enumerate(zip(self._seconds(), self._since, strict=True)):
            before, after = self._of_step[slot], self._of_step[slot] + now - since
            self._of_step[slot] = after
            if after >= SHORTEST_WAIT:
                self.steps[slot] += before < SHORTEST_WAIT
                self.seconds[slot] += now - since if before >= SHORTEST_WAIT else after
        self._since = None


class Watch:
    """A record of the run: sums, not events, because a program may run for days."""

    def __init__(self, cancel: Callable[[], None], waits: StorageWaits | None = None) -> None:
        self._cancel = cancel
        self.waits = waits
        self.computations: dict[str | None, Totals] = {}
        self.programs: list[Recorded] = []
        self.reads: dict[str | None, Reads] = {}
        self.warnings: dict[tuple[str, str | None], RuntimeFaultWarning] = {}
        self.segments: Counter[tuple[str | None, bool]] = Counter()
        """The segments that were built of each computation: compiled by XLA (true), or only
        checked."""
        self.errors: dict[tuple[str, str | None], Exception] = {}
        """The first of its kind and place that a step has raised, whether or not the program has
        seen or handled it."""
        self._has_failed = False
        """Whether the step that runs has raised a fault; others of it follow from that one."""
        self._lock = threading.Lock()

    def start(self, lane: str | None) -> None:
        """Note that a segment starts, or a step."""
        with self._lock:
            if lane is None:
                self._has_failed = False
            if self.waits is not None:
                self.waits.begin() if lane is None else self.waits.start(lane)

    def add(self, event: probes.SegmentRun) -> None:
        """Add a segment that has run."""
        with self._lock:
            if self.waits is not None:
                self.waits.end(event.lane)
            computation = self.computations.setdefault(event.computation, Totals())
            if event.step not in computation.steps:
                computation.steps.add(event.step)
                computation.input_bytes += event.input_bytes
                launch = current_launch()
                computation.launches.add(-1 - event.step if launch is None else launch)
            build = computation.builds.setdefault(
                event.build, Build(event.step, event.start, event.end, event.traced)
            )
            if event.step == build.step:
                build.start = min(build.start, event.start)
                build.end = max(build.end, event.end)
            new = Total(event.place, function=event.function)
            total = computation.lanes.setdefault(event.lane, new)
            total.seconds += event.end - event.start
            if event.lane == "device":
                # Its segments are one program, which runs once a step on each replica.
                total.runs += computation.last.get(event.replica) != event.step
                computation.last[event.replica] = event.step
            else:
                total.runs += 1
                total.round_trips += event.bytes_out > 0 and event.lane not in FEEDS
                total.bytes_to_host += event.bytes_in
                total.bytes_to_device += event.bytes_out

    def build(self, computation: str | None, is_compiled: bool) -> None:
        """Count a segment of a computation that is built."""
        with self._lock:
            self.segments[computation, is_compiled] += 1

    def read(self, event: HostRead) -> None:
        """Add a value of the device that the program has read on the host."""
        with self._lock:
            reads = self.reads.setdefault(event.place, Reads())
            reads.number += 1
            reads.bytes += event.bytes

    def works(self) -> list[StepWork]:
        """Return the work of each computation that has run; of several builds of one, the most."""
        most: dict[str | None, StepWork] = {}
        for recorded in self.programs:
            if recorded.place in self.computations:
                work = work_of(recorded)
                if work.place not in most or most[work.place].flops < work.flops:
                    most[work.place] = work
        return list(most.values())

    def warn(self, warning: RuntimeFaultWarning) -> None:
        """Keep the first warning of its kind at its place."""
        with self._lock:
            self.warnings.setdefault((warning.rule or str(warning), warning.place), warning)

    def fail(self, error: Exception) -> None:
        """Keep the first error of its kind at its place."""
        place = getattr(error, "place", None)
        with self._lock:
            if isinstance(error, RuntimeFault) and not error.__traceback__:  # of a step that runs
                if self._has_failed:
                    return
                self._has_failed = True
            if len(self.errors) < MOST_ERRORS:
                self.errors.setdefault((type(error).__name__, place or str(error)), error)

    def stop(self, thread: int) -> None:
        """End the steps that run now, and those of the sessions that the Python thread runs.

        Segments compiled by XLA run on, and so do Python functions of host clusters.
        """
        raising.steps_stopped.set()
        self._cancel()
        threads.close_sessions_of_thread(thread)

    def resume(self) -> None:
        """Let steps run again."""
        raising.steps_stopped.clear()

    def host_functions(self) -> list[str]:
        """Return the user's lines that Python functions of graphs are at now."""
        return waiting.host_functions()

    def unfinished(self) -> list[probes.UnfinishedSegment]:
        """Return the host clusters that had not ended when their step failed."""
        return probes.unfinished()


@contextmanager
def running(
    num_replicas: int | None,
    topology: str | None,
    deadline: float | None = None,
    hosts: int = 1,
    workers: Sequence[str] = (),
    *,
    costs: bool = False,
    compile: Literal["always", "never"] = "always",
    remote: bool = False,
    storage: Callable[[], list[float]] | None = None,
) -> Iterator[Watch]:
    """Emulate a TPU in the context, and watch the computations that run on it.

    `deadline` is the longest that a step may take, in seconds; `compile` as in `Options`. With
    `costs` the programs are kept for `Watch.works`. `storage` returns how long requests to each
    bucket have been open.

    Raises:
        ValueError: there is no such topology, or no such number of replicas, or the hosts cannot
            share them.
    """
    with (
        emulated_tpu(num_replicas, topology=topology, hosts=hosts, workers=workers, remote=remote),
        # After the emulator, whose replacements of the same functions it has to call.
        threads.cancellable_calls() as cancel,
        process_options(deadline=deadline, compile=compile),
    ):
        watch = Watch(cancel, StorageWaits(storage) if storage else None)
        with (
            probes.watch_segments(watch.add, merged=True),
            probes.watch_starts(watch.start),
            watch_reads(watch.read),
            warnings_sent_to(watch.warn),
            faults_sent_to(watch.fail),
            segments_sent_to(watch.build),
            watch_programs(watch.programs.append) if costs else nullcontext(),
        ):
            yield watch
