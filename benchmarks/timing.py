"""Time and memory of commands, each run in a process of its own."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """Medians over the runs of one command.

    seconds: from start to end. busy: seconds of a core, all its processes together.
    megabytes: of its largest process.
    """

    name: str
    seconds: float
    busy: float
    megabytes: float


def once(command: Sequence[str], statuses: Sequence[int] = (0,)) -> tuple[float, float, float]:
    """Seconds, seconds of a core and peak megabytes of one run; its output goes nowhere.

    An exit status that is none of `statuses` is an error.
    """
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in statuses:
        raise RuntimeError(f"exit status {process.returncode}: {' '.join(command)[:300]}")
    scale = 1024 if sys.platform == "darwin" else 1
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale / 1024


@dataclass(frozen=True)
class Command:
    """A command of the table; `before` puts things back before each run.

    alone: it is slow, and its first run is its only one.
    """

    name: str
    words: Sequence[str]
    before: Callable[[], None] = lambda: None
    statuses: Sequence[int] = (0,)
    alone: bool = False


def in_turns(commands: Sequence[Command], runs: int) -> list[Measured]:
    """Measure the medians of `runs` runs of each command.

    They take turns: what else the machine does for a while slows all of them.
    """
    rows: dict[str, list[tuple[float, float, float]]] = {command.name: [] for command in commands}
    for turn in range(runs):
        for command in commands:
            if turn == 0 or not command.alone:
                command.before()
                rows[command.name].append(once(command.words, command.statuses))
    return [Measured(name, *map(statistics.median, zip(*rows[name], strict=True))) for name in rows]


def measure(name: str, words: Sequence[str], runs: int) -> Measured:
    """Measure the median of `runs` runs of one command."""
    (timing,) = in_turns([Command(name, words)], runs)
    return timing
