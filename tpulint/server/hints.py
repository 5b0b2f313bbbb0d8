"""Words beside the code: who runs a function, and what crosses at a host cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from lsprotocol import types

from tpulint.absint.domain.events import Cluster
from tpulint.check.editor import ReadProgram
from tpulint.codes import CODES, SHAPE
from tpulint.finding import Location, Span
from tpulint.server.diagnostics import findings_of
from tpulint.server.documents import meet, position_in, range_in
from tpulint.server.language_server import Server

# Hover: the page of the rule, at a finding and at a code in a suppression comment.

CODE = re.compile(SHAPE)
RULE = "\n\n---\n\n"


async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """Answer with the page of the code in a comment, else of all findings at the position."""
    uri = params.text_document.uri
    here = types.Range(params.position, params.position)
    for code, where in codes_in_comment(ls, uri, params.position.line):
        if meet(where, here):
            return types.Hover(contents=markdown(page(code)), range=where)
    document = await ls.document(uri)
    if document is None:
        return None
    places = [
        (finding.code, range_in(document.source, finding.span, ls.units))
        for finding in findings_of(document.snapshot, document.place)
    ]
    places = [(code, where) for code, where in places if meet(where, here)]
    if not places:
        return None
    pages = map(page, dict.fromkeys(code for code, _ in places))
    return types.Hover(contents=markdown(RULE.join(pages)), range=places[0][1])


def markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(kind=types.MarkupKind.Markdown, value=text)


def codes_in_comment(ls: Server, uri: str, row: int) -> Iterator[tuple[str, types.Range]]:
    """Yield the codes that are written in the comment of a row, with their ranges."""
    lines = ls.workspace.get_text_document(uri).lines
    line = lines[row] if row < len(lines) else ""
    comment = line.find("#")
    for match in CODE.finditer(line, comment) if comment >= 0 else ():
        if match.group() in CODES:
            start, end = (ls.units(line[:column]) for column in match.span())
            where = types.Range(types.Position(row, start), types.Position(row, end))
            yield match.group(), where


def page(code: str) -> str:
    """Return the page of a rule, and where it is on the web."""
    from tpulint.output.reference import rule_page

    text, url = rule_page(code, "markdown").strip(), CODES[code].url
    return f"{text}\n\n[{code}]({url})" if url else text


# Code lenses above functions: who runs them, the device or the host.

ORDER = ("device", "host cluster", "host", "input pipeline")
LANE_WORDS = {"host cluster": "host (host cluster)", "input pipeline": "host (input pipeline)"}


async def lenses(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Answer with a lens for each function that a TPU program reaches."""
    document = await ls.document(params.text_document.uri)
    if document is None or not ls.settings.code_lens:
        return []
    place = document.place
    lanes = await ls.of_programs(document, lanes_of)
    source = ls.source(place.path)
    lenses = []
    for row, names in sorted(lanes.items()):
        if source is not None and place.cell == source.place(row)[0]:
            start = position_in(source, Location(row, 1), ls.units)
            words = [LANE_WORDS.get(lane, lane) for lane in ORDER if lane in names]
            command = types.Command(title=f"runs on {' and '.join(words)}", command="")
            lenses.append(types.CodeLens(range=types.Range(start, start), command=command))
    return lenses


def lanes_of(programs: Sequence[ReadProgram], path: str) -> dict[int, set[str]]:
    """Return the lanes of the functions in a file, by row, in the programs that build computations.

    In a program without any, everything runs on the host, and saying so says nothing.
    """
    lanes_by_row: dict[int, set[str]] = {}
    for program in programs:
        if program.program is not None and program.program.computations:
            for row, lanes in program.lanes.by_row(path).items():
                lanes_by_row.setdefault(row, set()).update(lanes)
    return lanes_by_row


# Inlay hints behind the callable of a host cluster: what crosses, and whether the device waits.


LIFTED = "outside_compilation lifts this callable out of the device's program"


async def hints(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
    """Answer with the hints in a range of a document."""
    document = await ls.document(params.text_document.uri)
    if document is None or not ls.settings.inlay_hints:
        return []
    place = document.place
    clusters = await ls.of_programs(document, clusters_in)
    source = ls.source(place.path)
    hints = []
    for span, words in clusters.items():
        if source is None or place.cell != source.place(span.end.row)[0]:
            continue
        position = position_in(source, span.end, ls.units)
        if meet(types.Range(position, position), params.range):
            hints.append(types.InlayHint(position, label=words, padding_left=True, tooltip=LIFTED))
    return hints


def clusters_in(programs: Sequence[ReadProgram], path: str) -> dict[Span, str]:
    """Return the words about the clusters in a file, by the span that names the callable."""
    by_span: dict[Span, list[Cluster]] = {}
    for program in [read.program for read in programs if read.program is not None]:
        for cluster in chain(program.clusters(), program.orphan_clusters):
            site = cluster.given.site if cluster.given is not None else cluster.named
            if os.path.abspath(site.module.filename) == path:
                by_span.setdefault(site.span, []).append(cluster)
    return {span: words_of(clusters) for span, clusters in by_span.items()}


def words_of(clusters: Sequence[Cluster]) -> str:
    inside = [cluster for cluster in clusters if cluster.computation is not None]
    if not inside:
        return "in place: no TPU computation is being built"
    taken = {len({id(use.tensor) for use in cluster.receives}) for cluster in inside}
    waits = {bool(cluster.uses) for cluster in inside}
    words = ["host cluster"]
    if len(taken) == 1 and not any(cluster.vague for cluster in inside):
        (number,) = taken
        words.append(f"takes {number} tensor{'' if number == 1 else 's'}")
    if len(waits) == 1:
        words.append("the device waits" if True in waits else "the device goes on")
    return ", ".join(words)
