"""Check programs written in tests, and compare their findings with their marks."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from textwrap import dedent

from tests.rules.comparison import assert_same
from tests.rules.pages import Block, Expected, split, write
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Certainty, Finding
from tpulint.pipeline import driver


def program(text: str) -> Block:
    """A program as it would be in a page; all its lines may be indented."""
    return Block("test", 0, "", "", "", split(dedent(text).strip("\n").split("\n")))


def findings(block: Block, folder: Path, wrappers: tuple[str, ...] = ()) -> list[Finding]:
    """Every finding of every rule in the block's files."""
    write(block, folder)
    config = Config(root=str(folder), certainty=Certainty.POSSIBLE, jobs=1, wrappers=wrappers)
    request = driver.Request(config, frozenset(CODES), (str(folder),))
    run = driver.check(driver.discover(request))
    assert not run.failures, run.failures
    places = [(each.span, each.code, each.message) for each in run.findings]
    assert len(set(places)) == len(places), "a finding is reported twice"
    return list(run.findings)


def found_marks(block: Block, folder: Path, wrappers: tuple[str, ...] = ()) -> list[Expected]:
    """The same, as the marks of a page say it."""
    return sorted(
        Expected(
            Path(each.span.filename).relative_to(folder).as_posix(),
            each.span.start.row,
            each.code,
            each.certainty.value,
        )
        for each in findings(block, folder, wrappers)
    )


def reported(
    text: str, folder: Path, families: Collection[str], wrappers: tuple[str, ...] = ()
) -> list[Expected]:
    """Return the findings of the rules whose codes start with one of `families`."""
    found = found_marks(program(text), folder, wrappers)
    return [each for each in found if each.code.startswith(tuple(families))]


def certainties(text: str, folder: Path, code: str) -> list[str]:
    """Return the certainty of each finding of one rule, in the order of their places."""
    return [each.certainty for each in reported(text, folder, [code])]


def expected(text: str, families: Collection[str]) -> list[Expected]:
    """Return the findings that the marks of `text` expect of these families."""
    marks = program(text).expected
    return sorted(mark for mark in marks if mark.code.startswith(tuple(families)))


def assert_marked(text: str, folder: Path) -> None:
    """Fail unless all rules together report exactly what the marks of `text` expect."""
    block = program(text)
    assert_same(found_marks(block, folder), block.expected)


def messages(text: str, folder: Path, code: str) -> list[tuple[str, str]]:
    """Return the message of each finding of one rule, and the last step of its trace or ""."""
    found = [each for each in findings(program(text), folder) if each.code == code]
    return [(each.message, each.trace[-1].message if each.trace else "") for each in found]


def source_of(found: Finding) -> str:
    """Return the source that a finding of one row covers."""
    lines = Path(found.span.filename).read_text(encoding="utf-8").split("\n")
    return lines[found.span.start.row - 1][found.span.start.column - 1 : found.span.end.column - 1]
