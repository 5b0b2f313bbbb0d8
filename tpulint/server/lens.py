"""Code lenses above functions: who runs them, the device or the host."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from tpulint.finding import Location
from tpulint.pipeline.warm_programs import ReadProgram
from tpulint.server.language_server import Server
from tpulint.server.places import position_in

ORDER = ("device", "host cluster", "host", "input pipeline")
WORDS = {"host cluster": "host (host cluster)", "input pipeline": "host (input pipeline)"}


def register(server: Server) -> None:
    server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions())(lenses)


async def lenses(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Answer with a lens for each function that a TPU program reaches."""
    document = await ls.document(params.text_document.uri)
    if document is None or not ls.settings.code_lens:
        return []
    place = document.place
    lanes = await ls.of_programs(document, lanes_of)
    source = ls.source(place.path)
    found = []
    for row, names in sorted(lanes.items()):
        if source is not None and place.cell == source.place(row)[0]:
            start = position_in(source, Location(row, 1), ls.units)
            command = types.Command(title=title_of(names), command="")
            found.append(types.CodeLens(range=types.Range(start, start), command=command))
    return found


def lanes_of(programs: Sequence[ReadProgram], path: str) -> dict[int, set[str]]:
    """Return the lanes of the functions in a file, by row, in the programs that build computations.

    In a program without any, everything runs on the host, and saying so says nothing.
    """
    found: dict[int, set[str]] = {}
    for each in programs:
        if each.program is not None and each.program.computations:
            for row, lanes in each.lanes.by_row(path).items():
                found.setdefault(row, set()).update(lanes)
    return found


def title_of(lanes: set[str]) -> str:
    """Return the words of one lens."""
    words = [WORDS.get(each, each) for each in ORDER if each in lanes]
    return f"runs on {' and '.join(words)}"
