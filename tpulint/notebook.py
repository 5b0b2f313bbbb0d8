"""Notebooks: code cells to one Python text and back, as ruff counts cells and rows."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from typing import Any

MARK = "  # magic: "
PYTHON_CELL_MAGICS = {"capture", "debug", "prun", "pypy", "python", "python3", "time", "timeit"}
STATEMENT = re.compile(r"^(\s*)([%!?].*|[\w.]+\?{1,2}\s*)$")
ASSIGNMENT = re.compile(r"^(\s*[\w, .\[\]]+=\s*)([%!].*)$")
STAND_IN = re.compile(rf"(?:pass|None){MARK}")


class BrokenNotebook(Exception):
    """The bytes are no notebook: `reason` in words, at `row` and `column` (1-based)."""

    def __init__(self, reason: str, row: int = 1, column: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.column = column


def read_notebook(data: bytes) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    """Return the code cells as one text, and the (cell number, first row, last row) of each.

    Raises:
        BrokenNotebook: the bytes are no notebook.
    """
    cells = code_cells(load(data))
    texts, spans, row = [], [], 1
    for number, cell in cells:
        text = python_text("".join(cell["source"]))
        rows = text.count("\n") + 1
        texts.append(text + "\n")
        spans.append((number, row, row + rows - 1))
        row += rows
    return "".join(texts), tuple(spans)


def write_notebook(data: bytes, cells: Mapping[int, str]) -> bytes:
    """Return the notebook's bytes with the text of some cells (number -> text) replaced."""
    notebook = load(data)
    for number, cell in code_cells(notebook):
        if number in cells:
            text = "\n".join(restore(line) for line in cells[number].removesuffix("\n").split("\n"))
            was_list = isinstance(cell["source"], list)
            cell["source"] = text.splitlines(keepends=True) if was_list else text
    raw = data.decode("utf-8-sig")
    indent = re.search(r"\n([ \t]+)\"", raw)
    written = json.dumps(notebook, indent=indent.group(1) if indent else None, ensure_ascii=False)
    bom = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    return bom + (written + ("\n" if raw.endswith("\n") else "")).encode()


def restore(line: str) -> str:
    """The line as it is in the notebook."""
    return STAND_IN.sub("", line, count=1)


def load(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        reason = f"the notebook is not JSON: {error.msg}"
        raise BrokenNotebook(reason, error.lineno, error.colno) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise BrokenNotebook(f"the notebook cannot be read: {error}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise BrokenNotebook("the notebook has no list of cells")
    return notebook


def code_cells(notebook: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """The Python cells with their numbers, 1-based over all cells."""
    found = []
    for number, cell in enumerate(notebook["cells"], 1):
        is_code = isinstance(cell, dict) and cell.get("cell_type") == "code"
        if is_code and text_like(cell.get("source")):
            found.append((number, cell))
    return found


def text_like(source: object) -> bool:
    if isinstance(source, Sequence):
        return all(isinstance(part, str) for part in source)
    return False


def python_text(cell: str) -> str:
    """The cell with IPython's own lines made harmless; unchanged where it is plain Python."""
    if "%" not in cell and "!" not in cell and "?" not in cell:
        return cell
    first = cell.lstrip().split("\n", 1)[0].split()
    magic = first[0] if first and first[0].startswith("%%") else None
    if magic is not None and magic.removeprefix("%%") not in PYTHON_CELL_MAGICS:
        return "\n".join(f"pass{MARK}{line}" for line in cell.split("\n"))
    if is_python(cell):
        return cell
    return "\n".join(python_line(line) for line in cell.split("\n"))


def python_line(line: str) -> str:
    statement = STATEMENT.match(line)
    if statement:
        return f"{statement[1]}pass{MARK}{statement[2]}"
    assignment = ASSIGNMENT.match(line)
    return f"{assignment[1]}None{MARK}{assignment[2]}" if assignment else line


def is_python(cell: str) -> bool:
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
