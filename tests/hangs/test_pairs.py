"""The pairs of the hang benchmark: what each is, and what the analyzer says of it."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.hangs.measure import CODES, FAULT, PROGRAMS, TWIN, Pair, Result, analyze, read_pairs

PAIRS = read_pairs()
MAX_CHANGED_LINES = 20


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return analyze(PAIRS)


def lines(folder: Path) -> list[str]:
    files = sorted(folder.glob("*.py"))
    return [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]


def test_there_are_a_hundred_pairs_and_each_has_its_row() -> None:
    assert len(PAIRS) == 100
    assert sorted(pair.name for pair in PAIRS) == sorted(path.name for path in PROGRAMS.iterdir())
    assert {pair.category for pair in PAIRS} == set(CODES)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_twin_is_a_small_edit_away(pair: Pair) -> None:
    fault, twin = (lines(PROGRAMS / pair.name / side) for side in (FAULT, TWIN))
    changed = [line for line in difflib.ndiff(fault, twin) if line.startswith(("-", "+"))]
    assert 0 < len(changed) <= MAX_CHANGED_LINES


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_analyzer_says_what_the_table_says(pair: Pair, results: dict[str, Result]) -> None:
    assert results[pair.name] == Result(pair.analyzer, "")
