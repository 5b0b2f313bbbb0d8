"""Loops with arrays, several segments and gradients: their marks, and their values."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator

import pytest

from tests.runtime.oracle.building import THEIRS, build
from tests.runtime.oracle.compare import difference
from tests.runtime.oracle.looped import EAGER, LOOPED_MODES, looped
from tests.runtime.oracle.values import difference_of_values

PROGRAMS = int(os.environ.get("TPULINT_FUZZ_PROGRAMS", "200")) // 50
CHUNKS = 5


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("mode", LOOPED_MODES)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_values_are_those_of_plain_calls(mode: str, chunk: int) -> None:
    for seed in range(chunk, PROGRAMS, CHUNKS):
        program = looped(seed, mode)
        assert mode == EAGER or build(program, THEIRS).error is None, program
        actual = difference_of_values(program)
        assert actual is None, f"{program}\n{actual}"


@pytest.mark.parametrize("mode", LOOPED_MODES[:-1])
def test_programs_are_marked_as_tensorflow_marks_them(mode: str) -> None:
    for seed in range(PROGRAMS):
        actual = difference(looped(seed, mode))
        assert actual is None, f"{looped(seed, mode)}\n{actual}"


def test_the_programs_are_not_all_alike() -> None:
    sources = [looped(seed, mode).source for seed in range(50) for mode in LOOPED_MODES]
    for part in ("map_fn", "TensorArray", "recompute_grad", "tf.gradients", "tape", "alone"):
        assert sum(part in source for source in sources) >= 10, part
    assert len(set(sources)) == len(sources)
