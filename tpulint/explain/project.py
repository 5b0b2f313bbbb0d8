"""The account of a project: its TPU programs, their entry points and files, and what is unread."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from tpulint.absint.resolver.import_graph import Files, ImportGraph, statements
from tpulint.check import driver
from tpulint.check.programs import code_in
from tpulint.check.request import Request
from tpulint.explain.events import in_words, place_at
from tpulint.explain.explanation import EventNote, PlaceNote
from tpulint.frontends import FRAMEWORKS, frameworks_in, frameworks_read, installed
from tpulint.frontends.tensorflow.program import Program
from tpulint.incremental.model import Batch, Job
from tpulint.output.context import Coverage
from tpulint.output.summary import coverage_line
from tpulint.output.text import shown


@dataclass(frozen=True)
class CallNotAnalyzed:
    """A call that was not analyzed. kind: as in SARIF's `callsNotAnalyzed`."""

    place: PlaceNote
    function: str
    kind: str
    reason: str


@dataclass(frozen=True)
class UnreadFile:
    """A file that is of no TPU program, and why."""

    filename: str
    reason: str


@dataclass(frozen=True)
class ProgramNote:
    """A TPU program. begins: the first file that names the TPU API. not_reached: functions."""

    begins: str
    entry_points: tuple[EventNote, ...]
    files: tuple[str, ...]
    not_analyzed: tuple[CallNotAnalyzed, ...]
    not_reached: tuple[tuple[PlaceNote, str], ...]


@dataclass(frozen=True)
class ProjectExplanation:
    """The TPU programs among some files. unread: the other files, each with the reason."""

    path: str
    files: int
    files_read: int
    programs: tuple[ProgramNote, ...]
    unread: tuple[UnreadFile, ...]
    failures: tuple[str, ...]


def explain_project(request: Request) -> ProjectExplanation:
    """Return the account of the files of `request`, under the settings of the first of them."""
    task = driver.discover(request)
    (path,) = request.paths
    if not task.filenames:
        return ProjectExplanation(path, 0, 0, (), (), tuple(map(str, task.failures)))
    wanted = frozenset(task.filenames)
    batch, graph = driver.programs_around(task, task.filenames[0])
    failures = [*task.failures, *graph.failures]
    notes = []
    for job in graph.programs.jobs:
        built = driver.read_program(batch, job).program
        if built is None:
            continue
        failures += built.failures
        note = _note(built, job, wanted)
        if built.is_for_tpu and note.files:
            notes.append(note)
    read = {name for note in notes for name in note.files}
    unread = tuple(_unread(batch, graph.programs.jobs, sorted(wanted - read)))
    words = tuple(map(str, failures))
    return ProjectExplanation(path, len(wanted), len(read), tuple(notes), unread, words)


def _note(program: Program, job: Job, wanted: frozenset[str]) -> ProgramNote:
    files = sorted(wanted.intersection(module.filename for module in program.modules))
    calls = []
    for call in program.unfollowed:
        if call.filename in wanted:
            place = PlaceNote(call.filename, call.row, call.column)
            calls.append(CallNotAnalyzed(place, call.function, call.kind, call.limit))
    functions = [(place_at(function.site), function.name) for function in program.unreached]
    functions = [(place, name) for place, name in functions if place.filename in wanted]
    functions.sort(key=lambda row: (row[0].filename, row[0].row))
    entries = in_words(program.computations)
    return ProgramNote(job.seeds[0], entries, tuple(files), tuple(calls), tuple(functions))


def _unread(batch: Batch, jobs: tuple[Job, ...], filenames: list[str]) -> Iterator[UnreadFile]:
    """Yield the files that are of no TPU program, each with what they use and why."""
    imports = ImportGraph(Files(batch.disk, installed=installed()))
    seeds = {os.path.abspath(seed) for job in jobs for seed in job.seeds}
    reached = {path for seed in sorted(seeds) for path in imports.reached(seed)}
    for filename in filenames:
        path = os.path.abspath(filename)
        try:
            data = batch.disk.read(path)
        except OSError as error:
            yield UnreadFile(filename, f"it cannot be read: {error.strerror}")
            continue
        why = "no TPU program imports it"
        if path in seeds:
            why = "it names the TPU API, but nothing in it is for a TPU"
        elif path in reached:
            why = "a program imports it, but nothing that was read needs it"
        imported = b"\0".join(chain.from_iterable(statements(code_in(filename, data))))
        used = [FRAMEWORKS[initial].name for initial in frameworks_in(imported)]
        yield UnreadFile(filename, f"{why}; uses {' and '.join(used)}" if used else why)


def project_text(project: ProjectExplanation) -> str:
    return "".join(f"{shown(line)}\n" for line in _lines(project))


def _lines(project: ProjectExplanation) -> Iterator[str]:
    coverage = Coverage(len(project.programs), project.files_read, project.files)
    yield f"{project.path}: {coverage_line(coverage)}"
    yield from (f"  {failure}" for failure in project.failures)
    for note in project.programs:
        yield f"program of {note.begins}:"
        yield "  entry points:"
        yield from (f"    {entry.place} [{entry.lane}] {entry.text}" for entry in note.entry_points)
        if not note.entry_points:
            yield "    none that builds a TPU computation"
        yield "  files:"
        yield from (f"    {name}" for name in note.files)
        if note.not_analyzed:
            yield "  calls that were not analyzed:"
        for call in note.not_analyzed:
            yield f"    {call.place} {call.function}: {call.reason}"
        if note.not_reached:
            libraries = " or ".join(frameworks_read())
            yield f"  functions that use {libraries}, and that nothing that was read calls:"
        yield from (f"    {place} {name}" for place, name in note.not_reached)
    if project.unread:
        yield "not read:"
    yield from (f"  {file.filename}: {file.reason}" for file in project.unread)
