"""Words beside the code: who runs a function, and what crosses at a host cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from lsprotocol import types

from tpulint.absint.domain.events import Cluster
from tpulint.check.editor import ReadProgram
from tpulint.codes import CODES, SHAPE
from tpulint.finding import Location, Span
from tpulint.server.diagnostics import findings_of
from tpulint.server.documents import meet, position_in, range_in
from tpulint.server.language_server import Server
from tpulint.source import UnreadableSource, read_source

Answer = TypeVar("Answer")

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
    if not ls.settings.code_lens:
        return []
    lenses = []
    for start, names in await answers(ls, params.text_document.uri, lanes_of):
        words = [LANE_WORDS.get(lane, lane) for lane in ORDER if lane in names]
        command = types.Command(title=f"runs on {' and '.join(words)}", command="")
        lenses.append(types.CodeLens(range=types.Range(start, start), command=command))
    return lenses


async def answers(
    ls: Server,
    uri: str,
    question: Callable[[Sequence[ReadProgram], str], list[tuple[Location, Answer]]],
) -> list[tuple[types.Position, Answer]]:
    """Return the answers of the programs that read a document, by their positions in it."""
    document = await ls.document(uri)
    if document is None:
        return []
    path, project = document.place.path, document.project
    placed = await ls.worker.do(lambda: question(project.programs_of(path), path))
    try:
        source = read_source(path, ls.documents.unsaved().get(path))
    except UnreadableSource:
        return []
    return [
        (position_in(source, location, ls.units), answer)
        for location, answer in placed
        if source.place(location.row)[0] == document.place.cell
    ]


def lanes_of(programs: Sequence[ReadProgram], path: str) -> list[tuple[Location, set[str]]]:
    """Return where functions of a file begin, and their lanes in programs that build computations.

    In a program without any, everything runs on the host, and saying so says nothing.
    """
    lanes_by_row: dict[int, set[str]] = {}
    for program in programs:
        if program.program is not None and program.program.computations:
            for row, lanes in program.lanes.by_row(path).items():
                lanes_by_row.setdefault(row, set()).update(lanes)
    return [(Location(row, 1), lanes) for row, lanes in sorted(lanes_by_row.items())]


# Inlay hints behind the callable of a host cluster: what crosses, and whether the device waits.


LIFTED = "outside_compilation lifts this callable out of the device's program"


async def hints(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
    """Answer with the hints in a range of a document."""
    if not ls.settings.inlay_hints:
        return []
    return [
        types.InlayHint(position, label=words, padding_left=True, tooltip=LIFTED)
        for position, words in await answers(ls, params.text_document.uri, clusters_in)
        if meet(types.Range(position, position), params.range)
    ]


def clusters_in(programs: Sequence[ReadProgram], path: str) -> list[tuple[Location, str]]:
    """Return the hint for the clusters of each callable in a file, and where its name ends."""
    by_span: dict[Span, list[Cluster]] = {}
    for program in [read.program for read in programs if read.program is not None]:
        for cluster in chain(program.clusters(), program.orphan_clusters):
            site = cluster.given.site if cluster.given is not None else cluster.named
            if os.path.abspath(site.module.filename) == path:
                by_span.setdefault(site.span, []).append(cluster)
    return [(span.end, words_of(clusters)) for span, clusters in by_span.items()]


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
