"""A check on a Dask cluster of this machine, beside one without: seconds by the number of workers.

    python -m benchmarks.cluster CORPUS [--files 25000] [--workers 1 2] [--write]

Each check is a process of its own, without a cache, and must print byte for byte what the first one
prints. The workers are processes that were started and have imported tpulint before. With more of
them than the machine has cores, or than it can spare, no speed is gained. `--write` puts the table
into docs/scale.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import distributed

from benchmarks.analyzer import CHECK, ROOT, grown, lines_of, machine, write
from benchmarks.timing import once

DOCUMENT = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- cluster: written by benchmarks/cluster.py -->", "<!-- end of cluster -->"
OPTIONS = ["--no-cache", "--certainty", "possible", "--output-format", "json"]


class CheckRun(NamedTuple):
    """Seconds from start to end, of a core where it was started, and of a core on the workers."""

    name: str
    seconds: float
    here: float
    there: float = 0.0


class Bench:
    """The checks of one tree; `first` is what the first of them has printed."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self._tree = tree
        self._found = folder / "findings.json"
        self._first: bytes | None = None

    def check(self, name: str, *options: str) -> CheckRun:
        """Run a check. Raises RuntimeError where it prints anything else than the first."""
        command = [*CHECK, *OPTIONS, *options, "-o", str(self._found), str(self._tree)]
        seconds, here, _ = once(command)
        printed = self._found.read_bytes()
        if self._first is None:
            self._first = printed
        if printed != self._first:
            raise RuntimeError(f"{name}: other findings than those of the first check")
        return CheckRun(name, seconds, here)

    def on_cluster(self, workers: int) -> CheckRun:
        with cluster(workers) as client:
            before = busy(client)
            run = self.check(
                f"{workers} worker{'s' * (workers > 1)}", "--scheduler", client.scheduler.address
            )
            return run._replace(there=busy(client) - before)


@contextmanager
def cluster(workers: int) -> Iterator[distributed.Client]:
    """Start a scheduler and worker processes of one thread, as docs/scale.md advises."""
    started = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        scheduler_port=0,
        dashboard_address=None,
    )
    with started, distributed.Client(started) as client:
        client.run(load)
        yield client


def load() -> None:
    """Import what reads a program, on a worker."""
    from tpulint.check.executor import load_analyzer

    load_analyzer()


def busy(client: distributed.Client) -> float:
    """Return the seconds of a core that all workers have computed."""
    computed: dict[str, float] = client.run(time.process_time)
    return sum(computed.values())


def table(runs: Sequence[CheckRun], lines: int) -> Iterator[str]:
    heads = ["", "seconds", "times as fast", "seconds of a core, here", "on the workers"]
    yield f"| {' | '.join([*heads, 'a million lines'])} |"
    yield "|---|--:|--:|--:|--:|--:|"
    for run in runs:
        core = (run.here + run.there) / lines * 1e6
        yield (
            f"| {run.name} | {run.seconds:.1f} | {runs[0].seconds / run.seconds:.2f} "
            f"| {run.here:.1f} | {run.there:.1f} | {core:.1f} |"
        )


def report(corpus: Path, files: int, workers: Sequence[int]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        tree = grown(corpus, files, Path(folder, "tree"))
        lines = lines_of(sorted(tree.rglob("*.py")))
        bench = Bench(tree, Path(folder))
        runs = [
            bench.check("one process", "--jobs", "1"),
            bench.check("all processes of the machine"),
            *map(bench.on_cluster, workers),
        ]
    return "\n".join(
        [
            f"Measured on {time.strftime('%Y-%m-%d')}: {machine()}, distributed "
            f"{distributed.__version__}; one run each.",
            "",
            f"{files:,} files, {lines:,} lines; the workers are on the same machine:",
            "",
            *table(runs, lines),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--files", type=int, default=25_000)
    parser.add_argument("--workers", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = report(arguments.corpus.resolve(), arguments.files, arguments.workers)
    print(text)
    if arguments.write:
        write(text, BEGIN, END, DOCUMENT)


if __name__ == "__main__":
    main()
