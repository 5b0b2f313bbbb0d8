"""Rows and columns of findings as positions of the protocol, and files as URIs.

Findings count rows and characters from 1; the protocol counts from 0, in code units of the
encoding that client and server agreed on.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from lsprotocol import types
from pygls.uris import from_fs_path

from tpulint.finding import Location, Span
from tpulint.source import Source

Units = Callable[[str], int]  # the length of a text in the agreed encoding


def units_of(encoding: types.PositionEncodingKind | str | None) -> Units:
    """Return how many units of `encoding` a text takes: UTF-16's where none was agreed on."""
    if encoding == types.PositionEncodingKind.Utf8:
        return lambda text: len(text.encode("utf-8", "surrogatepass"))
    if encoding == types.PositionEncodingKind.Utf32:
        return len
    return lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return from_fs_path(path) or ""


def path_of(span: Span) -> str:
    """Return the absolute path of the file that the span is in."""
    return os.path.abspath(span.filename)


def position_in(source: Source | None, place: Location, units: Units) -> types.Position:
    """Return the position in the document: the file, or the cell of a notebook."""
    if source is None:
        return types.Position(place.row - 1, place.column - 1)
    _, row = source.place(place.row)
    return types.Position(row - 1, units(source.line(place.row)[: place.column - 1]))


def range_in(source: Source | None, span: Span, units: Units) -> types.Range:
    """Return the range in the document that the span begins in."""
    start = position_in(source, span.start, units)
    end = position_in(source, span.end, units)
    # A cell's last row ends where the next cell begins.
    if source is not None and source.cells and span.end.column == 1 < span.end.row:
        line = span.end.row - span.start.row + start.line
        end = types.Position(line, 0)
    return types.Range(start, max(start, end, key=lambda each: (each.line, each.character)))


def meet(one: types.Range, other: types.Range) -> bool:
    """Return whether the ranges overlap or touch."""
    return key(one.start) <= key(other.end) and key(other.start) <= key(one.end)


def key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
