"""Search the bytes of every file once: which files can matter, and which names they spell."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tpulint.analysis.names.spelling_search import NamesInFile, Spelled, SpellingSearch
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.imports import statements
from tpulint.disk import DISK
from tpulint.finding import Finding, Location, Span
from tpulint.notebook import BrokenNotebook, python_cells
from tpulint.pipeline.failure import ProgramFailure, describe
from tpulint.pipeline.file_signs import FileSigns, signs_in
from tpulint.source import UnreadableSource

if TYPE_CHECKING:
    from tpulint.analysis.resolver.import_graph import ImportGraph

NOTHING: Mapping[str, FileSigns] = MappingProxyType({})


class Prefiltered(NamedTuple):
    """The result of a search of the bytes of some files.

    seeds: the files that show the seam. estimators: those of them that name estimators. marked:
    those that may hold suppressions. setters: those that turn soft placement on, and with which
    certainty. scripts: those that are run as programs. spelled: names that the TensorFlow of
    their files lacks. consulted: the requirement files that say which one that is. searched: the
    signs in the files that were not known. failures: what an error of tpulint's own has cost.
    """

    seeds: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    setters: tuple[tuple[str, str], ...] = ()
    scripts: tuple[str, ...] = ()
    spelled: tuple[Spelled, ...] = ()
    consulted: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    searched: tuple[tuple[str, FileSigns], ...] = ()
    failures: tuple[ProgramFailure, ...] = ()


def prefilter(
    filenames: Sequence[str],
    given: Mapping[str, bytes],
    settings: Settings,
    context: Collection[str] = (),
    known: Mapping[str, FileSigns] = NOTHING,
    graph: ImportGraph | None = None,
) -> Prefiltered:
    """Search the bytes of the files; `given` holds those that are not (or not yet) on disk.

    Suppressions do not matter in the files that are only `context`. Files are not searched whose
    signs are `known`. `graph` learns what the others import.
    """
    signs: dict[str, FileSigns] = {}
    searched = []
    findings = []
    failures = []
    spelling = SpellingSearch(settings.target_tensorflow)

    def read(filename: str) -> bytes:
        return given[filename] if filename in given else DISK.read(filename)

    def search(filename: str) -> FileSigns:
        data = searched_part(filename, read(filename))
        if graph is None:
            return signs_in(data, settings)
        written = tuple(statements(data))
        graph.learn(os.path.abspath(filename), written)
        return signs_in(data, settings, written)

    def look(filename: str, its: FileSigns) -> NamesInFile:
        try:
            return spelling.look(filename, its.names, partial(read, filename))
        except UnreadableSource:
            if its.seam:  # the program that begins in it reports that
                return its.names
            raise

    for filename in filenames:
        try:
            its = known.get(filename) or search(filename)
            if its.names.missing:
                its = its._replace(names=look(filename, its))
            if its != known.get(filename):
                searched.append((filename, its))
        except OSError as error:
            findings.append(unreadable(filename, f"cannot be read: {error.strerror}", 1, 1))
        except UnreadableSource as error:
            findings.append(unreadable(filename, error.reason, error.row, error.column))
        except Exception as error:
            failures.append(ProgramFailure(filename, describe(error)))
        else:
            signs[filename] = its
    shown = signs.items()
    return Prefiltered(
        tuple(each for each, its in shown if its.seam),
        tuple(each for each, its in shown if its.estimators),
        tuple(each for each, its in shown if its.marked and each not in context),
        tuple((each, its.placement) for each, its in shown if its.placement is not None),
        tuple(each for each, its in shown if its.script),
        tuple(spelling.found),
        tuple(spelling.targets.consulted),
        tuple(findings),
        tuple(searched),
        tuple(failures),
    )


def searched_part(filename: str, data: bytes) -> bytes:
    """Return the code in the bytes of a file: most of a notebook is what its cells have printed."""
    if not filename.endswith(".ipynb"):
        return data
    try:
        return python_cells(data).encode(errors="replace")
    except BrokenNotebook:
        return data


def merge(parts: Sequence[Prefiltered]) -> Prefiltered:
    """Return the results for all files as one."""
    return Prefiltered(*(tuple(chain.from_iterable(field)) for field in zip(*parts, strict=True)))


def unreadable(filename: str, reason: str, row: int, column: int) -> Finding:
    place = Location(max(row, 1), max(column, 1))
    return Finding("TPU001", reason, Span(filename, place, place))
