"""The rows of a notebook's cells in the file itself, for tools that show the file as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def file_rows(data: bytes) -> Mapping[tuple[int, int], int]:
    """The file's row of each (cell, row of the cell), cells 1-based over all cells.

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
        elif is_source(path) and word.startswith('"'):
            add(found, path, word, row)
    return found


def is_source(path: list[str | int]) -> bool:
    """Return whether the path leads to a cell's source, or to a string of its list."""
    if len(path) not in (3, 4) or path[0] != "cells" or path[2] != "source":
        return False
    return isinstance(path[1], int) and isinstance(path[-1], int if len(path) == 4 else str)


def add(
    found: dict[tuple[int, int], int], path: list[str | int], string: str, file_row: int
) -> None:
    """Note the rows of the cell that begin in `string`."""
    cell, breaks = int(path[1]) + 1, json.loads(string, strict=False).count("\n")
    first = 1
    while (cell, first) in found:
        first += 1
    rows = breaks + 1 if len(path) == 3 else max(breaks, 1)
    found.update({(cell, first + number): file_row for number in range(rows)})
