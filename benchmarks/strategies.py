"""Training under a TPUStrategy on the emulated TPU, beside MirroredStrategy on virtual CPU devices.

Each run is a process of its own (strategy_program.py); the two strategies take turns.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rows import Row, compared

ROOT = Path(__file__).parents[1]
REPLICAS = 8
ROUNDS = 1  # a step is the median of ten in each run
SECONDS = 900
NAMES = {"resnet": "ResNet-20 on 32x32 images", "transformer": "a transformer of 4 layers"}


def measured(
    model: str, strategy: str, replicas: int, hosts: int = 1, *, as_processes: bool = False
) -> dict[str, float]:
    """Return the figures of one run, as strategy_program.py prints them.

    With `as_processes`, the hosts are processes that only loopback connects.
    """
    more = [str(replicas), str(hosts), *(["as_processes"] if as_processes else [])]
    alone = [str(ROOT / "scripts" / "loopback.py")] if as_processes else []
    command = [sys.executable, *alone, "-m", "benchmarks.strategy_program", model, strategy, *more]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    data: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return data


def training() -> Iterator[Row]:
    """Measure the steps of two models, each beside the same program under MirroredStrategy."""
    beside = f"MirroredStrategy on {REPLICAS} virtual CPU devices"
    for model, name in NAMES.items():
        runs = [
            (measured(model, "tpu", REPLICAS), measured(model, "mirrored", REPLICAS))
            for _ in range(ROUNDS)
        ]
        for key, what, limit in (("step", "a step", 1.0), ("first", "the first step", 2.0)):
            ours, theirs = (statistics.median(run[key] for run in side) for side in zip(*runs))
            text = f"{what} of {name}, {REPLICAS} replicas"
            yield compared(text, ours, theirs, beside, limit)


def many_replicas() -> Iterator[Row]:
    """Measure the first step of a program of which nearly all is what each replica costs."""
    eight, many, most = (measured("sums", "tpu", count) for count in (8, 64, 256))
    what = "the first step under TPUStrategy, 64 replicas"
    yield compared(what, many["first"], 8 * eight["first"], "eight times that of 8 replicas", 1.2)
    seconds, gigabytes = most["first"], most["gigabytes"]
    what = "the first step under TPUStrategy, 256 replicas"
    yield Row(what, f"{seconds:.1f} s", "", "", "", "under 60 s", seconds < 60)
    yield Row("its peak memory", f"{gigabytes:.2f} GB", "", "", "", "under 4 GB", gigabytes < 4)


def pods() -> Iterator[Row]:
    """Measure a step of the transformer, the replicas on one host and on several."""
    alone = measured("transformer", "tpu", REPLICAS)
    for as_processes, limit in ((False, 1.2), (True, 2.5)):
        for hosts in (2, 4):
            seconds = measured("transformer", "tpu", REPLICAS, hosts, as_processes=as_processes)
            what = f"a step of {NAMES['transformer']}, {REPLICAS} replicas on {hosts} hosts"
            what += ", each a process" * as_processes
            yield compared(what, seconds["step"], alone["step"], "on one host", limit)
