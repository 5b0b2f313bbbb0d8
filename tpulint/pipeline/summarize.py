"""Summarize sources as the modules of a program."""

from __future__ import annotations

import os

from tpulint.analysis.build_program import Summarized
from tpulint.analysis.domain.site import Module
from tpulint.source import Source
from tpulint.syntax.summaries import Store


def summarize(sources: list[Source], store: Store) -> list[Summarized]:
    """Return the modules of the sources; `store` has their summaries, or makes them."""
    summarized = []
    for source, facts in store.many(sources):
        path = os.path.abspath(source.filename)
        module = None if facts is None else Module(source.filename, path, source.text, facts)
        summarized.append(Summarized(source.filename, module))
    return summarized
