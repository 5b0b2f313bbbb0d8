"""Notebooks: code cells to one Python text and back, as ruff counts cells and rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tpulint.source import BOM, Source, UnreadableSource

MARK = "  # magic: "
PYTHON_CELL_MAGICS = {"capture", "debug", "prun", "pypy", "python", "python3", "time", "timeit"}
STATEMENT = re.compile(r"^(\s*)([%!?].*|[\w.]+\?{1,2}\s*)$")
ASSIGNMENT = re.compile(r"^(\s*[\w, .\[\]]+=\s*)([%!].*)$")
STAND_IN = re.compile(rf"(?:pass|None){MARK}")


def read_notebook(filename: str, data: bytes) -> Source:
    """The code cells of a notebook as one text. Raises UnreadableSource where it is no notebook."""
    cells = code_cells(load(data))
    texts, spans, row = [], [], 1
    for number, cell in cells:
        text = python_text("".join(cell["source"]))
        rows = text.count("\n") + 1
        texts.append(text + "\n")
        spans.append((number, row, row + rows - 1))
        row += rows
    return Source(filename, data, "".join(texts), tuple(spans))


def write_notebook(source: Source, cells: Mapping[int, str]) -> bytes:
    """The notebook's bytes with the text of some cells (number -> text) replaced."""
    notebook = load(source.data)
    for number, cell in code_cells(notebook):
        if number in cells:
            text = "\n".join(restore(line) for line in cells[number].removesuffix("\n").split("\n"))
            was_list = isinstance(cell["source"], list)
            cell["source"] = text.splitlines(keepends=True) if was_list else text
    raw = source.data.decode("utf-8-sig")
    indent = re.search(r"\n([ \t]+)\"", raw)
    written = json.dumps(notebook, indent=indent.group(1) if indent else None, ensure_ascii=False)
    bom = BOM if source.data.startswith(BOM) else b""
    return bom + (written + ("\n" if raw.endswith("\n") else "")).encode()


def restore(line: str) -> str:
    """The line as it is in the notebook."""
    return STAND_IN.sub("", line, count=1)


def load(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        reason = f"the notebook is not JSON: {error.msg}"
        raise UnreadableSource(reason, error.lineno, error.colno) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise UnreadableSource(f"the notebook cannot be read: {error}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise UnreadableSource("the notebook has no list of cells")
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
