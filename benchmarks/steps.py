"""Seconds of a core for each step of a check on a cluster, all in this process.

    python -m benchmarks.steps CORPUS [--runs 3] [--write]

Nothing is sent: each program is serialized, and read as a worker reads it. `--write`
puts the table into docs/scale.md.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.analyzer import lines_of, write
from benchmarks.cluster import DOCUMENT, load
from tpulint.absint.resolver.import_graph import Files, ImportGraph
from tpulint.check import driver
from tpulint.check.cluster import expected_snapshot, run_task, serialize, this_analyzer
from tpulint.check.programs import prefilter, split_into_programs
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.disk import Disk
from tpulint.frontends.tensorflow.knowledge.tf_names import INSTALLED
from tpulint.frontends.tensorflow.target_release import Targets
from tpulint.incremental.model import Analysis, Batch

BEGIN, END = "<!-- steps: written by benchmarks/steps.py -->", "<!-- end of steps -->"


class Steps(NamedTuple):
    """Seconds of a core, by step; `task_bytes` are those of all tasks."""

    search: float
    divide: float
    pack: float
    read: float
    programs: int
    task_bytes: int


def measured(batch: Batch) -> Steps:
    """Take all steps of a check of the batch."""
    times = [time.process_time()]
    graph = ImportGraph(Files(batch.disk, installed=INSTALLED))
    targets = Targets(batch.settings.target_tensorflow, batch.disk)
    prefiltered = prefilter(batch, batch.filenames, targets, graph)
    times.append(time.process_time())
    jobs = split_into_programs(batch, prefiltered, graph, batch.disk)
    times.append(time.process_time())
    step = driver.analyze_program
    sent = [serialize(batch, job, step, expected_snapshot(batch, job)) for job in jobs]
    times.append(time.process_time())
    for data in sent:
        if not isinstance(run_task(this_analyzer(), data), Analysis):
            raise RuntimeError("a program would have to be sent again")
    times.append(time.process_time())
    search, divide, pack, read = (after - before for before, after in itertools.pairwise(times))
    return Steps(search, divide, pack, read, len(jobs), sum(map(len, sent)))


def report(corpus: Path, runs: int) -> Iterator[str]:
    task = driver.discover(driver.Request(Config(jobs=1), frozenset(CODES), (str(corpus),)))
    (batch,) = driver.batches(task, Disk())
    lines = lines_of([Path(filename) for filename in batch.filenames])
    load()
    gc.disable()
    taken = [measured(batch) for _ in range(runs)]
    yield (
        f"Measured on {time.strftime('%Y-%m-%d')}: {len(batch.filenames):,} files, "
        f"{lines:,} lines, {taken[0].programs} programs; medians of {runs} runs."
    )
    yield ""
    yield "| | seconds of a core | a million lines |"
    yield "|---|--:|--:|"
    for name in ("search", "divide", "pack", "read"):
        seconds = statistics.median(getattr(run, name) for run in taken)
        yield f"| {name} | {seconds:.2f} | {seconds / lines * 1e6:.2f} |"
    yield ""
    yield f"The tasks have {taken[0].task_bytes / 1e6:.1f} MB together."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = "\n".join(report(arguments.corpus.resolve(), arguments.runs))
    print(text)
    if arguments.write:
        write(text, BEGIN, END, DOCUMENT)


if __name__ == "__main__":
    main()
