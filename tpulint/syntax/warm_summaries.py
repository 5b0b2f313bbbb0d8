"""Summaries kept in memory from one reading of a project to the next.

They are kept by file, not by content: to the interpreter, two files with one text are two.
"""

from __future__ import annotations

import hashlib

from tpulint.syntax import ir
from tpulint.syntax.edited_module import edited
from tpulint.syntax.lazy_module import Pieces, summarize
from tpulint.syntax.summaries import Store


class WarmStore(Store):
    """A store of one process that lives on; an edit changes the summary that was made before it."""

    def __init__(self) -> None:
        super().__init__()
        self._warm: dict[str, tuple[bytes, ir.ModuleSummary]] = {}

    def begin(self) -> None:
        """Begin the next reading."""
        self._open = []
        self.findings = []

    def _summarized(self, filename: str, data: bytes, text: str) -> ir.ModuleSummary:
        key = hashlib.sha256(data).digest()
        before, facts = self._warm.pop(filename, (b"", None))
        if facts is None or key != before:
            again = None
            if facts is not None and isinstance(facts.pieces, Pieces):
                again = edited(facts, facts.pieces.whole, text)
            facts = again or summarize(text)
        self._warm[filename] = (key, facts)
        return facts
