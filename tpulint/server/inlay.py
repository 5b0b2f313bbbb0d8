"""Inlay hints behind the callable of a host cluster: what crosses, and whether the device waits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from tpulint.analysis.domain.events import Cluster
from tpulint.finding import Span
from tpulint.pipeline.warm_programs import ReadProgram
from tpulint.server.language_server import Server
from tpulint.server.places import meet, position_in


def register(server: Server) -> None:
    server.feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions())(hints)


async def hints(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
    """Answer with the hints in a range of a document."""
    document = await ls.document(params.text_document.uri)
    if document is None or not ls.settings.inlay_hints:
        return []
    place = document.place
    known = await ls.of_programs(document, clusters_in)
    source = ls.source(place.path)
    found = []
    for span, words in known.items():
        if source is None or place.cell != source.place(span.end.row)[0]:
            continue
        position = position_in(source, span.end, ls.units)
        if meet(types.Range(position, position), params.range):
            found.append(
                types.InlayHint(
                    position=position,
                    label=words,
                    padding_left=True,
                    tooltip="outside_compilation lifts this callable out of the device's program",
                )
            )
    return found


def clusters_in(programs: Sequence[ReadProgram], path: str) -> dict[Span, str]:
    """Return the words about the clusters in a file, by the span that names the callable."""
    found: dict[Span, list[Cluster]] = {}
    for each in every_cluster(programs):
        site = each.given.site if each.given is not None else each.named
        if os.path.abspath(site.module.filename) == path:
            found.setdefault(site.span, []).append(each)
    return {span: words_of(clusters) for span, clusters in found.items()}


def every_cluster(programs: Iterable[ReadProgram]) -> Iterator[Cluster]:
    for each in programs:
        if each.program is not None:
            yield from each.program.clusters()
            yield from each.program.orphan_clusters


def words_of(clusters: Sequence[Cluster]) -> str:
    """Return the words about the clusters that one call makes."""
    inside = [each for each in clusters if each.computation is not None]
    if not inside:
        return "in place: no TPU computation is being built"
    taken = {len({id(use.tensor) for use in each.receives}) for each in inside}
    waits = {bool(each.uses) for each in inside}
    words = ["host cluster"]
    if len(taken) == 1 and not any(each.vague for each in inside):
        (number,) = taken
        words.append(f"takes {number} tensor{'' if number == 1 else 's'}")
    if len(waits) == 1:
        words.append("the device waits" if True in waits else "the device goes on")
    return ", ".join(words)
