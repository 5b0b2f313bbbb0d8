"""Seconds of a core for each step of a check on a cluster, all in this process.

    python -m benchmarks.steps CORPUS [--runs 3] [--write]

Nothing is sent: each program is packed, and read from its parcel as a worker reads it. `--write`
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
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline import driver
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch
from tpulint.pipeline.parcel import packed, read_parcel, recorded, this_analyzer

BEGIN, END = "<!-- steps: written by benchmarks/steps.py -->", "<!-- end of steps -->"


class Steps(NamedTuple):
    """Seconds of a core, by step; `parcels` are the bytes of all of them."""

    search: float
    divide: float
    pack: float
    read: float
    programs: int
    parcels: int


def measured(batch: Batch) -> Steps:
    """Take all steps of a check of the batch."""
    times = [time.process_time()]
    graph = ImportGraph(Files({}, installed=INSTALLED))
    prefiltered = driver.prefilter_files(batch, batch.filenames, graph=graph)
    times.append(time.process_time())
    jobs = driver.divide_files(batch, prefiltered, graph)
    times.append(time.process_time())
    step = driver.analyze_program
    parcels = [packed(batch, job, step, recorded(batch, job).answers) for job in jobs]
    times.append(time.process_time())
    for each in parcels:
        if not isinstance(read_parcel(this_analyzer(), each), Analysis):
            raise RuntimeError("a program would have to be sent again")
    times.append(time.process_time())
    search, divide, pack, read = (after - before for before, after in itertools.pairwise(times))
    return Steps(search, divide, pack, read, len(jobs), sum(map(len, parcels)))


def report(corpus: Path, runs: int) -> Iterator[str]:
    task = driver.discover(driver.Request(Config(jobs=1), frozenset(CODES), (str(corpus),)))
    (batch,) = driver.batches(task, {})
    lines = lines_of([Path(each) for each in batch.filenames])
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
        seconds = statistics.median(getattr(each, name) for each in taken)
        yield f"| {name} | {seconds:.2f} | {seconds / lines * 1e6:.2f} |"
    yield ""
    yield f"The parcels have {taken[0].parcels / 1e6:.1f} MB together."


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
