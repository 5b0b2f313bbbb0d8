"""The maps of programs written in tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tpulint.check.request import Request
from tpulint.config import Config
from tpulint.map.draw import Found, draw
from tpulint.map.pictures.model import ComputationMap, Cycle, MapEdge, MapNode, ProgramMap
from tpulint.output.context import RenderContext

MAIN = "program.py"


def found(text: str, folder: Path, function: str | None = None) -> Found:
    """Return the map of a program, or of one of its functions, with its sources."""
    path = folder / MAIN
    path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return of_file(path, function)


def of_file(path: Path, function: str | None = None) -> Found:
    config = Config(root=str(path.parent), jobs=1)
    return draw(Request(config, frozenset(), (str(path),)), function)


def drawn(text: str, folder: Path, function: str | None = None) -> ComputationMap:
    """Return the only computation of a program."""
    (only,) = found(text, folder, function).program.computations
    return only


def context_of(drawn_map: Found, folder: Path) -> RenderContext:
    return RenderContext(str(folder), drawn_map.sources)


def node(drawn: ComputationMap, title: str) -> MapNode:
    """Return the only node whose title begins like that."""
    (only,) = [node for node in drawn.nodes if node.title.startswith(title)]
    return only


def edge(drawn: ComputationMap, source: str, target: str) -> MapEdge | None:
    """Return the edge between the nodes of those titles."""
    return drawn.edge(node(drawn, source).key, node(drawn, target).key)


def closes(cycle: Cycle) -> bool:
    """Return whether each leg begins where the one before it ends, the first after the last."""
    return all(
        wait.target == other.source
        for wait, other in zip(cycle.waits, [*cycle.waits[1:], cycle.waits[0]])
    )


def all_edges(program: ProgramMap) -> list[MapEdge]:
    return [edge for computation in program.computations for edge in computation.edges]
