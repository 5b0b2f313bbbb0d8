"""Tests from the pages of rules: each program in a page must be reported as its marks say.

A page is a Markdown file whose title is the rule's code and name. Every ```python block in it is
one program: the file `example.py`, or several files where lines `# file: pkg/name.py` start a new
one. A line ends with `# error: ABC101` where a definite finding is expected, and with
`# possible: ABC101` where a possible one is. Nothing else may be reported there, by any rule;
a rule about performance looks at its own page only.

In a test module of a plug-in:

    from tpulint.testing import page_tests

    test_pages = page_tests("src/acme_rules")
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tpulint import plugins
from tpulint.check import driver
from tpulint.codes import SHAPE, codes_by_default, performance_codes
from tpulint.config import Config
from tpulint.finding import Certainty, Finding

MAIN = "example.py"

_MARK = re.compile(rf"#\s*(error|possible|unlikely):\s*({SHAPE}(?:\s*,\s*{SHAPE})*)")
_FILE = re.compile(r"#\s*file:\s*(\S+)\s*$")
_MEANING = re.compile(rf"(?:(runs|raises|warns)( remote)?(?::\s*(\w+)(?:\s+({SHAPE}|-))?)?)?$")
_CERTAINTY = {"error": "definite", "possible": "possible", "unlikely": "unlikely"}


@dataclass(frozen=True, order=True)
class Expected:
    """One finding: the file within the block, its row (1-based), code and certainty."""

    filename: str
    row: int
    code: str
    certainty: str


@dataclass(frozen=True)
class Block:
    """One program of a page: `line` is where its fence opens, `verb` its meaning at run time.

    The runtime tests of tpulint use `verb`, `error` and `rule`: "raises", the class of the error,
    and the code that it carries; and `is_remote`: the TPU is another machine.
    """

    page: str
    line: int
    verb: str
    error: str
    rule: str
    files: dict[str, str]
    is_remote: bool = False

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def uses_runtime(self) -> bool:
        """Return whether it uses the runtime by its own names."""
        return any("tpulint.runtime" in text for text in self.files.values())

    @property
    def own_code(self) -> str:
        """The code of the rule whose page it is on."""
        return self.page.partition("_")[0].upper()

    @property
    def expected(self) -> set[Expected]:
        return {
            Expected(filename, row, code.strip(), _CERTAINTY[mark.group(1)])
            for filename, text in self.files.items()
            for row, line in enumerate(text.splitlines(), 1)
            for mark in _MARK.finditer(line)
            for code in mark.group(2).split(",")
        }


@dataclass(frozen=True)
class Page:
    """One rule's page. `code` and `rule` are those of its title."""

    path: Path
    code: str
    rule: str
    headings: tuple[str, ...]
    blocks: tuple[Block, ...]


# Tests for the pages of a plug-in.


def page_tests(
    directory: str | os.PathLike[str], rules_dirs: Iterable[str | os.PathLike[str]] = ()
) -> Callable[..., None]:
    """Return a test function for pytest, with a case for each program in the pages of `directory`.

    The rules are those of the installed plug-ins, and those in `rules_dirs`.
    """
    import pytest  # no dependency of tpulint: only those who write tests have it

    blocks = [block for page in read_pages(Path(directory)) for block in page.blocks]
    if not blocks:
        raise ValueError(f"{directory}: there is no page with a program")
    directories = tuple(os.path.abspath(path) for path in rules_dirs)

    @pytest.mark.parametrize("block", blocks, ids=[block.name for block in blocks])
    def test_exactly_the_marked_findings_are_reported(block: Block, tmp_path: Path) -> None:
        # Not when the module is imported: other test modules may use other plug-ins.
        plugins.require(plugins.PluginOptions(installed=True, directories=directories))
        assert_marked(block, tmp_path)

    return test_exactly_the_marked_findings_are_reported


def assert_marked(block: Block, folder: Path) -> None:
    """Write the program to `folder`, and fail unless all rules report what its marks expect."""
    assert_same(found_marks(block, folder), block.expected)


def findings(block: Block, folder: Path, wrappers: tuple[str, ...] = ()) -> list[Finding]:
    """Write the program to `folder`, and return every finding of every rule in it."""
    write(block, folder)
    config = Config(root=str(folder), certainty=Certainty.UNLIKELY, jobs=1, wrappers=wrappers)
    codes = codes_by_default() | performance_codes().intersection([block.own_code])
    request = driver.Request(config, codes, (str(folder),))
    result = driver.check(driver.discover(request))
    assert not result.failures, "\n".join(map(str, result.failures))
    places = [(finding.span, finding.code, finding.message) for finding in result.findings]
    assert len(set(places)) == len(places), "a finding is reported twice"
    return list(result.findings)


