"""The account of a file, or of one of its lines: its statement, its names, what was seen there."""

from __future__ import annotations

import ast
import contextlib
import io
import keyword
import os
import tokenize
from collections.abc import Iterator, Sequence

from tpulint.absint.domain.events import Cluster, Computation
from tpulint.absint.domain.program import Feed
from tpulint.check import driver
from tpulint.check.discover import ignored, ignores_above, with_ignore_file
from tpulint.check.request import Request, project_of
from tpulint.codes import codes_by_default
from tpulint.config import ConfigError
from tpulint.config.files import Closest
from tpulint.disk import read_regular
from tpulint.explain import events
from tpulint.explain.explanation import Explanation, FileNote, FunctionNote, LineNote
from tpulint.frontends import is_start, sign_in
from tpulint.incremental.model import Job
from tpulint.source import Source, UnreadableSource, read_source

# `tpulint explain`: what the analysis saw in a file, or at one of its lines.

CONTEXTS = 20  # of a line, in an account


def explain(request: Request, row: int | None) -> Explanation:
    """Return the account of the one path of `request`, or of its line `row`."""
    task = driver.discover(request)
    (filename,) = task.filenames
    path = os.path.abspath(filename)
    reasons = left_out(path, request.config_resolver())
    try:
        source = read_source(filename, read_regular(filename))
        rows = _rows(source, row)
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
    except UnreadableSource as error:
        problem = f"it cannot be parsed: {error.reason}"
    except SyntaxError as error:
        problem = f"it cannot be parsed: {error.msg} at line {error.lineno}"
    else:
        return _Account(task, source, rows, reasons).written(row)
    return Explanation(filename, False, (*reasons, problem), None, None)


def _rows(source: Source, row: int | None) -> range:
    """Return the rows of the statement at `row`; raises SyntaxError where the file is no Python."""
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


class _Account:
    """One file in all programs that reach it, from the programs to the words."""

    def __init__(self, task: driver.Task, source: Source, rows: range, reasons: list[str]) -> None:
        self.request = task.request
        self.source = source
        self.path = os.path.abspath(source.filename)
        self.reasons = reasons
        self.recorder = events.Recorder(self.path, rows, dotted_names(source.text, rows))
        self.looks = events.Looks()
        self.events: list[events.Recorded] = []
        self.read = False
        self._read_programs(task)

    def _read_programs(self, task: driver.Task) -> None:
        """Read the programs that reach the file, and run the rules on them."""
        batch, graph = driver.programs_around(task, self.source.filename)
        # One that is not selected looks, too.
        batch = batch._replace(codes=batch.codes | codes_by_default())
        names = driver.analyze_names(batch, graph.programs)
        self.looks.findings += [*graph.findings, *names.findings]
        self.reasons.append(prefilter(self.source.data, batch.settings.boundary_names))
        for job in graph.programs.jobs:
            with self.recorder.losses.noting():
                built = driver.read_program(batch, job, self.recorder)
            self.looks.findings += built.findings
            program = built.program
            if program is None:
                continue
            self.reasons += map(str, program.failures)
            if any(module.path == self.path for module in program.modules):
                self.read = True
                roots = ", ".join(job.seeds[:ROOTS]) + (", ..." if len(job.seeds) > ROOTS else "")
                modules = len(program.modules)
                number = f"{modules} module{'s' if modules != 1 else ''} read"
                self.reasons.append(f"read in the program of {roots} ({number})")
            rows = self.recorder.rows or None
            here = events.events_in(program, self.path, rows)
            self.events += here
            results = driver.rule_results(program, batch)
            self.looks.run(program, results, here if rows else ())
        if not self.read:
            self.reasons.append(
                not_reached(self.path, graph.programs.jobs, self.recorder.skipped_calls)
            )

    def written(self, row: int | None) -> Explanation:
        resolution = events.Resolution(self.request, self.source)
        line = self._line(row, resolution) if row is not None else None
        file = self._file(resolution) if row is None and self.read else None
        reasons = tuple(dict.fromkeys(self.reasons))
        return Explanation(self.source.filename, self.read, reasons, file, line)

    def _file(self, resolution: events.Resolution) -> FileNote:
        functions = []
        for row, name in function_rows(self.source.text):
            lanes, left_out = self.recorder.lanes[row], self.recorder.left_out[row]
            functions.append(FunctionNote(name, row, tuple(sorted(lanes)), tuple(sorted(left_out))))
        return FileNote(
            events.in_words(event for event in self.events if isinstance(event, Computation)),
            events.in_words(event for event in self.events if isinstance(event, Cluster)),
            events.in_words(event for event in self.events if isinstance(event, Feed)),
            tuple(functions),
            resolution.in_file(self.looks.findings),
        )

    def _line(self, row: int, resolution: events.Resolution) -> LineNote:
        contexts = list(self.recorder.reached.values())
        return LineNote(
            row,
            self.source.line(row).strip(),
            has_place(self.source.text, row),
            tuple(contexts[:CONTEXTS]),
            max(len(contexts) - CONTEXTS, 0),
            events.by_place([*events.in_words(self.events), *self.recorder.events()]),
            resolution.at(self.recorder.rows, self.looks),
        )


