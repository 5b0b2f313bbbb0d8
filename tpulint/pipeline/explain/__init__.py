"""`tpulint explain`: what the analysis saw in a file, or at one of its lines."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tpulint.analysis.domain.events import Cluster, Computation
from tpulint.analysis.domain.program import Feed, Program
from tpulint.config import ConfigError
from tpulint.disk import DISK
from tpulint.output.explanation import Explanation, FileNote, FunctionNote, LineNote
from tpulint.pipeline import driver
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.explain import way_in
from tpulint.pipeline.explain.events import Recorded, by_place, events_in, in_words
from tpulint.pipeline.explain.looks import Looks
from tpulint.pipeline.explain.recorder import Recorder
from tpulint.pipeline.explain.resolution import Resolution
from tpulint.pipeline.explain.source_line import (
    dotted_names,
    function_rows,
    has_place,
    statement_rows,
)
from tpulint.pipeline.request import Request
from tpulint.rules import written
from tpulint.source import Source, UnreadableSource, read_source

CONTEXTS = 20  # of a line, in an account


def explain(request: Request, row: int | None) -> Explanation:
    """Return the account of the one path of `request`, or of its line `row`."""
    task = driver.discover(request)
    (filename,) = task.filenames
    path = os.path.abspath(filename)
    reasons = way_in.left_out(path, request.closest_or_one())
    try:
        source = read_source(filename, DISK.read(filename))
        rows = _rows(source, row)
    except OSError as error:
        return _unread(filename, [*reasons, f"it cannot be read: {error.strerror}"])
    except UnreadableSource as error:
        return _unread(filename, [*reasons, f"it cannot be parsed: {error.reason}"])
    except SyntaxError as error:
        return _unread(
            filename, [*reasons, f"it cannot be parsed: {error.msg} at line {error.lineno}"]
        )
    return _Account(task, source, rows, row, reasons).written()


def _rows(source: Source, row: int | None) -> range:
    """The rows of the statement at `row`; raises SyntaxError where the file is no Python."""
    if row is None:
        function_rows(source.text)
        return range(0)
    last = len(source.text.splitlines())
    if not 1 <= row <= last:
        raise ConfigError(f"{source.filename}: no line {row}: it has {last}")
    rows = statement_rows(source.text, row)
    if rows is None:
        raise ConfigError(f"{source.filename}: line {row} is not part of a statement")
    return rows


def _unread(filename: str, reasons: Sequence[str]) -> Explanation:
    return Explanation(filename, False, tuple(reasons), None, None)


class _Account:
    """One file in all programs that reach it, from the programs to the words."""

    def __init__(
        self,
        task: driver.Task,
        source: Source,
        rows: range,
        row: int | None,
        reasons: list[str],
    ) -> None:
        self.request = task.request
        self.source = source
        self.path = os.path.abspath(source.filename)
        self.rows = rows
        self.row = row
        self.reasons = reasons
        self.recorder = Recorder(self.path, rows, dotted_names(source.text, rows))
        self.looks = Looks()
        self.events: list[Recorded] = []
        self.read = False
        self._read_programs(task)

    def _read_programs(self, task: driver.Task) -> None:
        """Read the programs that reach the file, and run the rules on them."""
        batch, prefiltered, jobs = driver.programs_around(task, self.source.filename)
        batch = batch._replace(codes=frozenset(written()))  # one that is not selected looks, too
        self.looks.findings += driver.analyze_names(batch, prefiltered).findings
        self.reasons.append(way_in.prefilter(self.source.data, batch.settings.wrappers))
        for job in jobs:
            built = driver.read_program(batch, job, self.recorder)
            self.looks.findings += built.findings
            self.reasons += built.messages
            if built.program is not None:
                self.reasons += map(str, built.program.failures)
                self._look_at(built.program, job, batch)
        if not self.read:
            self.reasons.append(way_in.not_reached(self.path, jobs, self.recorder.passed))

    def _look_at(self, program: Program, job: Job, batch: Batch) -> None:
        if any(each.path == self.path for each in program.modules):
            self.read = True
            self.reasons.append(way_in.program_of(job, len(program.modules)))
        here = events_in(program, self.path, self.rows if self.row is not None else None)
        self.events += here
        results = driver.rule_results(program, batch)
        self.looks.run(program, results, here if self.row is not None else ())

    def written(self) -> Explanation:
        resolution = Resolution(self.request, self.source)
        file = line = None
        if self.row is not None:
            line = self._line(resolution)
        elif self.read:
            file = self._file(resolution)
        return Explanation(
            self.source.filename, self.read, tuple(dict.fromkeys(self.reasons)), file, line
        )

    def _file(self, resolution: Resolution) -> FileNote:
        return FileNote(
            in_words(each for each in self.events if isinstance(each, Computation)),
            in_words(each for each in self.events if isinstance(each, Cluster)),
            in_words(each for each in self.events if isinstance(each, Feed)),
            tuple(self._functions()),
            resolution.in_file(self.looks.findings),
        )

    def _functions(self) -> list[FunctionNote]:
        notes = []
        for row, name in function_rows(self.source.text):
            known = self.recorder.functions.get(row)
            lanes = tuple(sorted(known.lanes)) if known is not None else ()
            left_out = tuple(sorted(known.left_out)) if known is not None else ()
            notes.append(FunctionNote(name, row, lanes, left_out))
        return notes

    def _line(self, resolution: Resolution) -> LineNote:
        assert self.row is not None
        contexts = list(self.recorder.reached.values())
        return LineNote(
            self.row,
            self.source.text.splitlines()[self.row - 1].strip(),
            has_place(self.source.text, self.row),
            tuple(contexts[:CONTEXTS]),
            max(len(contexts) - CONTEXTS, 0),
            by_place([*in_words(self.events), *self.recorder.events()]),
            resolution.at(self.rows, self.looks.findings, self.looks),
        )