def found_marks(block: Block, folder: Path, wrappers: tuple[str, ...] = ()) -> list[Expected]:
    """Return the findings as the marks of a page say them."""
    marks = []
    for finding in findings(block, folder, wrappers):
        name = Path(finding.span.filename).relative_to(folder).as_posix()
        row, certainty = finding.span.start.row, finding.certainty.value
        marks.append(Expected(name, row, finding.code, certainty))
    return sorted(marks)


def assert_same(reported: Iterable[Expected], expected: Iterable[Expected]) -> None:
    """Fail where the findings differ, with both side by side."""
    left, right = set(expected), set(reported)
    assert left == right, "\n" + side_by_side(left, right)


def side_by_side(expected: Set[Expected], reported: Set[Expected]) -> str:
    """Return a table of one row per place: what is expected there, and what is reported."""
    rows = [("", "place", "expected", "found")]
    for filename, row in sorted({(mark.filename, mark.row) for mark in expected | reported}):
        left = _at(expected, filename, row)
        right = _at(reported, filename, row)
        rows.append((" " if left == right else ">", f"{filename}:{row}", left, right))
    widths = [max(len(cells[column]) for cells in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()
        for cells in rows
    )


def _at(marks: Set[Expected], filename: str, row: int) -> str:
    here = [mark for mark in marks if (mark.filename, mark.row) == (filename, row)]
    return ", ".join(f"{mark.code} {mark.certainty}" for mark in sorted(here)) or "-"


# Pages and the programs in them.


def read_pages(directory: Path) -> list[Page]:
    """Return all pages in `directory` and below, by name."""
    pages = sorted(directory.rglob("*.md"), key=lambda path: path.name)
    return [
        read_page(path)
        for path in pages
        if re.fullmatch(SHAPE, path.name.partition("_")[0].upper())
    ]


def read_page(path: Path) -> Page:
    """Return the page at `path`; raise ValueError, naming the line, for a malformed one."""
    lines = path.read_text(encoding="utf-8").splitlines()
    title = re.fullmatch(rf"# ({SHAPE}) ([a-z0-9-]+)", lines[0] if lines else "")
    if title is None:
        raise ValueError(f"{path.name}:1: the title is not '# TPU201 nested-outside-compilation'")
    code, rule = title.groups()
    blocks = tuple(
        Block(path.name, line, *_meaning(path, line, info, code), split(body), "remote" in info)
        for line, info, body in fences(path, lines)
        if info.split(" ")[0] == "python"
    )
    return Page(path, code, rule, _headings(lines), blocks)


def split(body: list[str]) -> dict[str, str]:
    """Return the files of a block by name; lines before the first `# file:` are `example.py`."""
    texts: dict[str, list[str]] = {MAIN: []}
    current = MAIN
    for line in body:
        if (opened := _FILE.match(line)) is None:
            texts[current].append(line)
            continue
        current = opened.group(1)
        texts[current] = []
    if not any(line.strip() for line in texts[MAIN]):
        del texts[MAIN]
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def write(block: Block, folder: Path) -> list[str]:
    """Write the block's files and the `__init__.py` of their packages; return all their paths."""
    files = dict(block.files)
    for name in block.files:
        for package in list(PurePosixPath(name).parents)[:-1]:
            files.setdefault(str(package / "__init__.py"), "")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [str(folder / name) for name in sorted(files)]


def fences(path: Path, lines: list[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the line, the info string and the body of every fenced block."""
    opened: tuple[int, str] | None = None
    body: list[str] = []
    for row, line in enumerate(lines, 1):
        if opened is None and line.startswith("```"):
            opened, body = (row, line[3:].strip()), []
        elif opened is not None and line.rstrip() == "```":
            yield opened[0], opened[1], body
            opened = None
        else:
            body.append(line)
    if opened is not None:
        raise ValueError(f"{path.name}:{opened[0]}: the block is not closed")


def _meaning(path: Path, line: int, info: str, code: str) -> tuple[str, str, str]:
    match = _MEANING.match(info.removeprefix("python").strip())
    # Only what runs well names no error.
    if match is None or ((match[1] in ("raises", "warns")) != bool(match[3])):
        raise ValueError(f"{path.name}:{line}: no such meaning: {info!r}")
    rule = "" if match[4] == "-" else match[4] or code
    return match[1] or "", match[3] or "", rule


def _headings(lines: list[str]) -> tuple[str, ...]:
    fenced = False
    headings: list[str] = []
    for line in lines:
        if line.startswith("```"):
            fenced = not fenced
        elif line.startswith("## ") and not fenced:
            headings.append(line[3:].strip())
    return tuple(headings)
