"""Check programs written in tests, and compare their findings with their marks."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from textwrap import dedent

from tpulint import testing
from tpulint.finding import Finding
from tpulint.testing import Block, Expected, findings, found_marks, split


def program(text: str) -> Block:
    """A program as it would be in a page; all its lines may be indented."""
    return Block("test", 0, "", "", "", split(dedent(text).strip("\n").split("\n")))


def reported(
    text: str, folder: Path, families: Collection[str], wrappers: tuple[str, ...] = ()
) -> list[Expected]:
    """Return the findings of the rules whose codes start with one of `families`."""
    actual = found_marks(program(text), folder, wrappers)
    return [item for item in actual if item.code.startswith(tuple(families))]


def certainties(text: str, folder: Path, code: str) -> list[str]:
    """Return the certainty of each finding of one rule, in the order of their places."""
    return [finding.certainty for finding in reported(text, folder, [code])]


def expected(text: str, families: Collection[str]) -> list[Expected]:
    """Return the findings that the marks of `text` expect of these families."""
    marks = program(text).expected
    return sorted(mark for mark in marks if mark.code.startswith(tuple(families)))


def assert_marked(text: str, folder: Path) -> None:
    """Fail unless all rules together report exactly what the marks of `text` expect."""
    testing.assert_marked(program(text), folder)


def messages(text: str, folder: Path, code: str) -> list[tuple[str, str]]:
    """Return the message of each finding of one rule, and the last step of its trace or ""."""
    actual = [finding for finding in findings(program(text), folder) if finding.code == code]
    return [(item.message, item.trace[-1].message if item.trace else "") for item in actual]


def source_of(finding: Finding) -> str:
    """Return the source that a finding of one row covers."""
    lines = Path(finding.span.filename).read_text(encoding="utf-8").split("\n")
    return lines[finding.span.start.row - 1][
        finding.span.start.column - 1 : finding.span.end.column - 1
    ]
