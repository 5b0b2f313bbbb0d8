"""Operations of the graph that note when segments run and what crosses, and a profile of it.

    with tpu.profile() as profile:
        step(x)
    print(profile.table())
    profile.write_chrome_trace("step.json")

Computations that are built inside the context are watched, whenever they run inside one. Those
built before have no probes, and so cost nothing.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Any, NamedTuple
from weakref import WeakSet

import tensorflow as tf

from tpulint.runtime.emulator import Listeners
from tpulint.runtime.execute.raising import call_python
from tpulint.runtime.execute.tensor_map import in_this_graph
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.source_location import is_users, user_location
from tpulint.runtime.tensorflow_internals import graphs, operations

_watchers: Listeners[SegmentRun] = Listeners()
_of_each: Listeners[SegmentRun] = Listeners()
"""Those of the watchers that no segments are merged for."""
_of_starts: Listeners[str | None] = Listeners()
watch_starts = _of_starts.including
"""A context that passes to a function the lane of each segment that starts; None for a step."""
_steps = itertools.count()
_builds = itertools.count()
_probes: WeakSet[Probes] = WeakSet()


@dataclass(frozen=True)
class SegmentRun:
    """One run of a segment. Seconds of `time.perf_counter`; bytes of tensors that cross.

    `computation` is the user's "file:line" that built the computation, `place` the one that made
    the first operation of the segment; either is None where no line of the user's did. `build`
    counts the times that computations were built: XLA compiles each of them. `function` is the
    name of the user's function that was sent to the host. `input_bytes` are those that the whole
    step took from the host when it began.
    """

    step: int
    replica: int
    lane: str
    start: float
    end: float
    bytes_in: int
    bytes_out: int
    computation: str | None = None
    place: str | None = None
    build: int = 0
    function: str = ""
    input_bytes: int = 0
    traced: Traced | None = None


class Traced(NamedTuple):
    """What a computation was built for: the arguments of the tf.function, and the user's lines.

    `program` tells programs apart that are built for the same arguments at the same lines.
    """

    arguments: tuple[tuple[str, str], ...] | None
    frames: tuple[tuple[str, int], ...]
    program: int = 0


class WatchedSegment(NamedTuple):
    """A segment: its lane, its first operation, the user's line and function that made that."""

    lane: str
    operation: str
    place: str | None
    function: str = ""


@contextmanager
def watch_segments(
    watcher: Callable[[SegmentRun], None], *, merged: bool = False
) -> Iterator[None]:
    """Add probes to all that is built in the context, and pass their events to `watcher`.

    With `merged`, a replica of a step without a host part is one segment, which lasts as long as
    the step. It takes two calls of Python a step, and not two for each segment of each replica.
    """
    with _watchers.including(watcher), nullcontext() if merged else _of_each.including(watcher):
        yield


@dataclass(frozen=True)
class UnfinishedSegment:
    """A segment that was started in the last step of its computation, and has not ended."""

    computation: str | None
    lane: str
    replica: int
    place: str | None
    function: str = ""


def unfinished() -> list[UnfinishedSegment]:
    """Return the host clusters that had not ended when their step failed, or until now."""
    started = (segment for probes in tuple(_probes) for segment in probes.started())
    return [segment for segment in started if segment.lane != "device"]


