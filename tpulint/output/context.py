"""The facts that a format may use beside the findings."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tpulint.finding import Finding, Location, Span, UnfollowedCall

if TYPE_CHECKING:
    from tpulint.source import Source


class Coverage(NamedTuple):
    """How much was analyzed: the TPU programs that were read, and how many of the files.

    unreached: how many functions of these files use a framework, and nothing that was read calls
    them. using: how many of all files import a framework, by its initial.
    """

    programs: int
    read: int
    files: int
    unreached: int = 0
    using: Mapping[str, int] = MappingProxyType({})


class Unchecked(NamedTuple):
    """What was asked for and not checked: the reason, and the path where it is one file."""

    reason: str
    path: str = ""


class RenderContext(NamedTuple):
    """The run's surroundings.

    `here` is the absolute working directory, `sources` hold the files that findings and
    their steps are in, `hidden` counts by code the possible findings that are not shown, and
    `fixed` those that were fixed before. `unchecked` says what was asked for and not
    checked, `unfollowed` holds the calls that were not followed although they may matter,
    `unparsed` counts files that are no Python and of which no finding says so, `files`
    those that were looked at (None: not counted), `unset` holds the configuration keys
    that have no value, and `coverage` what was read, where a check says it. `links` says that
    the terminal shows links.
    """

    here: str
    sources: Mapping[str, Source] = MappingProxyType({})
    hidden: Mapping[str, int] = MappingProxyType({})
    fixed: int = 0
    color: bool = False
    width: int = 100
    quiet: bool = False
    unchecked: Sequence[Unchecked] = ()
    unparsed: int = 0
    files: int | None = None
    unset: frozenset[str] = frozenset()
    unfollowed: Sequence[UnfollowedCall] = ()
    coverage: Coverage | None = None
    links: bool = False

    def line(self, filename: str, row: int) -> str:
        """Return the text of a row; empty where the file cannot be read."""
        source = self.sources.get(filename)
        return source.line(row) if source else ""

    def place(self, filename: str, location: Location) -> tuple[int | None, Location]:
        """Return a notebook's cell and the place in it; (None, the place itself) elsewhere."""
        if filename not in self.sources:
            return None, location
        cell, row = self.sources[filename].place(location.row)
        return cell, Location(row, location.column)

    def end(self, span: Span) -> Location:
        """Return the end of the span, in the rows of the cell that it starts in."""
        _, start = self.place(span.filename, span.start)
        return Location(span.end.row - span.start.row + start.row, span.end.column)

    def is_notebook(self, filename: str) -> bool:
        return filename in self.sources and bool(self.sources[filename].cells)

    def file_row(self, filename: str, row: int) -> int:
        """Return the row in the file as it lies on disk; of a notebook, the row of its JSON."""
        if not self.is_notebook(filename):
            return row
        source = self.sources[filename]
        return rows_on_disk(source).get(source.place(row), 1)

    def absolute(self, filename: str) -> str:
        return filename if filename == "-" else os.path.normpath(os.path.join(self.here, filename))

    def short(self, span: Span) -> str:
        """Return `path:row:column`, with `cell n` between for a notebook."""
        cell, start = self.place(span.filename, span.start)
        inside = f"cell {cell}:" if cell is not None else ""
        return f"{span.filename}:{inside}{start.row}:{start.column}"

    def noqa_row(self, finding: Finding) -> int:
        """Return the row (of the cell) where a trailing suppression comment has its place."""
        from tpulint.diagnostics.suppress import comment_row

        source = self.sources.get(finding.span.filename)
        row = finding.span.start.row
        return row if source is None else source.place(comment_row(source, row))[1]


@functools.lru_cache(maxsize=64)
def rows_on_disk(source: Source) -> Mapping[tuple[int | None, int], int]:
    from tpulint.notebook import file_rows

    return {(cell, row): on_disk for (cell, row), on_disk in file_rows(source.data).items()}
