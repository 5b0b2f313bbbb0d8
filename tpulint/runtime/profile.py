"""A profile of steps: their time by lane, and the transfers between device and host.

    with tpu.profile() as profile:
        step(x)
    print(profile.table())
    profile.write_chrome_trace("step.json")

Computations that are built inside the context are watched, whenever they run inside one. Those
built before have no probes, and so cost nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from tpulint.runtime.execute.probes import SegmentRun, watch_segments

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
        numbers = sorted({event.step for event in self.events})
        return [tuple(self._totals(number)) for number in numbers]

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
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [*_names(self.events), *map(_traced, self.events)]}, file)

    def _totals(self, step: int) -> Iterator[LaneTotal]:
        of_step = [event for event in self.events if event.step == step]
        for lane in sorted({event.lane for event in of_step}):
            events = [event for event in of_step if event.lane == lane]
            # What crosses is counted on the side of the host, or it would count twice.
            yield LaneTotal(
                lane,
                len(events),
                sum(event.bytes_in for event in events) if lane != "device" else 0,
                sum(event.bytes_out for event in events) if lane != "device" else 0,
                sum(event.end - event.start for event in events),
            )


@contextmanager
def profile() -> Iterator[Profile]:
    """Watch the computations that are built and run in the context."""
    profile = Profile()
    lock = threading.Lock()

    def add(event: SegmentRun) -> None:
        with lock:
            profile.events.append(event)

    with watch_segments(add):
        yield profile


def _row(total: LaneTotal) -> tuple[str, ...]:
    counts = (total.runs, total.bytes_to_host, total.bytes_to_device)
    return (total.lane, *(f"{count:,}" for count in counts), f"{total.seconds * 1e3:.3f}")


def _thread(event: SegmentRun) -> int:
    return 2 * event.replica + (event.lane != "device")


def _names(events: list[SegmentRun]) -> Iterator[dict[str, Any]]:
    threads = {_thread(event): event for event in events}
    for thread, event in sorted(threads.items()):
        side = "device" if event.lane == "device" else "host"
        name = f"replica {event.replica} {side}"
        yield {"ph": "M", "name": "thread_name", "pid": 0, "tid": thread, "args": {"name": name}}


def _traced(event: SegmentRun) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": event.lane,
        "pid": 0,
        "tid": _thread(event),
        "ts": event.start * 1e6,
        "dur": (event.end - event.start) * 1e6,
        "args": {"step": event.step, "bytes in": event.bytes_in, "bytes out": event.bytes_out},
    }