# One line of a file as it is written: the rows of its statement, and the names in it.

# Statements of which the summary language keeps no place.
UNPLACED = ast.Import | ast.ImportFrom | ast.Pass | ast.Global | ast.Nonlocal
UNPLACED |= ast.ClassDef | ast.Break | ast.Continue


def statement_rows(text: str, row: int) -> range | None:
    """Return the rows of the innermost statement at `row`, None where there is none.

    Of a statement with a body, only the rows above the body count.
    """
    statement = _statement(text, row)
    if statement is None:
        return None
    last = statement.end_lineno or statement.lineno
    body: list[ast.stmt] = getattr(statement, "body", [])
    if body:
        last = max(statement.lineno, _first(body[0]) - 1)
    return range(_first(statement), last + 1) if row <= last else None


def has_place(text: str, row: int) -> bool:
    """Return whether the summary language knows where the statement at `row` is."""
    statement = _statement(text, row)
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return not isinstance(statement, UNPLACED)


def _statement(text: str, row: int) -> ast.stmt | None:
    statement: ast.stmt | None = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and _first(node) <= row <= (node.end_lineno or node.lineno):
            statement = node  # a walk goes from the outside to the inside
    return statement


def function_rows(text: str) -> list[tuple[int, str]]:
    """Return the rows of the functions and their names, in the order of the file."""
    nodes = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return sorted((node.lineno, node.name) for node in nodes)


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def dotted_names(text: str, rows: range) -> list[str]:
    """Return the names and dotted names in `rows`, each once, in the order of the text.

    Of `self.total.assign` these are `self`, `self.total` and `self.total.assign`.
    """
    lines = text.splitlines(keepends=True)[rows.start - 1 : rows.stop - 1]
    names: list[str] = []
    before = ""  # the dotted name that ends at the last token
    dot = False
    for token in _tokens("".join(lines).lstrip()):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            before = f"{before}.{token.string}" if dot and before else token.string
            if not dot or "." in before:
                names.append(before)
            dot = False
        elif token.string == ".":
            dot = True
        else:
            before, dot = "", False
    return list(dict.fromkeys(names))


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of `text` as far as it can be tokenized."""
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(text).readline)


# The reason why a file is part of an analysis, or is not.

ROOTS = 3  # of a program, in an account


def left_out(path: str, closest: Closest) -> list[str]:
    """Return why a check of the folder around the absolute `path` leaves it out."""
    reasons = []
    if closest.excludes(path):
        config = closest.of_file(path)
        where = os.path.relpath(config.file) if config.file else "default"
        reasons.append(f"excluded by the {where} configuration, unless it is named")
    folder = os.path.dirname(path)
    if ignored(with_ignore_file(folder, ".gitignore", ignores_above(folder)), path):
        reasons.append("ignored by git, so left out unless it is named")
    return reasons


def prefilter(data: bytes, wrappers: Sequence[str]) -> str:
    if not is_start(data, wrappers):
        return "prefilter: it names nothing of the TPU API, so only an import leads to it"
    sign = sign_in(data)
    return f"prefilter: it names the TPU API{f' ({sign})' if sign else ''}"


def not_reached(path: str, jobs: Sequence[Job], passed: set[str]) -> str:
    """Return why a file that can be parsed was not read."""
    if passed:
        names = ", ".join(sorted(passed))
        return (
            f"not reached: {names} of it is called on the host only, where a module is read "
            "only if it can change a finding"
        )
    if jobs:
        return "not reached: a program imports it, but no name that was read leads into it"
    project = os.path.relpath(project_of(path) or os.path.dirname(path))
    return f"not reached: no file of its project, {project}, names the TPU API and imports it"
