"""From text to a libcst tree, or a clear word why not."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from tpulint.syntax.deep_stack import deeply
from tpulint.syntax.light_nodes import NotParsed, cst
from tpulint.syntax.tree import tree_of

LARGE = 200_000  # characters
LONG_LINE = 1_000  # characters
MANY = 200  # branches, each inside the one before
DEEP = 40  # brackets, those in strings and comments included
DEEP_PATTERN = 8  # brackets, where there is a `case` that they may be in
CASE = re.compile(r"^[ \t]*case\b", re.MULTILINE)
CHAIN = 1_000  # operators, attributes or calls on one another: libcst's time grows as the square
_BRACKETS = b"()[]{}"
_ROUND = bytes.maketrans(b"[]{}", b"()()")
_OTHERS = bytes(set(range(256)) - set(_BRACKETS))
NESTED_TOO_DEEPLY = "nested too deeply for Python's own parser"


@dataclass(eq=False)
class SyntaxProblem(Exception):
    """The text is no Python that can be read; `row` and `column` are 1-based."""

    reason: str
    row: int
    column: int


def parse(text: str) -> cst.Module:
    """The tree of `text`.

    Raises:
        SyntaxProblem: it cannot be parsed. Nesting that breaks CPython's parser is
            refused before libcst sees it, whose native parser would kill the process,
            and so are patterns for which libcst's would need hours.
    """
    if may_nest_patterns(text):
        raise SyntaxProblem(*(_refused_by_python(text) or (NESTED_TOO_DEEPLY, 1, 1)))
    if may_nest_deeply(text):
        refuse_deep_nesting(text)
    try:
        return tree_of(text)
    except NotParsed:
        raise _problem(text) from None
    except RecursionError:
        raise SyntaxProblem(NESTED_TOO_DEEPLY, 1, 1) from None


def may_nest_deeply(text: str) -> bool:
    """Return whether the text can be too deep: CPython answers in a tenth of the parse."""
    if len(text) > LARGE or max(map(len, text.splitlines()), default=0) > LONG_LINE:
        return True
    if text.count("elif ") > MANY:
        return True
    return _brackets_nest(text)


def may_nest_patterns(text: str) -> bool:
    """Return whether a pattern may be so deep that libcst, whose time doubles each level, hangs."""
    return CASE.search(text) is not None and _brackets_nest(text, DEEP_PATTERN)


def _brackets_nest(text: str, limit: int = DEEP) -> bool:
    """Return whether more brackets are open at once, or may be: some have no partner."""
    brackets = text.encode(errors="replace").translate(_ROUND, _OTHERS)
    depth = 0
    while depth <= limit and b"()" in brackets:
        brackets = brackets.replace(b"()", b"")
        depth += 1
    return depth + brackets.count(b"(") > limit


def refuse_deep_nesting(text: str) -> None:
    """Raise `SyntaxProblem` where CPython's own parser gives up for depth, or libcst would."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (RecursionError, MemoryError):
        raise SyntaxProblem(NESTED_TOO_DEEPLY, 1, 1) from None
    except (SyntaxError, ValueError) as error:
        if "too many nested" in str(error):
            raise SyntaxProblem(NESTED_TOO_DEEPLY, getattr(error, "lineno", 1) or 1, 1) from None
        return
    row = too_deep(tree)
    if row is not None:
        raise SyntaxProblem(NESTED_TOO_DEEPLY, row, 1)


def too_deep(tree: ast.AST) -> int | None:
    """The row of a statement with more than `CHAIN` nodes inside one another, if there is one."""
    stack: list[tuple[ast.AST, int, int]] = [(tree, 1, 0)]
    while stack:
        node, row, depth = stack.pop()
        row, depth = (node.lineno, 0) if isinstance(node, ast.stmt) else (row, depth + 1)
        if depth > CHAIN:
            return row
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                stack += [(each, row, depth) for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                stack.append((value, row, depth))
    return None


def _problem(text: str) -> SyntaxProblem:
    """CPython's words and place where it has any (they name Python 2's print), else libcst's."""
    refused = _refused_by_python(text)
    if refused is not None and refused[1]:
        return SyntaxProblem(*refused)
    error = _refusal(text)  # tabs and spaces in one indent, for instance
    words = f"Python can read this file, but libcst cannot: {error.message.splitlines()[0]}"
    reason = refused[0] if refused is not None else words
    return SyntaxProblem(reason, error.raw_line, error.raw_column + 1)


def _refused_by_python(text: str) -> tuple[str, int, int] | None:
    """Return CPython's reason, row and column, where it refuses the text; row 0 if it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as known:
        return str(known.msg), known.lineno or 1, max(known.offset or 1, 1)
    except ValueError as known:
        return str(known), 0, 0
    return None


def _refusal(text: str) -> cst.ParserSyntaxError:
    """Return libcst's own error."""
    import libcst

    try:
        deeply(lambda: libcst.parse_module(text))
    except libcst.ParserSyntaxError as error:
        return error
    raise AssertionError("libcst takes a text that its parser has refused")
