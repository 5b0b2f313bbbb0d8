"""The signs in the files of the last check: one is searched again if its size or time changed.

They are in two entries: those of all files, and those of a few that have changed since that was
written, which are newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from tpulint.analysis.names.spelling_search import NamesInFile
from tpulint.pipeline import kept_entry
from tpulint.pipeline.file_signs import FileSigns
from tpulint.pipeline.kept_entry import KeptEntry
from tpulint.pipeline.stamps import Stamps

if TYPE_CHECKING:
    from tpulint.pipeline.batch import Batch
    from tpulint.syntax.api_spellings import FileSpellings

FOLDER = "signs"
RECENT = "recent-signs"
NONE = FileSigns()

Rows: TypeAlias = "dict[str, list[Any]]"  # by file: its stamp, and its signs


class KeptSigns:
    """The signs in the files of a batch, on disk: a row a file, with its stamp."""

    def __init__(self, batch: Batch, stamps: Stamps) -> None:
        self._all = KeptEntry(batch, FOLDER, stamps)
        self._recent = KeptEntry(batch, RECENT, stamps)
        self._stamps = stamps
        self._filenames = batch.filenames

    @cached_property
    def _rows(self) -> tuple[Rows, Rows]:
        """The rows of all files, and those that are newer."""
        return self._all.read(_decoded) or {}, self._recent.read(_decoded) or {}

    def recall(self) -> dict[str, FileSigns]:
        """Return the signs in the files that have not changed since they were searched."""
        try:
            return {each: signs_of(*row[1:]) for each, row in self._unchanged().items()}
        except (ValueError, TypeError, AttributeError):  # of rows that are none
            return {}

    def _unchanged(self) -> Rows:
        rows = {**self._rows[0], **self._rows[1]}
        kept = {each: rows[each] for each in self._filenames if each in rows}
        return {each: row for each, row in kept.items() if row[0] == self._stamps.of(each)}

    def edited(self) -> dict[str, tuple[str, FileSigns]] | None:
        """Return the stamp and the signs that each changed file had; None where they are many.

        Also None where a file is new.
        """
        rows = {**self._rows[0], **self._rows[1]}
        try:
            found = [each for each in self._filenames if rows[each][0] != self._stamps.of(each)]
            if len(found) > kept_entry.LEFT:
                return None
            return {each: (str(rows[each][0]), signs_of(*rows[each][1:])) for each in found}
        except (KeyError, ValueError, TypeError, AttributeError):
            return None

    def remember(self, searched: Iterable[tuple[str, FileSigns]]) -> None:
        """Keep the signs in files that were searched."""
        new = dict(searched)
        if not new:
            return
        written, recent = self._rows
        few = {each: row for each, row in recent.items() if each not in new}
        if written and len(few) + len(new) <= kept_entry.LEFT:
            self._recent.leave(lambda: {**few, **self._rows_of(new)})
        else:
            self._all.leave(lambda: {**self._unchanged(), **self._rows_of(new)})
            self._recent.leave(dict)

    def write(self) -> None:
        """Write down what is left to the next check."""
        self._all.write()
        self._recent.write()

    def _rows_of(self, signs: Mapping[str, FileSigns]) -> Rows:
        return {each: [self._all.stamp(each), *row_of(its)] for each, its in signs.items()}


def _decoded(data: object) -> Rows:
    if not isinstance(data, dict) or not all(type(row) is list and row for row in data.values()):
        raise TypeError("no rows by file")
    return data


def row_of(signs: FileSigns) -> list[object]:
    """Return the signs for JSON, without those at the end that most files do not show."""
    row: list[object] = list(signs)
    while row and row[-1] == NONE[len(row) - 1]:
        row.pop()
    return row


def signs_of(
    imports: str = "",
    seam: bool = False,
    estimators: bool = False,
    marked: bool = False,
    script: bool = False,
    placement: str | None = None,
    names: Iterable[Any] = (),
) -> FileSigns:
    return FileSigns(imports, seam, estimators, marked, script, placement, _names_of(*names))


def _names_of(
    missing: Iterable[str] = (), keras_2: bool = False, spellings: Iterable[Any] | None = None
) -> NamesInFile:
    found = None if spellings is None else _spellings_of(*spellings)
    return NamesInFile(tuple(missing), keras_2, found)


def _spellings_of(
    names: Iterable[list[Any]], aliases: Mapping[str, Iterable[str]], asks: bool
) -> FileSpellings:
    from tpulint.syntax.api_spellings import FileSpellings, SpelledName

    found = (
        SpelledName(place, tuple(paths), tuple(start), tuple(end), *rest)
        for place, paths, start, end, *rest in names
    )
    return FileSpellings(tuple(found), {each: tuple(aliases[each]) for each in aliases}, asks)
