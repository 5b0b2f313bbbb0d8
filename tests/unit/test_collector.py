"""The memory of programs that were analyzed is given back seldom, and only between programs."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tpulint import collector
from tpulint.check import executor
from tpulint.check.progress import Progress
from tpulint.disk import Disk
from tpulint.frontends.settings import Settings
from tpulint.incremental.model import Analysis, Batch, FileFailure, Job
from tpulint.worker_pool import worker_pool

JOBS = [Job(("one.py",), (), 1), Job(("two.py",), (), 1)]
BATCH = Batch(("one.py", "two.py"), frozenset(), Disk(), frozenset(), Settings())


class Circle:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """The collector as it was."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    yield
    (gc.enable if enabled else gc.disable)()


def left_by(analyze: Any) -> list[bool]:
    """Return for each of the programs whether it is still there when all were analyzed."""
    left: list[weakref.ref[Circle]] = []

    def step(*_: object) -> Analysis:
        left.append(weakref.ref(Circle()))
        return Analysis()

    analyze(step)
    return [reference() is not None for reference in left]


def elsewhere(step: Any) -> None:
    executor._begin(BATCH)
    for job in JOBS:
        executor._analyze_in_worker(step, job)


def here(step: Any) -> None:
    with executor.LocalWorkers(BATCH, 1, Progress()) as workers:
        list(workers.analyze(step, JOBS))


@pytest.mark.parametrize("analyze", [elsewhere, here])
def test_garbage_of_programs_is_collected_before_the_next_where_it_is_much(
    analyze: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left_by(analyze) == [True, True]
    monkeypatch.setattr(collector, "MAX_UNCOLLECTED_OBJECTS", -1)
    assert left_by(analyze) == [False, True]


LARGE = Job(("one.py",), (), executor.MIN_FILES_FOR_PROCESS)


def tell_process(batch: Batch, job: Job) -> Analysis:
    return Analysis(failures=(FileFailure(job.seeds[0], str(os.getpid())),))


def end_process(batch: Batch, job: Job) -> Analysis:
    os._exit(1)


def test_what_is_left_of_a_large_program_ends_with_its_process() -> None:
    executor._begin(BATCH)
    assert executor._analyze_in_worker(tell_process, JOBS[0]) == tell_process(BATCH, JOBS[0])
    elsewhere = executor._analyze_in_worker(tell_process, LARGE)
    assert elsewhere is not None
    assert elsewhere.failures[0].reason != str(os.getpid())


def test_a_large_program_whose_process_dies_is_analyzed_again() -> None:
    executor._begin(BATCH)
    assert executor._analyze_in_worker(end_process, LARGE) is None
    with executor.LocalWorkers(BATCH, 2, Progress()) as workers:
        workers._start(1)
        ((_, analysis),) = workers.analyze(end_process, [LARGE])
    assert analysis.failures == (FileFailure("one.py", executor.KILLED),)


def test_a_process_that_works_for_another_collects_nothing_by_itself() -> None:
    gc.enable()
    executor._begin(BATCH)
    assert not gc.isenabled()


class Guarded(Circle):
    """As TensorFlow's functions: only the process that made it may end it."""

    def __init__(self, ended: Path) -> None:
        super().__init__()
        self.ended = ended

    def __del__(self) -> None:
        self.ended.joinpath(str(os.getpid())).touch()


def collect() -> int:
    gc.collect()
    return os.getpid()


def test_a_worker_leaves_the_garbage_of_its_parent_alone(tmp_path: Path) -> None:
    # The garbage collector crashed in a worker of a notebook that had traced functions.
    Guarded(tmp_path)
    with worker_pool(1) as pool:
        assert pool.submit(collect).result(timeout=60) != os.getpid()
    assert list(tmp_path.iterdir()) == []
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == [str(os.getpid())]
