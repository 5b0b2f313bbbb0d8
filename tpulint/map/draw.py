"""`tpulint map`: the map of what a file, or one of its functions, gives to a TPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from itertools import chain
from typing import NamedTuple

from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.site import Site
from tpulint.check import driver
from tpulint.check.request import Request
from tpulint.config import ConfigError
from tpulint.config.readers import nearest
from tpulint.disk import read_regular
from tpulint.finding import Span
from tpulint.frontends.tensorflow.program import Program
from tpulint.map.computation import maps_of
from tpulint.map.lanes import Definition, Part, definitions
from tpulint.map.pictures.model import ComputationMap, ProgramMap
from tpulint.source import Source, UnreadableSource, read_all, read_source

MOST = 8  # computations of a map
LEAST = 2  # boxes of a computation of which nothing is seen
NAMED = 12  # functions in an error


class Found(NamedTuple):
    """A map, the sources of the files it leads to, and lines for standard error."""

    program: ProgramMap
    sources: dict[str, Source]
    messages: tuple[str, ...]


def draw(request: Request, function: str | None) -> Found:
    """Return the map of the one path of `request`, or of the function of that name in it.

    Raises ConfigError for a file that cannot be read, a function that is not there, and where
    there is nothing to show.
    """
    task = driver.discover(request)
    (filename,) = task.filenames
    definitions_here = _read(filename)
    path = os.path.abspath(filename)
    meant = [row for row in definitions_here if function and row.is_called(function)]
    part = Part(path, meant)
    batch, around = driver.programs_around(task, filename)
    read = [driver.read_program(batch, job).program for job in around.programs.jobs]
    programs = [program for program in read if program is not None]
    messages = [str(failure) for program in programs for failure in program.failures]
    pairs = [(program, computation) for program in programs for computation in program.computations]
    if function is None:
        shown = _built_here(pairs, path)
    else:
        shown = _through(pairs, part) if part.meant else []
    if not shown:
        raise ConfigError(_nothing(filename, function, pairs, path, definitions_here))
    maps = _drawn(shown, part)
    left_out = [
        f"{drawn.title} ({drawn.span.filename}:{drawn.span.start.row})"
        for drawn in maps[MOST:]
        if drawn.span is not None
    ]
    subject = filename if function is None else f"{filename}:{function}"
    program = ProgramMap(subject, tuple(maps[:MOST]), tuple(left_out))
    sources = read_all(sorted(set(_filenames(program.computations))), {})
    return Found(program, sources, tuple(messages))


def _read(filename: str) -> list[Definition]:
    """Return the functions and classes of the file. Raises ConfigError where it is no Python."""
    try:
        return list(definitions(read_source(filename, read_regular(filename)).text))
    except OSError as error:
        raise ConfigError(f"{filename}: cannot read the file: {error.strerror}") from None
    except UnreadableSource as error:
        raise ConfigError(f"{filename}: {error.reason}") from None
    except SyntaxError as error:
        where = f" at line {error.lineno}" if error.lineno else ""
        raise ConfigError(f"{filename}: cannot be parsed: {error.msg}{where}") from None


Pair = tuple[Program, Computation]


def _built_here(pairs: Sequence[Pair], path: str) -> list[Pair]:
    """Return the computations that are built in the file.

    If there are none, those that reach it.
    """
    built = [pair for pair in pairs if pair[1].site.module.path == path]
    return built or [
        pair for pair in pairs if any(site.module.path == path for site in _sites(pair[1]))
    ]


def _sites(computation: Computation) -> Iterator[Site]:
    yield from (call.site for call in computation.calls)
    yield from (access.site for access in computation.accesses)
    yield from (cluster.site for cluster in computation.clusters)


def _through(pairs: Sequence[Pair], part: Part) -> list[Pair]:
    """Return the computations that the part builds, or whose device or host code it holds."""
    return [
        (program, computation)
        for program, computation in pairs
        if part.has(computation.context, computation.site)
        or any(map(part.has_cluster, computation.clusters))
        or any(part.has(call.context, call.site) for call in computation.calls)
    ]


def _drawn(pairs: Sequence[Pair], part: Part) -> list[ComputationMap]:
    """Draw each computation once: the same one may be reached in several ways.

    Of several readings the one with most to show counts, and one of a function that is not seen
    says nothing where another does.
    """
    drawn: dict[tuple[object, str, str], ComputationMap] = {}
    for program, computation in pairs:
        for drawing in maps_of(program, computation, part):
            key = computation.site, repr(computation.callee), drawing.title
            before = drawn.get(key)
            if before is None or _weight(drawing) > _weight(before):
                drawn[key] = drawing
    sites = {site for (site, _, _), drawing in drawn.items() if len(drawing.nodes) > LEAST}
    return [
        drawing
        for (site, _, _), drawing in drawn.items()
        if len(drawing.nodes) > LEAST or site not in sites
    ]


def _weight(drawing: ComputationMap) -> tuple[int, int, int]:
    return len(drawing.cycles), len(drawing.nodes), len(drawing.variables)


def _nothing(
    filename: str,
    function: str | None,
    pairs: Sequence[Pair],
    path: str,
    definitions_here: Sequence[Definition],
) -> str:
    """Return why there is nothing to show, and what to ask instead."""
    clusters = [cluster for _, computation in pairs for cluster in computation.clusters]
    having = [
        definition.name
        for definition in definitions_here
        if any(map(Part(path, [definition]).has_cluster, clusters))
    ]
    listed = ", ".join(having[:NAMED]) + (", ..." if len(having) > NAMED else "")
    hint = f"; functions with a host cluster: {listed}" if having else ""
    if function is None:
        return (
            f"{filename}: nothing to map: no TPU computation that was read is built in it or"
            f" reaches it (`tpulint explain {filename}` shows what was read)"
        )
    if not any(definition.is_called(function) for definition in definitions_here):
        names = [definition.name for definition in definitions_here]
        near = nearest(
            function, [part for name in names for part in (name, name.rpartition(".")[2])]
        )
        return f"{filename}: there is no function '{function}'{near}{hint}"
    return f"{filename}: nothing to map: no TPU computation leads to '{function}'{hint}"


def _filenames(part: object) -> Iterator[str]:
    """Yield the files of the spans in a part of a map."""
    if isinstance(part, Span):
        yield part.filename
    elif isinstance(part, tuple):
        yield from chain.from_iterable(map(_filenames, part))
    elif is_dataclass(part):
        yield from _filenames(tuple(vars(part).values()))
