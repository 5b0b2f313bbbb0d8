"""The findings of `tpulint check` in the files that ran, and the failures that they explain."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from tpulint import plugins
from tpulint.check import driver
from tpulint.check.request import start_of
from tpulint.check.resolve import truncate_trace
from tpulint.codes import CODES
from tpulint.config import Config, find_config
from tpulint.config.files import Closest
from tpulint.finding import Certainty, Finding, Span
from tpulint.frontends.tensorflow.target_release import Targets
from tpulint.incremental.memo import Memo
from tpulint.incremental.model import Analysis
from tpulint.run.failure import RunFailure, is_users, line_of
from tpulint.run.report import Checked, RunFault, shown_place
from tpulint.source import Source, read_all

# What only makes numbers wrong, in a way that no step can tell.
UNSEEN_AT_RUN_TIME = ("TPU713",)


# Explain a failure at run time by the findings on its lines.


class Explained(NamedTuple):
    """The faults with their findings, and the sources that those are in."""

    faults: tuple[RunFault, ...]
    sources: dict[str, Source]
    messages: tuple[str, ...]
    checked: Checked


def explain(
    failures: list[RunFailure],
    program: str,
    ran: Sequence[str] = (),
    release: str | None = None,
    own: tuple[str, ...] = (),
) -> Explained:
    """Ask the analyzer about each of them, as `tpulint check` of their files would.

    Where it is silent about an error that is not the runtime's, there is nothing to say. `ran` are
    the files to report on as a whole. release: TensorFlow's, which counts where none is stated.
    `own` begins the paths of the program's own package, which may be installed.
    """
    files = tuple(sorted({*files_of(failures, program, own), *ran}))
    start = start_of(files, None)
    plugins.require(plugins.choose([start]).options)
    config = find_config(start)
    # Where no project of a file says which TensorFlow it needs, the one that ran counts.
    if config.target_tensorflow is None and not any(Targets().of(file).stated for file in files):
        config = config._replace(target_tensorflow=release)
    # Suppressed or not: it did happen.
    everything = config._replace(certainty=Certainty.POSSIBLE, jobs=1)
    task = driver.discover(driver.Request(everything, frozenset(CODES), files))
    analysis = driver.analyze(task)
    findings = list(analysis.findings)
    faults: list[RunFault] = []
    for failure in failures:
        best = best_of(failure, findings)
        if best is None and not failure.code:
            continue
        finding = None if best is None else truncate_trace(best)
        code = best.code if best else failure.code
        place = shown_place(failure.place)
        faults.append(RunFault(failure.kind, code, place, finding, asked=not analysis.failures))
    of_files, messages = check_files(analysis, ran, task, config)
    explained = [fault.finding for fault in faults if fault.finding is not None]
    named = {step.span.filename for finding in explained for step in finding.trace}
    named.update(finding.span.filename for finding in (*explained, *of_files.findings))
    sources = dict(read_all(sorted(named), {}))
    return Explained(tuple(faults), sources, tuple(messages), of_files)


def files_of(
    failures: list[RunFailure], program: str, own: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the program, the files where they arose, and those on the way that are no library's.

    Files named one by one come with their project, where that can be told.
    """
    named = {line_of(failure)[0] for failure in failures if failure.place}
    for failure in failures:
        named.update(name for name, _ in failure.frames if is_users(name, own))
    if program.endswith((".py", ".ipynb")):
        named.add(program)
    return tuple(sorted(filter(os.path.isfile, {os.path.abspath(name) for name in named})))


def best_of(failure: RunFailure, findings: list[Finding]) -> Finding | None:
    """Return the finding that reports the failure, if there is one.

    That is one of its rules, at a line that it has passed or with a trace that leads through such a
    line, the innermost line first; where the failure arises anywhere, the one that `alone` returns.
    """
    places = [line_of(failure)] if failure.place else []
    places += [frame for frame in reversed(failure.frames) if frame not in places]
    same = [finding for rule in failure.rules for finding in findings if finding.code == rule]
    spans = (finding for place in places for finding in same if holds(finding.span, place))
    traces = (finding for place in places for finding in same if leads_through(finding, place))
    unique = alone(same) if failure.anywhere else ()
    return next(chain(spans, traces, unique), None)


def alone(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the first definite finding, or the only one; nothing where several rules report.

    Each definite finding of the rule is a fault that raises the error.
    """
    definite = [finding for finding in findings if finding.certainty is Certainty.DEFINITE]
    if definite:
        return definite[:1] if len({finding.code for finding in definite}) == 1 else ()
    return findings if len(findings) == 1 else ()


def leads_through(finding: Finding, place: tuple[str, int]) -> bool:
    return any(holds(step.span, place) for step in finding.trace)


def holds(span: Span, place: tuple[str, int]) -> bool:
    filename, row = place
    if not span.start.row <= row <= span.end.row:
        return False
    return os.path.abspath(span.filename) == os.path.abspath(filename)


# The findings of `tpulint check` in the files that a program has run.


def check_files(
    analysis: Analysis, files: Sequence[str], task: driver.Task, config: Config
) -> tuple[Checked, list[str]]:
    """Return what `tpulint check` with the user's configuration reports in `files`.

    The second value are its messages for standard error.
    """
    wanted = {os.path.abspath(file) for file in files}
    filenames = tuple(name for name in task.filenames if os.path.abspath(name) in wanted)
    request = task.request._replace(config=config, closest=Closest(config.root))
    part = task._replace(request=request, filenames=filenames, context=())
    result = driver.resolve(analysis, part, {}, Memo())
    unseen = (finding for finding in analysis.findings if finding.code in UNSEEN_AT_RUN_TIME)
    hints = [finding for finding in unseen if finding.span.filename in filenames]
    hidden = result.context.hidden
    number = sum(hidden.get(code, 0) for code in UNSEEN_AT_RUN_TIME)
    shown = tuple(hints) if len(hints) == number else ()  # all of them, none of which is suppressed
    checked_files = Checked(tuple(result.findings), len(filenames), hidden, shown)
    return checked_files, [*map(str, result.failures), *result.warnings, *result.messages]


def release_that_ran() -> str | None:
    """Return the release of TensorFlow that is imported now ("2.12"); None where it has none."""
    version = getattr(sys.modules.get("tensorflow"), "__version__", "")
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    return f"{major}.{minor}" if major.isdigit() and minor.isdigit() else None


def files_that_ran(own: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the Python files of the modules that are imported now and are no library's.

    `own` begins the paths of the program's own package, which may be installed.
    """
    named = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    files = {os.path.abspath(path) for path in named if isinstance(path, str)}
    users = (file for file in files if is_users(file, own))
    return tuple(sorted(user for user in users if user.endswith(".py") and os.path.isfile(user)))
