"""Each report from the field is shown by a program that is reported, and by a silent twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import found_marks
from tests.rules.reports import Report, read, reports
from tpulint.codes import CODES
from tpulint.testing import assert_same

REPORTS = reports()
SHOWN = [report for report in REPORTS if report.faulty]


def name(report: Report) -> str:
    return f"{report.number}-{'-'.join(report.codes)}"


each_shown = pytest.mark.parametrize("report", SHOWN, ids=name)


@each_shown
def test_the_fault_is_reported_and_nothing_else(report: Report, tmp_path: Path) -> None:
    assert report.faulty is not None
    assert_same(found_marks(report.faulty, tmp_path), report.faulty.expected)


@each_shown
def test_the_corrected_twin_is_silent(report: Report, tmp_path: Path) -> None:
    assert report.twin is not None
    assert found_marks(report.twin, tmp_path) == []


@each_shown
def test_both_programs_are_python_and_differ_little(report: Report) -> None:
    assert report.faulty is not None
    assert report.twin is not None
    assert report.codes
    assert set(report.codes) <= set(CODES)
    for block in (report.faulty, report.twin):
        for file, text in block.files.items():
            if file.endswith(".py"):
                compile(text, f"{block.name}:{file}", "exec", dont_inherit=True)
    faulty, twin = (
        {line for text in block.files.values() for line in text.splitlines()}
        for block in (report.faulty, report.twin)
    )
    assert faulty != twin
    assert len(twin - faulty) <= 11


def test_every_report_is_listed_once_and_most_have_a_program() -> None:
    numbers = [report.number for report in REPORTS]
    assert numbers[:74] == list(range(1, 75))
    # Those of the second collection have the number that they had there, and 100; those of the
    # third begin at 201, those of the fourth at 301.
    assert all(100 < number < 400 for number in numbers[74:])
    assert len(set(numbers)) == len(numbers)
    assert len(SHOWN) >= 60


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("# R1 One\n\n## one a/b#1\n- said: x\n- pattern: y\n- silent: z\n", "no number"),
        ("# R1 One\n\n## 1 a/b#1\n- said: x\n- silent: z\n", "no number"),
        ("# R1 One\n\n## 1 a/b#1\n- said: x\n- pattern: y\n", "neither"),
        ("# R1 One\n\n## 1 a/b#1\n- said: x\n- pattern: y\n- silent: z\n```diff\n```\n", "both"),
    ],
)
def test_a_malformed_report_is_refused_with_its_line(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "r1_one.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"r1_one.md:3: .*{word}"):
        list(read(path))
