"""Search the bytes of every file once, and find the programs among the files.

A program is what imports bind together: files that name the TPU API are of one program where they
reach a common file. So findings depend on the files alone, not on how many processes share the
work, on the order of the files or on the directory that they were found from.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tpulint import frontends
from tpulint.absint.resolver import import_graph
from tpulint.diagnostics.suppress import may_name_own_codes
from tpulint.disk import Disk
from tpulint.file_facts import ON, PERHAPS, by_home, is_script, is_test
from tpulint.finding import Finding, Location, Span
from tpulint.frontends.settings import Settings
from tpulint.incremental.disk import digest_of
from tpulint.incremental.model import Batch, FileFacts, FileFailure, Job, describe
from tpulint.incremental.queries import SearchedFile
from tpulint.ordering import reachable
from tpulint.source import UnreadableSource

if TYPE_CHECKING:
    from tpulint.frontends import NamesInFile, Spelled, SpellingSearch, Targets

# Which files can matter, and which names they spell.


class Prefiltered(NamedTuple):
    """The result of a search of the bytes of some files.

    seeds: the files that name the TPU API. of_homes: those of them that are of one program with
    such files of their package. marked: those that may hold suppressions. setters: those that turn
    soft placement on, and with which certainty. scripts: those that are run as programs. spelled:
    names that the releases of their files lack. searched: the files whose facts were not known.
    failures: what an error of tpulint's own has cost. importing: those that import a framework,
    with the initials of each.
    """

    seeds: tuple[str, ...] = ()
    of_homes: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    setters: tuple[tuple[str, str], ...] = ()
    scripts: tuple[str, ...] = ()
    spelled: tuple[Spelled, ...] = ()
    findings: tuple[Finding, ...] = ()
    searched: tuple[SearchedFile, ...] = ()
    failures: tuple[FileFailure, ...] = ()
    importing: tuple[tuple[str, str], ...] = ()


def prefilter(
    batch: Batch,
    filenames: Sequence[str],
    targets: Targets,
    graph: import_graph.ImportGraph | None = None,
    facts_by_name: Mapping[str, FileFacts] = MappingProxyType({}),
) -> Prefiltered:
    """Search the bytes of some files of the batch, less those in `facts_by_name`.

    Suppressions do not matter in the files that are only context. `graph` learns what the others
    import.
    """
    settings = batch.settings
    facts: dict[str, FileFacts] = {}
    searched = []
    findings = []
    failures = []
    spelling = frontends.search_names(targets)
    for filename in filenames:
        read = partial(batch.disk.read, os.path.abspath(filename))
        try:
            digest = ""
            of_file = facts_by_name.get(filename)
            if of_file is None:
                data = read()
                digest = digest_of(data)
                of_file = _facts(filename, data, settings, graph)
            if of_file.names.missing:
                of_file = of_file._replace(names=_spelled(spelling, filename, of_file, read))
            if of_file != facts_by_name.get(filename):
                searched.append(SearchedFile(filename, digest or digest_of(read()), of_file))
        except OSError as error:
            findings.append(unreadable(filename, f"cannot be read: {error.strerror}", 1, 1))
        except UnreadableSource as error:
            findings.append(unreadable(filename, error.reason, error.row, error.column))
        except Exception as error:
            failures.append(FileFailure(filename, f"internal error: {describe(error)}"))
        else:
            facts[filename] = of_file
    rows = facts.items()
    return Prefiltered(
        tuple(name for name, row in rows if row.names_tpu),
        tuple(name for name, row in rows if row.of_home),
        tuple(name for name, row in rows if row.marked and name not in batch.context),
        tuple((name, row.placement) for name, row in rows if row.placement is not None),
        tuple(name for name, row in rows if row.script),
        tuple(spelling.found),
        tuple(findings),
        tuple(searched),
        tuple(failures),
        tuple((name, row.frameworks) for name, row in rows if row.frameworks),
    )


def _spelled(
    spelling: SpellingSearch, filename: str, facts: FileFacts, read: partial[bytes]
) -> NamesInFile:
    try:
        return spelling.look(filename, facts.names, read)
    except UnreadableSource:
        if facts.names_tpu:  # the program that begins in it reports that
            return facts.names
        raise


def _facts(
    filename: str, data: bytes, settings: Settings, graph: import_graph.ImportGraph | None
) -> FileFacts:
    """Search the bytes of a file; `graph` learns its import statements."""
    code = code_in(filename, data)
    written = tuple(import_graph.statements(code))
    if graph is not None and (code is not data or not filename.endswith(import_graph.NOTEBOOK)):
        graph.learn(os.path.abspath(filename), written)
    text = b"\0".join(chain.from_iterable(written))
    tpus = frontends.names_a_tpu(code)
    names_tpu = frontends.is_start(code, settings.boundary_names, tpus)
    return FileFacts(
        hashlib.sha256(text).hexdigest()[:16] if text else "",
        names_tpu,
        names_tpu and frontends.is_of_home(code),
        may_name_own_codes(code, tpus),
        is_script(code),
        frontends.placement_in(code),
        frontends.names_in(code),
        frontends.frameworks_in(text),
    )


def code_in(filename: str, data: bytes) -> bytes:
    """Return the code in the bytes of a file: most of a notebook is what its cells have printed.

    A notebook that is broken is given back as it is.
    """
    if not filename.endswith(import_graph.NOTEBOOK):
        return data
    from tpulint.notebook import python_cells

    cells = python_cells(data)
    return data if cells is None else cells


def merge(parts: Sequence[Prefiltered]) -> Prefiltered:
    return Prefiltered(*(tuple(chain.from_iterable(field)) for field in zip(*parts, strict=True)))


def unreadable(filename: str, reason: str, row: int, column: int) -> Finding:
    """Return the finding for a file that cannot be read."""
    place = Location(max(row, 1), max(column, 1))
    return Finding("TPU001", reason, Span(filename, place, place))


# The programs among the files of a batch.


def split_into_programs(
    batch: Batch, prefiltered: Prefiltered, graph: import_graph.ImportGraph, disk: Disk
) -> list[Job]:
    """Return the seeds by program; a program that reaches no file to report on is left out.

    `disk` is asked which package a file is of.
    """
    seeds = {os.path.abspath(name) for name in prefiltered.seeds}
    setters = {os.path.abspath(name): state for name, state in prefiltered.setters}
    names = {os.path.abspath(name): name for name in batch.filenames}
    everything = list(names)
    scripts = frozenset(map(os.path.abspath, prefiltered.scripts))
    ways = import_graph.importers(graph, everything)
    placement = SoftPlacement(ways, setters, scripts)
    to_report = set(everything).difference(map(os.path.abspath, batch.context))
    homes = by_home(map(os.path.abspath, prefiltered.of_homes), disk)
    jobs = []
    callers = import_graph.above(ways, seeds, everything)
    for group in import_graph.connected(graph, seeds, homes, callers):
        if not batch.context or not to_report.isdisjoint(group.all):
            states = ((path, placement.of(path)) for path in group.seeds)
            placed = tuple((path, state) for path, state in states if state is not None)
            shown_seeds = tuple(names[path] for path in group.seeds)
            shown_callers = tuple(names[path] for path in group.callers)
            jobs.append(Job(shown_seeds, placed, len(group.all), shown_callers))
    return jobs


# Find the entry points that start programs that turn soft device placement on.


class SoftPlacement:
    """Soft placement by entry point, all files by absolute path.

    `ways` are the importers of each file; `setters` ask for it; `scripts` are run as programs.
    """

    def __init__(
        self,
        ways: Mapping[str, Sequence[str]],
        setters: Mapping[str, str],
        scripts: Collection[str],
    ) -> None:
        self._setters = setters
        self._scripts = scripts
        self._importers = ways
        self._led_to: dict[str, set[str]] = {}
        """By state, the files that import one that asks for it; tests ask for themselves."""
        for state in (ON, PERHAPS):
            asking = [path for path, asked_for in setters.items() if asked_for == state]
            leading = [path for path in asking if not is_test(path)]
            self._led_to[state] = set(reachable(leading, self._importers_of)).union(asking)

    def of(self, path: str) -> str | None:
        """Return what holds where the module at `path` is run: ON in every program, or PERHAPS."""
        if not self._setters:
            return None
        states = {self._in_program(entry) for entry in self._programs(path)}
        return ON if states == {ON} else PERHAPS if states != {None} else None

    def _in_program(self, entry: str) -> str | None:
        """Return what the program that starts at `entry` asks for."""
        return next((state for state in (ON, PERHAPS) if entry in self._led_to[state]), None)

    def _importers_of(self, path: str) -> Sequence[str]:
        return self._importers.get(path, ())

    def _programs(self, path: str) -> list[str]:
        """Return the files that a program which runs the module at `path` starts from, no tests.

        Where nothing but tests leads there, it is a program of its own.
        """
        entries = [
            current
            for current in reachable([path], self._importers_of)
            if current in self._scripts or not self._importers_of(current)
        ]
        if is_test(path):
            return entries or [path]
        return [entry for entry in entries if not is_test(entry)] or [path]
