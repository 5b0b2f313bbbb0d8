"""The memory of programs that were analyzed is given back seldom, and only between programs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.analysis.reading import program
from tpulint.analysis.domain.events import Computation
from tpulint.analysis.options import Settings
from tpulint.pipeline import collector, executor
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.program_analysis import ProgramAnalysis
from tpulint.pipeline.progress import Progress

JOBS = [Job(("one.py",), (), 1), Job(("two.py",), (), 1)]
PROGRAM = """
import tensorflow as tf

def compute(x):
    return tf.abs(x)

tf.compat.v1.tpu.rewrite(compute, [[1.0]])
"""
BATCH = Batch(("one.py", "two.py"), frozenset(), {}, frozenset(), Settings(), None)


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


def left_by(programs: Any) -> list[bool]:
    """Return for each of the programs whether it is still there when all were analyzed."""
    left: list[weakref.ref[Circle]] = []

    def step(*_: object, **__: object) -> ProgramAnalysis:
        left.append(weakref.ref(Circle()))
        return ProgramAnalysis(Analysis())

    programs(step)
    return [each() is not None for each in left]


def elsewhere(step: Any) -> None:
    executor._begin(BATCH, {})
    for job in JOBS:
        executor._elsewhere(step, job)


def here(step: Any) -> None:
    with executor.ProcessExecutor(BATCH, 1, Progress()) as one:
        list(one.programs(JOBS, step))


@pytest.mark.parametrize("programs", [elsewhere, here])
def test_garbage_of_programs_is_collected_before_the_next_where_it_is_much(
    programs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left_by(programs) == [True, True]
    monkeypatch.setattr(collector, "MANY", -1)
    assert left_by(programs) == [False, True]


@pytest.mark.parametrize(("many", "left"), [(collector.MANY, True), (-1, False)])
def test_a_program_is_taken_apart_where_there_is_much(
    many: int, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_over: list[weakref.ref[Computation]] = []

    def step(*_: object, **__: object) -> ProgramAnalysis:
        found = program(PROGRAM)
        left_over.extend(map(weakref.ref, found.computations))
        return ProgramAnalysis(Analysis(), found)

    monkeypatch.setattr(collector, "MANY", many)
    executor.analyzed(step, BATCH, JOBS[0])
    assert left_over
    assert {each() is not None for each in left_over} == {left}


def test_a_process_that_works_for_another_collects_nothing_by_itself() -> None:
    gc.enable()
    executor._begin(BATCH, {})
    assert not gc.isenabled()
