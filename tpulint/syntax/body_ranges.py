"""The rows of the bodies in a module, and the module without them."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator

from tpulint.syntax.ir import Rows

SHORT = 3  # rows: a shorter body is read at once
LEFT_OUT = "..."
HEADER = "def _():\n"  # before a body that is parsed by itself


def lines_of(text: str) -> list[str]:
    """Return the rows of `text` with their ends, as Python counts rows."""
    return list(io.StringIO(text, newline=""))


def outermost(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions that are in no other function, in source order."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement
            continue
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            for inner in getattr(statement, name, ()):
                within = [inner] if isinstance(inner, ast.stmt) else getattr(inner, "body", [])
                yield from outermost(within)


def body_of(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Rows | None:
    """Return the rows of the body, where it is large and has its rows to itself; else None."""
    start, end = node.body[0], node.body[-1]
    first = min([start.lineno, *(e.lineno for e in getattr(start, "decorator_list", []))])
    last, column = end.end_lineno or 0, end.end_col_offset or 0
    indent = lines[first - 1][: start.col_offset]
    if last - first + 1 < SHORT or indent.strip(" \t"):
        return None
    if lines[last - 1].rstrip("\r\n").endswith("\\"):
        return None
    return first, last, column


def characters(line: str, offset: int) -> int:
    """Return the characters in `offset` bytes of UTF-8, which is what CPython counts."""
    return len(line.encode("utf-8")[:offset].decode("utf-8", "ignore"))


def skeleton(lines: list[str], cuts: list[Rows]) -> str:
    """Return the module with `...` for each body of `cuts`."""
    kept: list[str] = []
    done = 0
    for first, last, _ in cuts:
        kept += lines[done : first - 1]
        line = lines[first - 1]
        kept.append(line[: len(line) - len(line.lstrip(" \t"))] + LEFT_OUT + "\n")
        done = last
    return "".join(kept + lines[done:])
