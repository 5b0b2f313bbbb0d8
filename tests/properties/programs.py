"""Programs of the rules' pages, and ways to write the same program differently."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tests.reading import read_program
from tests.rules.pages import pages
from tpulint import rules
from tpulint.codes import CODES
from tpulint.finding import Finding

ROOT = "/program"
Files = dict[str, str]

BLOCKS: list[Files] = [block.files for page in pages() for block in page.blocks]
# Parameters that TPUEstimator passes by their names, and what Python passes by position.
SPOKEN = frozenset(["self", "cls", "mode", "params", "config", "hparams", "features", "labels"])


def is_valid(files: Files) -> bool:
    """Return whether Python can parse all of it."""
    try:
        for name, text in files.items():
            ast.parse(text, name)
    except SyntaxError:
        return False
    return True


def findings_in(files: Files) -> list[Finding]:
    """Return the findings in `files`; an internal error of the interpreter fails the test."""
    contents = {f"{ROOT}/{name}": text.encode() for name, text in files.items()}
    for name in files:
        for depth in range(1, name.count("/") + 1):
            package = "/".join(name.split("/")[:depth])
            contents.setdefault(f"{ROOT}/{package}/__init__.py", b"")
    read = read_program(list(contents), unsaved=contents)
    if read.program is None:  # nothing in it shows the seam
        return list(read.findings)
    assert not read.program.failures
    return [*read.findings, *rules.run(read.program, frozenset(CODES))]


def shown(findings: Iterable[Finding]) -> Counter[tuple[str, str, str]]:
    """Findings without their places."""
    return Counter((item.span.filename, item.code, item.certainty.value) for item in findings)


def renamed(files: Files, suffix: str) -> Files:
    """Every local name and parameter that means nothing to others gets `suffix`."""
    names = _locals(files.values()) - SPOKEN
    return {name: _with_suffix(text, names, suffix) for name, text in files.items()}


def _locals(texts: Iterable[str]) -> set[str]:
    """Names that functions bind and that are nowhere an attribute, keyword or global."""
    local: set[str] = set()
    public: set[str] = set()
    for text in texts:
        tree = ast.parse(text)
        public |= {name for statement in tree.body for name in _bound(statement)}
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                local.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                local.add(node.id)
            elif isinstance(node, ast.Attribute):
                public.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg is not None:
                public.add(node.arg)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                public.add(node.name)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                public |= set(node.module.split("."))
                public |= {
                    name for alias in node.names for name in (alias.name, alias.asname or "")
                }
            elif isinstance(node, ast.alias):
                public |= set(node.name.split(".")) | {node.asname or ""}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                public.add(node.value)
    return local - public


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement of a module binds there."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _with_suffix(text: str, names: set[str], suffix: str) -> str:
    def written(match: re.Match[str]) -> str:
        return match[0] + suffix if match[0] in names else match[0]

    return "".join(
        re.sub(r"\w+", written, line) if not line.lstrip().startswith("#") else line
        for line in text.splitlines(keepends=True)
    )


def indented(text: str, width: int) -> str:
    """The text with `width` blanks for one step of indentation, in place of four."""
    lines = []
    for line in text.splitlines(keepends=True):
        blanks = len(line) - len(line.lstrip(" "))
        lines.append(" " * (blanks * width // 4) + line.lstrip(" "))
    return "".join(lines)


def unparsed(text: str) -> str:
    """The text as Python itself would lay it out, its comments gone."""
    return ast.unparse(ast.parse(text)) + "\n"


def spaced(text: str, rows: Mapping[int, str]) -> tuple[str, dict[int, int]]:
    """The text with lines put before some of its logical lines, and where its rows went."""
    starts = logical_rows(text)
    out: list[str] = []
    moved: dict[int, int] = {}
    for row, line in enumerate(text.splitlines(keepends=True), 1):
        if row in starts and row in rows:
            out.append(rows[row] + "\n")
        moved[row] = len(out) + 1
        out.append(line)
    return "".join(out), moved


def logical_rows(text: str) -> set[int]:
    """The rows on which a logical line starts."""
    rows: set[int] = set()
    fresh = True
    layout = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in layout:
            continue
        if fresh:
            rows.add(token.start[0])
        fresh = token.type == tokenize.NEWLINE
    return rows
