"""From what failed at run time to what the analyzer says of the same lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from tpulint import app
from tpulint.codes import CODES
from tpulint.command import start_of
from tpulint.config import find_config
from tpulint.discover import shown
from tpulint.finding import Certainty, Finding, Span
from tpulint.output.ran import Fault
from tpulint.source import Source, read_all


class Failure(NamedTuple):
    """An error or a warning of the runtime that ended the program, or was given on its way.

    `place` is the user's "file:line" or empty; `frames` are the (file, line) that it passed,
    innermost last.
    """

    kind: str
    code: str
    place: str
    frames: tuple[tuple[str, int], ...]


class Explained(NamedTuple):
    """The faults with their findings, and the sources that those stand in."""

    faults: tuple[Fault, ...]
    sources: dict[str, Source]
    messages: tuple[str, ...]


def failure_of(error: BaseException | None) -> Failure | None:
    """The fault that `error` is, or that it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        code = str(getattr(error, "rule", ""))
        if code in CODES:
            place = getattr(error, "place", None) or ""
            return Failure(type(error).__name__, code, place, tuple(frames_of(error)))
        error = error.__cause__ or error.__context__
    return None


def frames_of(error: BaseException) -> Iterator[tuple[str, int]]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next


def explain(failures: list[Failure], program: str) -> Explained:
    """Asks the analyzer of each of them, as `tpulint check` would be asked of their files."""
    files = {os.path.abspath(line_of(each)[0]) for each in failures if each.place}
    files = {each for each in files if os.path.isfile(each)} or {os.path.abspath(program)}
    run = app.Run()
    findings = all_findings(tuple(sorted(files)), run)
    faults: list[Fault] = []
    for failure in failures:
        best = best_of(failure, findings)
        found = () if best is None else (app.trimmed(best),)
        faults.append(Fault(failure.kind, failure.code, shown_place(failure.place), found))
    told = [finding for fault in faults for finding in fault.findings]
    named = {step.span.filename for finding in told for step in finding.trace}
    named.update(finding.span.filename for finding in told)
    return Explained(tuple(faults), dict(read_all(sorted(named), {})), tuple(run.messages))


def all_findings(files: tuple[str, ...], run: app.Run) -> list[Finding]:
    """What the rules say of the program of `files`, suppressed or not: it did happen."""
    config = find_config(start_of(files, None))._replace(certainty=Certainty.POSSIBLE, jobs=1)
    request = app.Request(config, frozenset(CODES), files)
    task, started = app.prepare(request)
    run.messages += started.messages
    return app.analyse(sorted(task.filenames + task.context), {}, request, run).findings


def best_of(failure: Failure, findings: list[Finding]) -> Finding | None:
    """The finding of the failure's rule that stands, or whose explanation leads, where it arose."""
    places = [line_of(failure)] if failure.place else []
    places += [each for each in reversed(failure.frames) if each not in places]
    same = [each for each in findings if each.code == failure.code]
    for place in places:
        for finding in same:
            if holds(finding.span, place):
                return finding
    for place in places:
        for finding in same:
            if any(holds(step.span, place) for step in finding.trace):
                return finding
    return None


def holds(span: Span, place: tuple[str, int]) -> bool:
    filename, row = place
    if not span.start.row <= row <= span.end.row:
        return False
    return os.path.abspath(span.filename) == os.path.abspath(filename)


def line_of(failure: Failure) -> tuple[str, int]:
    filename, _, row = failure.place.rpartition(":")
    return filename, int(row)


def shown_place(place: str) -> str:
    filename, colon, row = place.rpartition(":")
    return f"{shown(filename)}{colon}{row}" if filename else place
