"""Measures `gs://` under the emulator next to a local directory.

    python -m benchmarks.storage [--write]

`--write` puts the result into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# TensorFlow reads it when it is imported, which is after `tpulint run` has set it.
os.environ.setdefault("GCS_READ_CACHE_BLOCK_SIZE_MB", "4")

import tensorflow as tf

from benchmarks.rows import Row, shown
from tpulint.storage.session import ServedStorage

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- storage: written by benchmarks/storage.py -->", "<!-- end of storage -->"
ROUNDS = 5
LARGEST_RATIO = 3.0
MEGABYTES = 100
FILES = 1000
BUCKET = "gs://bucket"


def seconds_of(work: Callable[[], None]) -> float:
    """Return how long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def start() -> Iterator[Row]:
    """Measure what a program pays that uses no bucket."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        served = ServedStorage(os.devnull)
        opened = time.perf_counter() - begin
        time.sleep(0.5)  # the program runs
        times.append(opened + seconds_of(served.close))
    median = statistics.median(times)
    what = "start and end of a run that uses no bucket"
    yield Row(what, shown(median), "", "", "", "under 50 ms", median < 0.05)


def large_file(folder: str) -> Iterator[Row]:
    """Measure one large file, written and read.

    The ratio is the median of those of the rounds: what else the machine does meets both.
    """
    content = os.urandom(MEGABYTES << 20)

    def there_and_back(path: str) -> None:
        with tf.io.gfile.GFile(path, "wb") as file:
            file.write(content)
        with tf.io.gfile.GFile(path, "rb") as file:
            assert len(file.read()) == len(content)

    paths = (f"{BUCKET}/large", f"{folder}/large")
    rounds = [
        [seconds_of(lambda path=path: there_and_back(path)) for path in paths]  # type: ignore[misc]
        for _ in range(ROUNDS)
    ]
    ratio = statistics.median(ours / theirs for ours, theirs in rounds)
    ours, theirs = (statistics.median(times) for times in zip(*rounds))
    yield Row(
        f"{MEGABYTES} MB written and read",
        shown(ours),
        "a local directory",
        shown(theirs),
        f"{ratio:.2f}",
        f"at most {LARGEST_RATIO}",
        ratio <= LARGEST_RATIO,
    )


def small_files(folder: str) -> Iterator[Row]:
    """Measure many small files, listed and read, and the size of one that is asked for."""
    for number in range(FILES):
        with tf.io.TFRecordWriter(f"{folder}/{number:04}.tfrecord") as writer:
            writer.write(b"x" * 100)

    def read_all() -> None:
        files = tf.io.gfile.glob(f"{BUCKET}/small/*.tfrecord")
        records = tf.data.TFRecordDataset(files)
        assert int(records.reduce(0, lambda count, _: count + 1)) == FILES

    seconds = statistics.median(seconds_of(read_all) for _ in range(3))
    what = f"{FILES:,} small TFRecord files listed and read"
    yield Row(what, shown(seconds), "", "", "", "under 10 s", seconds < 10)
    for number in range(200):  # TensorFlow remembers what it has asked for
        Path(folder, f"{number}.txt").touch()
    paths = [f"{BUCKET}/small/{number}.txt" for number in range(200)]
    stat = statistics.median(
        seconds_of(lambda path=path: tf.io.gfile.stat(path))  # type: ignore[misc]
        for path in paths
    )
    yield Row("a stat", shown(stat), "", "", "", "under 15 ms", stat < 0.015)


def report() -> str:
    """Return all figures as a Markdown table."""
    lines = [
        f"TensorFlow {tf.__version__}, {os.cpu_count()} cores.",
        "",
        "| what | time | compared with | time | ratio | goal | |",
        "|---|---:|---|---:|---:|---|---|",
    ]
    rows = [*start()]
    with tempfile.TemporaryDirectory() as folder:
        served = ServedStorage(f"{folder}/storage")
        rows += large_file(folder)
        os.makedirs(f"{folder}/storage/bucket/small")
        rows += small_files(f"{folder}/storage/bucket/small")
        served.close()
    for row in rows:
        cells = (row.what, row.ours, row.compared_with, row.theirs, row.ratio, row.goal)
        lines.append(f"| {' | '.join(cells)} | {'met' if row.met else '**missed**'} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    options = parser.parse_args()
    text = report()
    print(text)
    if options.write:
        before, begin, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        DOCUMENT.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
