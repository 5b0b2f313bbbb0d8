"""A place of the program that ran, as it is shown."""

from __future__ import annotations

from functools import lru_cache

from tpulint.pipeline.discover import shown
from tpulint.source import Source, UnreadableSource, read_source


def shown_place(place: str) -> str:
    """`path:row`; in a notebook `path:cell n:row`, as `tpulint check` names it."""
    filename, colon, row = place.rpartition(":")
    if not filename:
        return place
    if filename.endswith(".ipynb"):
        row = row_of_cell(filename, row)
    return f"{shown(filename)}{colon}{row}"


def row_of_cell(filename: str, row: str) -> str:
    """`cell n:row` for a row of the text that the cells make together."""
    source = notebook(filename)
    if source is None or not row.isdecimal():
        return row
    cell, inside = source.place(int(row))
    return f"cell {cell}:{inside}" if cell is not None else row


@lru_cache(maxsize=1)
def notebook(filename: str) -> Source | None:
    """The notebook; None where it cannot be read any more."""
    try:
        return read_source(filename)
    except UnreadableSource:
        return None
