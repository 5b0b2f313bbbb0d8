"""One line of a file as it is written: the rows of its statement, and the names in it."""

from __future__ import annotations

import ast
import io
import keyword
import tokenize

# Statements of which the summary language keeps no place.
UNPLACED = (
    ast.Import
    | ast.ImportFrom
    | ast.Pass
    | ast.Global
    | ast.Nonlocal
    | ast.ClassDef
    | ast.Break
    | ast.Continue
)


def statement_rows(text: str, row: int) -> range | None:
    """Return the rows of the innermost statement at `row`, None where there is none.

    Of a statement with a body, only the rows above the body count.
    """
    found = _statement(text, row)
    if found is None:
        return None
    rows = range(_first(found), _last(found) + 1)
    return rows if row in rows else None


def has_place(text: str, row: int) -> bool:
    """Return whether the summary language knows where the statement at `row` is."""
    found = _statement(text, row)
    if isinstance(found, ast.Expr):
        return not isinstance(found.value, ast.Constant)
    return not isinstance(found, UNPLACED)


def _statement(text: str, row: int) -> ast.stmt | None:
    found: ast.stmt | None = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and _first(node) <= row <= (node.end_lineno or node.lineno):
            found = node  # a walk goes from the outside to the inside
    return found


def function_rows(text: str) -> list[tuple[int, str]]:
    """Return the rows of the functions and their names, in the order of the file."""
    nodes = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return sorted((node.lineno, node.name) for node in nodes)


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _last(node: ast.stmt) -> int:
    """The last row of a statement's head."""
    body: list[ast.stmt] = getattr(node, "body", [])
    if not body:
        return node.end_lineno or node.lineno
    return max(node.lineno, _first(body[0]) - 1)


def dotted_names(text: str, rows: range) -> list[str]:
    """Return the names and dotted names in `rows`, each once, in the order of the text.

    Of `self.total.assign` these are `self`, `self.total` and `self.total.assign`.
    """
    lines = text.splitlines(keepends=True)[rows.start - 1 : rows.stop - 1]
    found: list[str] = []
    before = ""  # the dotted name that ends at the last token
    dot = False
    for token in _tokens("".join(lines).lstrip()):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            before = f"{before}.{token.string}" if dot and before else token.string
            if not dot or "." in before:
                found.append(before)
            dot = False
        elif token.string == ".":
            dot = True
        else:
            before, dot = "", False
    return list(dict.fromkeys(found))


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens of `text` as far as it can be tokenized."""
    found: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            found.append(token)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found
