"""Summaries kept in memory from one reading of a project to the next.

They are kept by file, not by content: to the interpreter, two files with one text are two.
"""

from __future__ import annotations

from collections.abc import Collection

from tpulint.syntax import ir
from tpulint.syntax.edited_module import edited
from tpulint.syntax.lazy_module import Pieces
from tpulint.syntax.summarize import Answer, summarize_here
from tpulint.syntax.summary_cache import Store


class WarmStore(Store):
    """A store of one process that lives on.

    What an editor holds, and the disk does not, is kept in memory only. So are summaries that
    were made from the one before an edit.
    """

    def __init__(self, cache: str | None) -> None:
        super().__init__(cache)
        self._warm: dict[str, tuple[str, ir.ModuleSummary]] = {}
        self._unsaved: Collection[str] = ()
        self._edited: set[str] = set()

    def begin(self, unsaved: Collection[str]) -> None:
        """Begin the next reading; `unsaved` are the files whose bytes are not the disk's."""
        self._unsaved = unsaved
        self._open = {}
        self.findings = []
        self.messages = []

    def _kept(self, filename: str, key: str) -> ir.ModuleSummary | None:
        known = self._warm.get(filename)
        if known is None or known[0] != key:
            return super()._kept(filename, key)
        facts = known[1]
        self._opened(filename, key, facts, facts.pieces_read())
        return facts

    def _opened(self, filename: str, key: str, facts: ir.ModuleSummary, read: int) -> None:
        self._warm[filename] = (key, facts)
        if filename not in self._unsaved and filename not in self._edited:
            super()._opened(filename, key, facts, read)

    def _parse(self, filenames: list[str], texts: list[str]) -> list[Answer]:
        return [self._summarized(*each) for each in zip(filenames, texts, strict=True)]

    def _summarized(self, filename: str, text: str) -> Answer:
        _, before = self._warm.pop(filename, ("", None))
        if before is not None and isinstance(before.pieces, Pieces):
            again = edited(before, before.pieces.whole, text)
            if again is not None:
                self._edited.add(filename)
                return again
        self._edited.discard(filename)
        return summarize_here(text)
