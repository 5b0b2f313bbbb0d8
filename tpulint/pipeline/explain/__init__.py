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
from tpulint.pipeline.explain import way_in
from tpulint.pipeline.explain.events import Recorded, by_place, events_in, in_words
from tpulint.pipeline.explain.looks import Looks
from tpulint.pipeline.explain.recorder import Recorder
from tpulint.pipeline.explain.source_line import (
    dotted_names,
    function_rows,
    has_place,
    statement_rows,
)
from tpulint.pipeline.explain.verdicts import Verdicts
from tpulint.pipeline.jobs import Job, Run
from tpulint.pipeline.programs import of_names, programs, understand_job
from tpulint.pipeline.request import Request, settings_of
from tpulint.pipeline.screen import screen
from tpulint.source import Source, UnreadableSource, read_source

CONTEXTS = 20  # of a line, in an account


def explain(request: Request, row: int | None) -> Explanation:
    """Return the account of the one path of `request`, or of its line `row`."""
    task, _ = driver.prepare(request)
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
        raise ConfigError(f"{source.filename}: there is no line {row}: it has {last}")
    rows = statement_rows(source.text, row)
    if rows is None:
        raise ConfigError(f"{source.filename}: no statement begins or goes on at line {row}")
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
        self._understand(task)

    def _understand(self, task: driver.Task) -> None:
        """Read the programs that reach the file, and run the rules on them."""
        config = self.request.config_of(self.source.filename)
        settings = settings_of(config)
        ordered = tuple(sorted((*task.filenames, *task.context), key=os.path.abspath))
        context = frozenset(task.context)
        codes = self.request.codes
        run = Run(ordered, context, {}, codes, settings, self.request.cache)
        screened = screen(ordered, {}, settings, context)
        jobs = programs(run, screened)
        self.looks.findings += of_names(run, screened).findings
        self.reasons.append(way_in.prefilter(self.source.data, settings.wrappers))
        for job in jobs:
            understanding = understand_job(run, job, self.recorder)
            self.looks.findings += understanding.findings
            self.reasons += understanding.messages
            if understanding.program is not None:
                self._look_at(understanding.program, job)
        if not self.read:
            self.reasons.append(way_in.not_reached(self.path, jobs, self.recorder.passed))

    def _look_at(self, program: Program, job: Job) -> None:
        if any(each.path == self.path for each in program.modules):
            self.read = True
            self.reasons.append(way_in.program_of(job, len(program.modules)))
        here = events_in(program, self.path, self.rows if self.row is not None else None)
        self.events += here
        self.looks.run(program, here if self.row is not None else ())

    def written(self) -> Explanation:
        verdicts = Verdicts(self.request, self.source)
        file = line = None
        if self.row is not None:
            line = self._line(verdicts)
        elif self.read:
            file = self._file(verdicts)
        return Explanation(
            self.source.filename, self.read, tuple(dict.fromkeys(self.reasons)), file, line
        )

    def _file(self, verdicts: Verdicts) -> FileNote:
        return FileNote(
            in_words(each for each in self.events if isinstance(each, Computation)),
            in_words(each for each in self.events if isinstance(each, Cluster)),
            in_words(each for each in self.events if isinstance(each, Feed)),
            tuple(self._functions()),
            verdicts.in_file(self.looks.findings),
        )

    def _functions(self) -> list[FunctionNote]:
        notes = []
        for row, name in function_rows(self.source.text):
            known = self.recorder.functions.get(row)
            lanes = tuple(sorted(known.lanes)) if known is not None else ()
            left_out = tuple(sorted(known.left_out)) if known is not None else ()
            notes.append(FunctionNote(name, row, lanes, left_out))
        return notes

    def _line(self, verdicts: Verdicts) -> LineNote:
        assert self.row is not None
        contexts = list(self.recorder.reached.values())
        return LineNote(
            self.row,
            self.source.text.splitlines()[self.row - 1].strip(),
            has_place(self.source.text, self.row),
            tuple(contexts[:CONTEXTS]),
            max(len(contexts) - CONTEXTS, 0),
            by_place([*in_words(self.events), *self.recorder.events()]),
            verdicts.at(self.rows, self.looks.findings, self.looks),
        )
