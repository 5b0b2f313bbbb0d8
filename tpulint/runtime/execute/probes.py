"""Operations of the graph that note the start and end of a segment, and the bytes that cross."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakSet

import tensorflow as tf

from tpulint.runtime.execute.raising import call_python
from tpulint.runtime.execute.tensor_map import in_this_graph
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.source_location import user_location

_watchers: list[Callable[[SegmentRun], None]] = []
_of_starts: list[Callable[[str | None], None]] = []
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


class WatchedSegment(NamedTuple):
    """A segment: its lane, its first operation, the user's line and function that made that."""

    lane: str
    operation: str
    place: str | None
    function: str = ""


@contextmanager
def watch_segments(watcher: Callable[[SegmentRun], None]) -> Iterator[None]:
    """Add probes to all that is built in the context, and pass their events to `watcher`."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def watch_starts(watcher: Callable[[str | None], None]) -> Iterator[None]:
    """Pass to `watcher` the lane of each segment that starts, and None for a step that begins."""
    _of_starts.append(watcher)
    try:
        yield
    finally:
        _of_starts.remove(watcher)


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
    return [segment for probes in tuple(_probes) for segment in probes.unfinished()]


class Probes:
    """The probes of one computation; without a watcher when it is built it has none.

    Python's clock measures: op determinism forbids TensorFlow's.
    """

    def __init__(self) -> None:
        self.wanted = bool(_watchers)
        self._computation = user_location() if self.wanted else None
        self._build = next(_builds)
        self._step, self._input = -1, 0
        self._started: dict[tuple[int, WatchedSegment], tuple[float, int]] = {}
        self._lock = threading.Lock()
        if self.wanted:
            _probes.add(self)

    def unfinished(self) -> list[UnfinishedSegment]:
        """Return the host clusters of the last step that have started and not ended."""
        return [segment for segment in self.started() if segment.lane != "device"]

    def started(self) -> list[UnfinishedSegment]:
        """Return the same, and segments of the device program."""
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
        if not self.wanted:
            return []
        with tf.control_dependencies(waits_for):
            values = [in_this_graph(replica), _bytes(takes)]
            return [call_python(partial(self._start, segment), values)]

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
        with tf.control_dependencies(waits_for):
            values = [in_this_graph(replica), _bytes(gives)]
            return [call_python(partial(self._end, segment), values)]

    def _begin(self, size: Any) -> None:
        with self._lock:
            self._step, self._input = next(_steps), int(size)
            # What a failed step has left does not belong to this one.
            self._started.clear()
        for watcher in tuple(_of_starts):
            watcher(None)

    def _start(self, segment: WatchedSegment, replica: Any, size: Any) -> None:
        with self._lock:
            self._started[int(replica), segment] = (time.perf_counter(), int(size))
        for watcher in tuple(_of_starts):
            watcher(segment.lane)

    def _end(self, segment: WatchedSegment, number: Any, size: Any) -> None:
        now, replica = time.perf_counter(), int(number)
        with self._lock:
            # It is missing where a step began in between, after a failure.
            start, taken = self._started.pop((replica, segment), (now, 0))
            step, input_bytes = self._step, self._input
        event = SegmentRun(
            step,
            replica,
            segment.lane,
            start,
            now,
            taken,
            int(size),
            self._computation,
            segment.place,
            self._build,
            segment.function,
            input_bytes,
        )
        for watcher in tuple(_watchers):
            watcher(event)


def _bytes(tensors: Sequence[Tensor]) -> Tensor:
    sizes = [
        tf.reduce_sum(tf.strings.length(tensor))
        if tensor.dtype.base_dtype == tf.string
        else tf.size(tensor) * tensor.dtype.base_dtype.size
        for tensor in tensors
        if tensor.dtype.base_dtype not in (tf.resource, tf.variant)
    ]
    return tf.add_n(sizes) if sizes else tf.constant(0)