class Probes:
    """The probes of one computation; without a watcher when it is built it has none.

    `may_merge` says whether its segments are all of the device, and no error names those that run.
    Python's clock measures: op determinism forbids TensorFlow's.
    """

    def __init__(self, program: Region, *, may_merge: bool = False) -> None:
        self.wanted = bool(_watchers)
        self._merges = may_merge and not _of_each
        self._merged: WatchedSegment | None = None
        """The first segment, for all of them."""
        self._begun = 0.0
        self._computation = user_location() if self.wanted else None
        self._build = next(_builds)
        self._traced: Traced | None = None
        self._step, self._input = -1, 0
        self._started: dict[tuple[int, WatchedSegment], tuple[float, int]] = {}
        self._lock = threading.Lock()
        if self.wanted:
            frames = tuple(frame for frame in operations.current_stack() if is_users(frame[0]))
            types = hash(tuple(op.type for op in program.ops))
            self._traced = Traced(graphs.traced_arguments(), frames, types)
            _probes.add(self)

    def started(self) -> list[UnfinishedSegment]:
        """Return the segments of the last step that have started and not ended."""
        with self._lock:
            started = sorted(self._started, key=lambda key: (key[1].lane, key[0]))
        return [
            UnfinishedSegment(
                self._computation, segment.lane, replica, segment.place, segment.function
            )
            for replica, segment in started
        ]

    def begin(self, inputs: Sequence[Tensor]) -> list[Operation]:
        """Return operations that note the beginning of another step, with its `inputs`."""
        return [call_python(self._begin, [_bytes(inputs)])] if self.wanted else []

    def start(
        self,
        segment: WatchedSegment,
        replica: Tensor,
        takes: Sequence[Tensor],
        waits_for: Sequence[Operation],
    ) -> list[Operation]:
        """Return operations that note the start of `segment`; `takes` cross lanes."""
        if self._merges:
            self._merged = self._merged or segment
        if not self.wanted or self._merges:
            return []
        values = [in_this_graph(replica), _bytes(takes)]
        return [call_python(partial(self._start, segment), values, waits_for)]

    def end(
        self,
        segment: WatchedSegment,
        replica: Tensor,
        gives: Sequence[Tensor],
        waits_for: Sequence[Operation],
    ) -> list[Operation]:
        """Return operations that note the end of `segment`; `gives` cross lanes."""
        if not self.wanted:
            return []
        values = [in_this_graph(replica), _bytes(gives)]
        return [call_python(partial(self._end, segment), values, waits_for)]

    def end_step(self, replicas: int, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that note the end of a step whose segments are merged."""
        merged = self._merged
        if not self._merges or merged is None:
            return []

        def end() -> None:
            for replica in range(replicas):
                self._pass_on(merged, replica, self._begun, 0, 0)

        return [call_python(end, waits_for=waits_for)]

    def _begin(self, size: Any) -> None:
        with self._lock:
            self._step, self._input = next(_steps), int(size)
            self._begun = time.perf_counter()
            # What a failed step has left does not belong to this one.
            self._started.clear()
        _of_starts(None)

    def _start(self, segment: WatchedSegment, replica: Any, size: Any) -> None:
        with self._lock:
            self._started[int(replica), segment] = (time.perf_counter(), int(size))
        _of_starts(segment.lane)

    def _end(self, segment: WatchedSegment, number: Any, size: Any) -> None:
        replica = int(number)
        with self._lock:
            # It is missing where a step began in between, after a failure.
            now = (time.perf_counter(), 0)
            start, taken = self._started.pop((replica, segment), now)
        self._pass_on(segment, replica, start, taken, int(size))

    def _pass_on(
        self, segment: WatchedSegment, replica: int, start: float, taken: int, given: int
    ) -> None:
        """Pass a segment to the watchers that ends now, and whose tensors have so many bytes."""
        event = SegmentRun(
            self._step,
            replica,
            segment.lane,
            start,
            time.perf_counter(),
            taken,
            given,
            self._computation,
            segment.place,
            self._build,
            segment.function,
            self._input,
            self._traced,
        )
        _watchers(event)


def _bytes(tensors: Sequence[Tensor]) -> Tensor:
    sizes = [
        tf.reduce_sum(tf.strings.length(tensor))
        if tensor.dtype.base_dtype == tf.string
        else tf.size(tensor) * tensor.dtype.base_dtype.size
        for tensor in tensors
        if tensor.dtype.base_dtype not in (tf.resource, tf.variant)
    ]
    return tf.add_n(sizes) if sizes else tf.constant(0)


_COLUMNS = ("lane", "runs", "bytes to host", "bytes to device", "ms")

_NOTHING = "no step was watched: it must be built and run while the profile is open"


@dataclass(frozen=True)
class LaneTotal:
    """The sums of a lane of one step: "device", "host cluster C", "infeed" or "outfeed".

    They are over all replicas. `seconds` is the time that its segments took; bytes are those of the
    tensors that crossed.
    """

    lane: str
    runs: int
    bytes_to_host: int
    bytes_to_device: int
    seconds: float


@dataclass
class Profile:
    """The events of the steps that ran while it was open."""

    events: list[SegmentRun] = field(default_factory=list)

    @property
    def steps(self) -> list[tuple[LaneTotal, ...]]:
        """Return for each step that ran, in order, the totals of its lanes."""
        lanes: dict[int, dict[str, list[SegmentRun]]] = {}
        for event in self.events:
            lanes.setdefault(event.step, {}).setdefault(event.lane, []).append(event)
        return [
            tuple(_total(lane, events) for lane, events in sorted(of_step.items()))
            for _, of_step in sorted(lanes.items())
        ]

    def table(self) -> str:
        """Return all steps as text, a line for each lane, or the reason why there are none."""
        if not self.events:
            return _NOTHING
        lines = []
        for number, lanes in enumerate(self.steps):
            rows = [_COLUMNS, *(_row(total) for total in lanes)]
            widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
            lines.append(f"step {number}")
            for row in rows:
                first, *rest = (text.rjust(width) for text, width in zip(row, widths, strict=True))
                lines.append("  ".join(["", row[0].ljust(len(first)), *rest]))
        return "\n".join(lines)

    def write_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write a trace that chrome://tracing and Perfetto open: times in microseconds."""
        events: list[dict[str, Any]] = []
        names: dict[int, str] = {}
        for run in self.events:
            side = "device" if run.lane == "device" else "host"
            thread = 2 * run.replica + (side == "host")
            names[thread] = f"replica {run.replica} {side}"
            sizes = {"step": run.step, "bytes in": run.bytes_in, "bytes out": run.bytes_out}
            times = {"ts": run.start * 1e6, "dur": (run.end - run.start) * 1e6}
            event = {"ph": "X", "name": run.lane, "pid": 0, "tid": thread}
            events.append({**event, **times, "args": sizes})
        threads = (
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": thread, "args": {"name": name}}
            for thread, name in sorted(names.items())
        )
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [*threads, *events]}, file)


def _total(lane: str, events: Sequence[SegmentRun]) -> LaneTotal:
    # What crosses is counted on the side of the host, or it would count twice.
    crossing = events if lane != "device" else []
    return LaneTotal(
        lane,
        len(events),
        sum(event.bytes_in for event in crossing),
        sum(event.bytes_out for event in crossing),
        sum(event.end - event.start for event in events),
    )


@contextmanager
def profile() -> Iterator[Profile]:
    """Watch the computations that are built and run in the context."""
    profile = Profile()
    with watch_segments(profile.events.append):  # it is atomic in CPython
        yield profile


def _row(total: LaneTotal) -> tuple[str, ...]:
    counts = (total.runs, total.bytes_to_host, total.bytes_to_device)
    return (total.lane, *(f"{count:,}" for count in counts), f"{total.seconds * 1e3:.3f}")
