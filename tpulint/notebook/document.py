"""Notebooks: code cells to one Python text and back, as ruff counts cells and rows."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tpulint.notebook.cells import is_python, passed_over, python_cell, restored

SURROGATE = re.compile("[\ud800-\udfff]")
LONE = ("a cell holds half of a character: a lone surrogate", 1, 1)


class BrokenNotebook(Exception):
    """The bytes are no notebook: `reason` in words, at `row` and `column` (1-based)."""

    def __init__(self, reason: str, row: int = 1, column: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.column = column


class NotebookText(NamedTuple):
    """The code cells of a notebook as one Python text.

    cells: the (cell number, first row, last row) of each. problems: the (reason, row, column)
    of the cells that are no Python, which are passed over.
    """

    text: str
    cells: tuple[tuple[int, int, int], ...]
    problems: tuple[tuple[str, int, int], ...]


def read_notebook(data: bytes) -> NotebookText:
    """Return the code cells as one text; a cell that is no Python costs that cell only.

    Raises:
        BrokenNotebook: the bytes are no notebook.
    """
    texts, spans, problems, row = [], [], [], 1
    for number, cell in code_cells(load(data)):
        text, problem = python_cell("".join(cell["source"]))
        if SURROGATE.search(text):
            text, problem = passed_over(SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)), LONE
        rows = text.count("\n") + 1
        texts.append(text + "\n")
        spans.append((number, row, row + rows - 1))
        if problem is not None:
            problems.append((problem[0], row + problem[1] - 1, problem[2]))
        row += rows
    return NotebookText("".join(texts), tuple(spans), tuple(problems))


def python_cells(data: bytes) -> str:
    """Return the Python cells as they are written: to be searched, not parsed.

    Raises:
        BrokenNotebook: the bytes are no notebook.
    """
    written = ("".join(cell["source"]) for _, cell in code_cells(load(data)))
    return "\n".join(each for each in written if is_python(each))


def write_notebook(data: bytes, cells: Mapping[int, str]) -> bytes:
    """Return the notebook's bytes with the text of some cells (number -> text) replaced."""
    notebook = load(data)
    for number, cell in code_cells(notebook):
        if number in cells:
            text = "\n".join(
                restored(line) for line in cells[number].removesuffix("\n").split("\n")
            )
            was_list = isinstance(cell["source"], list)
            cell["source"] = text.splitlines(keepends=True) if was_list else text
    raw = data.decode("utf-8-sig")
    indent = re.search(r"\n([ \t]+)\"", raw)
    written = json.dumps(notebook, indent=indent.group(1) if indent else None, ensure_ascii=False)
    bom = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    return bom + (written + ("\n" if raw.endswith("\n") else "")).encode()


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
    """Return the Python cells with their numbers, 1-based over all cells."""
    found: list[tuple[int, dict[str, Any]]] = []
    if not is_in_python(notebook):
        return found
    for number, cell in enumerate(notebook["cells"], 1):
        is_code = isinstance(cell, dict) and cell.get("cell_type") == "code"
        if is_code and text_like(cell.get("source")):
            found.append((number, cell))
    return found


def is_in_python(notebook: Mapping[str, Any]) -> bool:
    """Return whether the notebook's kernel runs Python, as far as it says."""
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name", "python") if isinstance(info, dict) else "python"
    return "python" in str(name).lower()


def text_like(source: object) -> bool:
    if isinstance(source, Sequence):
        return all(isinstance(part, str) for part in source)
    return False


# The rows of a notebook's cells in the file itself, for tools that show the file as text.

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def file_rows(data: bytes) -> Mapping[tuple[int, int], int]:
    """Return the file's row of each (cell, row of the cell), cells 1-based over all cells.

    Reads the notebook's JSON token by token, for a parser gives no places. A cell whose source
    is one string lies in one row as a whole.
    """
    text = data.decode("utf-8-sig", "replace")
    found: dict[tuple[int, int], int] = {}
    path: list[str | int] = []  # keys and indices down to the value that comes next
    row, scanned = 1, 0
    for token in TOKEN.finditer(text):
        row += text.count("\n", scanned, token.start())
        scanned = token.start()
        word = token.group()
        if word in "{[":
            path.append("" if word == "{" else 0)
        elif word in "}]," and not path:
            break  # no JSON: nothing that follows has a place
        elif word in "}]":
            path.pop()
        elif word == ",":
            last = path[-1]
            path[-1] = "" if isinstance(last, str) else last + 1
        elif word == ":":
            continue
        elif path and path[-1] == "":  # a key
            path[-1] = word[1:-1]
        elif is_cell_source(path) and word.startswith('"'):
            add_rows(found, path, word, row)
    return found


def is_cell_source(path: list[str | int]) -> bool:
    """Return whether the path leads to a cell's source, or to a string of its list."""
    if len(path) not in (3, 4) or path[0] != "cells" or path[2] != "source":
        return False
    return isinstance(path[1], int) and isinstance(path[-1], int if len(path) == 4 else str)


def add_rows(
    found: dict[tuple[int, int], int], path: list[str | int], string: str, file_row: int
) -> None:
    """Note the rows of the cell that begin in `string`."""
    cell, breaks = int(path[1]) + 1, json.loads(string, strict=False).count("\n")
    first = 1
    while (cell, first) in found:
        first += 1
    rows = breaks + 1 if len(path) == 3 else max(breaks, 1)
    found.update({(cell, first + number): file_row for number in range(rows)})
