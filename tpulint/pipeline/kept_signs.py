"""The signs in the files of the last check: one is searched again if its size or time changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tpulint.analysis.names.spelling_search import NamesInFile
from tpulint.pipeline import kept_entry
from tpulint.pipeline.file_signs import FileSigns
from tpulint.pipeline.kept_entry import KeptEntry
from tpulint.pipeline.stamps import Stamps

if TYPE_CHECKING:
    from tpulint.pipeline.batch import Batch
    from tpulint.syntax.api_spellings import FileSpellings

FOLDER = "signs"
NONE = FileSigns()  # of most files


class KeptSigns:
    """The signs in the files of a batch, on disk: a row a file, with its stamp."""

    def __init__(self, batch: Batch, stamps: Stamps) -> None:
        self.entry = KeptEntry(batch, FOLDER, stamps)
        self._stamps = stamps
        self._filenames = batch.filenames
        self._rows: dict[str, list[object]] = {}

    def recall(self) -> dict[str, FileSigns]:
        """Return the signs in the files that have not changed since they were searched."""
        return self.entry.read(self._unchanged) or {}

    def _unchanged(self, data: object) -> dict[str, FileSigns]:
        if not isinstance(data, dict):
            raise TypeError("no rows by file")
        kept = [(each, data[each]) for each in self._filenames if each in data]
        kept = [(each, row) for each, row in kept if row[0] == self._stamps.of(each)]
        self._rows = dict(kept)
        return {each: signs_of(*row[1:]) for each, row in kept}

    def remember(self, searched: Iterable[tuple[str, FileSigns]]) -> None:
        """Keep the signs in files that were searched, if they are many or the first."""
        new = dict(searched)
        if len(new) > kept_entry.LEFT or (new and not self._rows):
            self.entry.leave(lambda: {**self._rows, **self._rows_of(new)})

    def _rows_of(self, signs: Mapping[str, FileSigns]) -> dict[str, list[object]]:
        return {each: [self.entry.stamp(each), *row_of(its)] for each, its in signs.items()}


def row_of(signs: FileSigns) -> tuple[object, ...]:
    return () if signs == NONE else tuple(signs)


def signs_of(
    seam: bool = False,
    estimators: bool = False,
    marked: bool = False,
    script: bool = False,
    placement: str | None = None,
    names: Iterable[Any] = (),
) -> FileSigns:
    return FileSigns(seam, estimators, marked, script, placement, _names_of(*names))


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
