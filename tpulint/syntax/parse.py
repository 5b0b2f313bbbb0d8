"""From text to CPython's tree, or the reason why there is none."""

from __future__ import annotations

import ast
import io
import re
import warnings
from dataclasses import dataclass

NESTED_TOO_DEEPLY = "nested too deeply for Python's own parser"
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")  # those of a statement, in order
MAX_LIBCST_DEPTH = 100  # nodes inside one another
MAX_LIBCST_PATTERN_BRACKETS = 6  # brackets of one `case`


@dataclass(eq=False)
class SyntaxProblem(Exception):
    """The text is no Python that can be read; `row` and `column` are 1-based."""

    reason: str
    row: int
    column: int


def parse(text: str) -> ast.Module:
    """Return the tree of `text`, without warnings about the linted code.

    Raises:
        SyntaxProblem: the running Python cannot parse it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (RecursionError, MemoryError):
        raise SyntaxProblem(NESTED_TOO_DEEPLY, 1, 1) from None
    except SyntaxError as error:
        row, column = error.lineno or 1, max(error.offset or 1, 1)
        if "too many nested" in str(error):
            raise SyntaxProblem(NESTED_TOO_DEEPLY, row, 1) from None
        raise SyntaxProblem(error.msg, row, column) from None
    except ValueError as error:
        raise SyntaxProblem(str(error), 1, 1) from None


def try_parse(text: str) -> ast.Module | None:
    """Return the tree of `text`, or None if it cannot be parsed."""
    try:
        return parse(text)
    except SyntaxProblem:
        return None


def lines_of(text: str) -> list[str]:
    """Return the rows of `text` with their ends, as Python counts rows."""
    return list(io.StringIO(text, newline=""))


def nodes(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree, those around first, without contexts and operators."""
    tree_nodes = [tree]
    for node in tree_nodes:  # it grows meanwhile
        if isinstance(node, (ast.Name, ast.Constant)):  # every other node is one
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                tree_nodes += [part for part in value if isinstance(part, ast.AST) and part._fields]
            elif isinstance(value, ast.AST) and value._fields:
                tree_nodes.append(value)
    return tree_nodes


def blocks(tree: ast.AST) -> list[ast.AST]:
    """Return the statements in a tree with handlers and cases, those around first."""
    tree_nodes = [tree]
    for node in tree_nodes:  # it grows meanwhile
        for field in BLOCKS:
            tree_nodes += getattr(node, field, ())
    return tree_nodes


def nests_deeply(tree: ast.Module, text: str) -> bool:
    """Return whether libcst's parser could overflow the stack, or take hours.

    It is recursive, and its time doubles with each level of a pattern.
    """
    level: list[ast.AST] = [tree]
    for _ in range(MAX_LIBCST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return _patterns_nest_deeply(tree, text)
    return True


def _patterns_nest_deeply(tree: ast.Module, text: str) -> bool:
    """Return whether a pattern has many brackets; CPython's tree does not show all of them."""
    rows = lines_of(text)
    for node in blocks(tree):
        if isinstance(node, ast.Match):
            above = node.subject.end_lineno
            for case in node.cases:
                header = "".join(rows[above : case.pattern.end_lineno])
                if sum(map(header.count, "([{")) > MAX_LIBCST_PATTERN_BRACKETS:
                    return True
                above = case.body[-1].end_lineno
    return False


# Comments and strings, each whole, as none begins inside another. Each begins with its letter:
# then they are searched as fast as letters are.
_NO_CODE = re.compile(
    r"#[^\n]*"
    r"|'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"",
    re.DOTALL,
)
_HOLDS_CODE = re.compile(r"\b(?:[fFtT][rR]?|[rR][fFtT])$")  # before a string


def code_of(text: str) -> str:
    """Return a module's text without comments, and without strings that hold no expressions."""
    return _NO_CODE.sub(_left, text)


def _left(match: re.Match[str]) -> str:
    written = match.group()
    if written.startswith("#"):
        return ""
    begin = match.start()
    return written if _HOLDS_CODE.search(match.string, max(begin - 3, 0), begin) else "''"


def has_name(name: str, text: str) -> bool:
    """Return whether `text` holds `name`, and not only as a part of a longer one."""
    return name in text and re.search(rf"\b{re.escape(name)}\b", text) is not None


def may_set_attribute(name: str, text: str) -> bool:
    """Return whether an attribute `name` may be set in `text`: not only called or gone into."""
    pattern = rf"\.{re.escape(name)}\b(?![ \t]*[(.\[])"
    return f".{name}" in text and re.search(pattern, text) is not None
