"""TensorFlow's Python is the oracle: generated programs leave the same graph or the same error."""

from __future__ import annotations

import logging
import os
import warnings
from collections import Counter

import pytest

from tests.runtime.oracle.building import THEIRS, build
from tests.runtime.oracle.compare import difference
from tests.runtime.oracle.programs import MODES, program
from tests.runtime.oracle.values import difference_of_values

PROGRAMS = int(os.environ.get("TPULINT_FUZZ_PROGRAMS", "200"))
CHUNKS = 20


@pytest.fixture(autouse=True)
def quiet() -> object:
    """Silence TensorFlow's many warnings of these programs."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs_are_marked_as_tensorflow_marks_them(chunk: int) -> None:
    for seed in range(chunk, PROGRAMS, CHUNKS):
        actual = difference(program(seed))
        assert actual is None, f"{program(seed)}\n{actual}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_values_are_those_of_plain_calls(chunk: int) -> None:
    for seed in range(chunk, PROGRAMS // 10, CHUNKS):
        actual = difference_of_values(program(seed, pure=True))
        assert actual is None, f"{program(seed, pure=True)}\n{actual}"


def test_a_program_is_its_seed() -> None:
    assert [program(seed).source for seed in range(50)] == [
        program(seed).source for seed in range(50)
    ]


def test_the_programs_are_not_all_alike() -> None:
    """Enough of them build, of each mode, and enough fail, in many ways."""
    programs = [program(seed) for seed in range(100)]
    errors = [build(case, THEIRS).error for case in programs]
    built = Counter(case.mode for case, error in zip(programs, errors, strict=True) if not error)
    assert all(built[mode] >= 13 for mode in MODES), built
    kinds = {(type(error), str(error)[:20]) for error in errors if error}
    assert len(kinds) >= 15, kinds
