"""Summaries of modules: what libcst has read is kept on disk, by content.

What CPython's parser has read is read again as fast as it could be loaded. The cache is an index,
not truth: an entry that is corrupt, old or cannot be written is dropped, and the file parsed again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tpulint.cache_dir import UNSOUND, read_entry, write_entry
from tpulint.finding import Finding, Location, Span
from tpulint.source import Source
from tpulint.syntax import ir, serialize
from tpulint.syntax.summarize import Answer, summarize_here
from tpulint.unfinished import is_unfinished

UNKEPT = -1  # how much the cache has of a new summary


class Store:
    """The summaries of modules; what cannot be parsed, and is meant to be, is a TPU001 finding.

    `isolated` processes parse, where a file may kill the one that does; 0 is this one.
    """

    def __init__(self, cache: str | Path | None, isolated: int = 0) -> None:
        self._cache = None if cache is None else os.fspath(cache)
        self._isolated = isolated
        self._open: dict[str, tuple[ir.ModuleSummary, int]] = {}
        self.findings: list[Finding] = []
        self.messages: list[str] = []

    def one(self, filename: str, data: bytes, text: str) -> ir.ModuleSummary | None:
        """The summary of one module that was imported; no finding where it has none."""
        key = self._key(data)
        kept = self._kept(filename, key)
        if kept is not None:
            return kept
        (answer,) = self._parse([filename], [text])
        if isinstance(answer, tuple):
            return None
        self._opened(filename, key, answer, UNKEPT)
        return answer

    def many(self, sources: list[Source]) -> Iterator[tuple[Source, ir.ModuleSummary | None]]:
        """The summaries of `sources`, in order; None where there is a finding instead."""
        keys = [self._key(source.data) for source in sources]
        known = [self._kept(each.filename, key) for each, key in zip(sources, keys, strict=True)]
        missing = [number for number, facts in enumerate(known) if facts is None]
        answers = self._parse(
            [sources[number].filename for number in missing],
            [sources[number].text for number in missing],
        )
        for number, answer in zip(missing, answers, strict=True):
            if isinstance(answer, tuple):
                if not is_unfinished(sources[number].text, answer[1]):
                    self.refuse(sources[number].filename, *answer)
            else:
                self._opened(sources[number].filename, keys[number], answer, UNKEPT)
                known[number] = answer
        yield from zip(sources, known, strict=True)

    def _parse(self, filenames: list[str], texts: list[str]) -> list[Answer]:
        """The summaries of the files, which are not known."""
        if texts and self._isolated:
            from tpulint.syntax.summary_workers import summarize_all

            return summarize_all(texts, self._isolated)
        return [summarize_here(text) for text in texts]

    def refuse(self, filename: str, reason: str, row: int, column: int) -> None:
        place = Location(row, column)
        self.findings.append(Finding("TPU001", reason, Span(filename, place, place)))

    def _key(self, data: bytes) -> str:
        salt = f"{ir.VERSION}:{sys.version_info[:2]}".encode()
        return hashlib.sha256(salt + data).hexdigest()

    def _kept(self, filename: str, key: str) -> ir.ModuleSummary | None:
        if self._cache is None:
            return None
        try:
            facts = serialize.loads(read_entry(self._cache, key[:2], key))
        except UNSOUND:
            return None
        self._opened(filename, key, facts, facts.pieces_read())
        return facts

    def _opened(self, filename: str, key: str, facts: ir.ModuleSummary, read: int) -> None:
        """Remember a summary that is in use, and how many pieces of it the cache has."""
        self._open[key] = (facts, read)

    def keep(self) -> None:
        """Write down the summaries of which more was read than the cache knows, by libcst.

        The program has been read: few functions will be that were not.
        """
        for key, (facts, before) in self._open.items():
            if facts.pieces is not None:
                facts.pieces.release()
            if facts.by_libcst and facts.pieces_read() != before:
                self._keep(key, facts)

    def _keep(self, key: str, facts: ir.ModuleSummary) -> None:
        if self._cache is None:
            return
        try:
            write_entry(self._cache, key[:2], key, serialize.dumps(facts).encode())
        except OSError as error:
            self.messages.append(f"cache not written: {error.strerror}")
            self._cache = None
