"""The tests mirror the tree: a folder of tests has the name of the package that it tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# The folders of tests, the package that each mirrors, and the folders there that mirror none.
TREES = {
    "unit": ("tpulint", {"repository", "output/goldens"}),
    "runtime": (
        "tpulint/runtime",
        {
            *("oracle", "ordinary", "ordinary/estimator", "ordinary/programs"),
            *("run", "run/in_buckets"),
        },
    ),
}


@pytest.mark.parametrize("tests", TREES)
def test_each_folder_of_tests_is_a_package(tests: str) -> None:
    package, others = TREES[tests]
    folders = {
        path.parent.relative_to(ROOT / "tests" / tests).as_posix()
        for path in (ROOT / "tests" / tests).rglob("*.*")
        if "__pycache__" not in path.parts
    }
    assert {
        folder for folder in folders - others if not (ROOT / package / folder).is_dir()
    } == set()
    assert others <= folders


@pytest.mark.parametrize("stage", ["mark", "extract", "schedule", "execute"])
def test_each_stage_of_the_runtime_has_tests(stage: str) -> None:
    assert list((ROOT / "tests" / "runtime" / stage).glob("test_*.py"))
