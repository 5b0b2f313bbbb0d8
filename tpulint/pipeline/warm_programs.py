"""The programs of a project between two checks, and the part of one that concerns a file.

A large program takes longer to read than an editor's user waits. So the entry points that reach
the edited file are read first, without the others. Others can matter to what is found in the
file (they share state with it), so that look is trusted only where, before the edit, it found in
the file what the whole program finds (`rehearse`); and the whole is read afterwards all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.finding import Finding
from tpulint.frontends.tensorflow.program import Program
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.executor import ProgramStep
from tpulint.pipeline.lanes import LaneRecorder
from tpulint.syntax.warm_summaries import WarmStore

ProgramKey = tuple[tuple[str, ...], frozenset[tuple[str, str]]]


class ReadProgram(NamedTuple):
    """A program that was read: the files it depends on (absolute), and what was found.

    `program` is None where the reading failed; `lanes` says where its functions are called.
    """

    files: frozenset[str]
    analysis: Analysis
    program: Program | None
    lanes: LaneRecorder


class Reading(NamedTuple):
    """A program of a batch that may have to be read, and the step that analyzes it."""

    batch: Batch
    key: ProgramKey
    job: Job
    graph: ImportGraph
    step: ProgramStep


class WarmPrograms:
    """The programs with what was found in each, as long as its files are the same."""

    def __init__(self, store: WarmStore, checkpoint: Callable[[], None]) -> None:
        self._store = store
        self._checkpoint = checkpoint
        self._read: dict[ProgramKey, ReadProgram] = {}
        self._outdated: dict[ProgramKey, ReadProgram] = {}
        self._parts: dict[ProgramKey, ReadProgram] = {}
        self._trusted: dict[tuple[ProgramKey, str], bool] = {}

    def forget(self, changed: Collection[str]) -> None:
        """Note that files (absolute) have other bytes."""
        for key, found in list(self._read.items()):
            if not found.files.isdisjoint(changed):
                self._outdated[key] = self._read.pop(key)

    def begin_anew(self) -> None:
        for known in (self._read, self._outdated, self._parts):
            known.clear()
        self._trusted.clear()

    def keep(self, keys: Collection[ProgramKey]) -> None:
        """Drop all programs but these."""
        for known in (self._read, self._outdated, self._parts):
            for key in [each for each in known if each not in keys]:
                del known[key]

    def known(self, key: ProgramKey) -> Analysis | None:
        """Return what was found in a program none of whose files has changed."""
        found = self._read.get(key)
        return None if found is None else found.analysis

    def of(self, path: str) -> Iterator[ReadProgram]:
        """Yield the programs that read the module at `path`; parts, where those are newer."""
        for key in {*self._read, *self._outdated}:
            found = self._read.get(key) or self._parts.get(key) or self._outdated[key]
            if path in found.files and found.program is not None:
                yield found

    def read(self, reading: Reading) -> Analysis:
        """Read the program, and keep what is found."""
        self._checkpoint()
        key = reading.key
        self._read[key] = self._analyzed(reading)
        self._outdated.pop(key, None)
        self._parts.pop(key, None)
        return self._read[key].analysis

    def in_part(self, reading: Reading, first: str) -> Analysis | None:
        """Return what its part of the program finds in `first`, and what was found in the others.

        None where that part cannot be trusted, or is the whole.
        """
        key = reading.key
        before = self._outdated.get(key)
        part = part_of(reading.job, reading.graph, first)
        if before is None or part is None or not self._trusted.get((key, first)):
            return None
        self._parts[key] = self._analyzed(reading._replace(job=part))
        found = Analysis(messages=before.analysis.messages)
        found.read = True
        found.skipped = before.analysis.skipped
        found.unfollowed = before.analysis.unfollowed
        found.findings = [
            *(each for each in before.analysis.findings if not is_in(each, first)),
            *(each for each in self._parts[key].analysis.findings if is_in(each, first)),
        ]
        return found

    def rehearse(self, reading: Reading, first: str) -> None:
        """Find out if the part that concerns a file finds in it what the whole program finds.

        Nothing ends that the first time: who types at once would never get an early answer.
        """
        key = reading.key
        part = part_of(reading.job, reading.graph, first)
        if part is not None and key in self._read:
            batch = reading.batch
            batch = batch if (key, first) in self._trusted else batch._replace(checkpoint=None)
            found = self._analyzed(reading._replace(batch=batch, job=part)).analysis
            self._trusted[key, first] = set(here(found.findings, first)) == set(
                here(self._read[key].analysis.findings, first)
            )

    def _analyzed(self, reading: Reading) -> ReadProgram:
        batch, job = reading.batch, reading.job
        seeds = map(os.path.abspath, job.seeds)
        reached = frozenset().union(*(reading.graph.reached(each) for each in seeds))
        self._store.begin()
        lanes = LaneRecorder(batch.checkpoint)
        analysis, program = reading.step(batch, job, lanes, self._store)
        modules = frozenset(each.path for each in program.modules) if program else frozenset()
        return ReadProgram(reached | modules, analysis, program, lanes)


def key_of(job: Job) -> ProgramKey:
    """Return the identity of a program between two checks."""
    return (job.seeds, frozenset(job.placed))


def part_of(job: Job, graph: ImportGraph, first: str) -> Job | None:
    """Return the entry points that reach the file `first`; None where that is none of them, or all.

    Those that import others come before these: what is called is then read only once.
    """
    reached = {each: graph.reached(os.path.abspath(each)) for each in job.seeds}
    seeds = [each for each in job.seeds if first in reached[each]]
    if not 0 < len(seeds) < len(job.seeds):
        return None
    seeds.sort(key=lambda each: -len(reached[each]))
    return job._replace(seeds=tuple(seeds))


def here(findings: Iterable[Finding], path: str) -> Iterator[Finding]:
    return (each for each in findings if is_in(each, path))


def is_in(finding: Finding, path: str) -> bool:
    return os.path.abspath(finding.span.filename) == path
