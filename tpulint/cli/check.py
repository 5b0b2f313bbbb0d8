"""`tpulint check`: from the options to a request, from its result to the output or to fixes."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TextIO

from tpulint.check import driver
from tpulint.check.progress import Progress, TerminalProgress
from tpulint.check.request import one_per_directory
from tpulint.check.resolve import CheckResult, initial_result
from tpulint.cli.parser import columns
from tpulint.cli.report import out, overwrite, report, status, write_file, write_messages
from tpulint.cli.request import request_of
from tpulint.codes import CODES
from tpulint.config import ConfigError
from tpulint.config.files import FILES
from tpulint.diagnostics.fix import Fixed, difference, fix_all
from tpulint.diagnostics.suppress import annotate
from tpulint.finding import Finding
from tpulint.incremental.disk import stamp, states_requirements
from tpulint.incremental.model import FileFailure
from tpulint.output.summary import errors
from tpulint.source import Source

# `--watch`: check again whenever a file or a configuration changes, until Ctrl-C.

PAUSE = 0.5  # seconds
CLEAR = "\x1bc"


def watch(options: argparse.Namespace) -> int:
    """Check, wait for a change, and check again; only Ctrl-C ends it."""
    gc.enable()  # this process does not end with the check
    paths = with_configurations([])

    def state() -> dict[str, str | None]:
        """Return the stamp of each file; of the last ones, while none can be found."""
        nonlocal paths
        with contextlib.suppress(ConfigError):
            task = driver.discover(request_of(options))
            paths = with_configurations([*task.filenames, *task.context])
        return {path: stamp(path) for path in paths}

    while True:
        before = state()
        if sys.stdout.isatty():
            sys.stdout.write(CLEAR)
        try:
            check_once(options)
        except ConfigError as error:
            print(f"tpulint: {error}", file=sys.stderr)
        sys.stdout.flush()
        print("tpulint: watching for changes (Ctrl-C ends)", file=sys.stderr, flush=True)
        now, pause = before, PAUSE
        while now == before:
            time.sleep(pause)
            start = time.monotonic()
            now = state()
            pause = max(PAUSE, 10 * (time.monotonic() - start))


def with_configurations(files: Sequence[str]) -> list[str]:
    """Return the files, their requirements, and every place for one of their configurations."""
    folders: set[str] = set()
    for folder in {os.getcwd(), *(os.path.dirname(os.path.abspath(file)) for file in files)}:
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    paths = [*files, *(os.path.join(folder, name) for folder in folders for name in FILES)]
    for folder in folders:
        with contextlib.suppress(OSError):
            names = filter(states_requirements, os.listdir(folder))
            paths += [os.path.join(folder, name) for name in names]
    return paths


# `tpulint check`: from the options to a request, and from its result to the output.


def check(options: argparse.Namespace) -> int:
    """Run the check and report its findings; the answer is the exit status."""
    if options.show_settings:
        return show_settings(options)
    return watch(options) if options.watch else check_once(options)


def check_once(options: argparse.Namespace) -> int:
    request = request_of(options)
    progress = progress_of(options)
    reports = options.statistics or options.write_baseline or options.add_suppressions
    fixes = options.fix or options.fix_only or options.diff
    try:
        task = described(driver.discover(request, progress))
        if options.show_files:
            return show_files(options, task)
        if fixes or (options.unsafe_fixes and not reports):
            return fix(options, task)
        result = driver.check(task)
        progress.end()
        if options.write_baseline:
            return write_baseline(options, result)
        if options.add_suppressions:
            return add_suppressions(options, result)
        return report(options, result, 0, sys.stdout)
    finally:
        progress.end()


def progress_of(options: argparse.Namespace) -> Progress:
    """Return a line on standard error, where that is a terminal and the run is not a quiet one."""
    quiet = options.quiet or options.silent or options.verbose
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return Progress()
    return TerminalProgress(sys.stderr, columns())


def described(task: driver.Task) -> driver.Task:
    """Note for --verbose what is going to be checked, and by which configurations."""
    request = task.request
    around = f", with {len(task.context)} files of their project" if task.context else ""
    task = task.noting(f"{len(task.filenames)} files to check{around}")
    some = one_per_directory(task.filenames[:10_000])
    configs = {request.config_of(filename).file for filename in some} or {None}
    for file in sorted(config or "" for config in configs):
        task = task.noting(f"configuration: {file or 'none, the defaults apply'}")
    return task.noting(f"cache: {request.cache or 'not used'}")


def show_files(options: argparse.Namespace, task: driver.Task) -> int:
    """--show-files: absolute, one a line, as ruff shows them."""
    result = initial_result(task)
    write_messages(options, result)
    for filename in task.filenames:
        print(filename if filename == driver.STDIN else os.path.abspath(filename))
    return status(options, result, False)


def show_settings(options: argparse.Namespace) -> int:
    """--show-settings: every key for the first file, with where its value comes from."""
    from tpulint.output.reference import settings

    options.show_settings = False
    task = driver.discover(request_of(options))
    if not task.filenames:
        raise ConfigError("--show-settings: no Python files found under the given path(s)")
    first = task.filenames[0]
    print(f"# Settings of {os.path.abspath(first)}")
    sys.stdout.write(settings(task.request.config_of(first)))
    result = initial_result(task)
    write_messages(options, result)
    return status(options, result, False)


def write_baseline(options: argparse.Namespace, result: CheckResult) -> int:
    from tpulint.diagnostics import baseline

    path = options.write_baseline
    write_messages(options, result)
    write_file(path, baseline.write(result.findings, result.context.sources, path).encode())
    number = len(result.findings)
    if not options.quiet and not options.silent:
        print(f"Wrote {number} {'finding' if number == 1 else 'findings'} to {path}.")
    return status(options, result, False)


def add_suppressions(options: argparse.Namespace, result: CheckResult) -> int:
    added = 0
    failures: list[FileFailure] = []
    sources = result.context.sources
    annotated = annotate(result.findings, sources, options.add_suppressions)
    for filename, (data, number) in annotated.items():
        if data is None:
            failures.append(FileFailure(filename, "no place for a suppression comment"))
        elif failure := overwrite(filename, sources[filename], data):
            failures.append(failure)
        else:
            added += number
    result = result.with_failures(failures)
    write_messages(options, result)
    if not options.quiet and not options.silent:
        print(f"Added {added} {'suppression' if added == 1 else 'suppressions'}.")
    return status(options, result, False)


# `--fix`, `--fix-only` and `--diff`.


def fix(options: argparse.Namespace, task: driver.Task) -> int:
    """Fix until nothing more can be fixed; write the files, or show the difference."""
    last = initial_result(task)

    def again(overlay: Mapping[str, bytes]) -> tuple[Sequence[Finding], Mapping[str, Source]]:
        nonlocal last
        last = driver.check(task, overlay)
        return last.findings, last.context.sources

    fixed = fix_all(again, options.unsafe_fixes)
    task.progress.end()
    last = last.with_messages(fixed.messages)
    if options.diff:
        return show_difference(options, fixed, last)
    stdin = task.request.stdin
    if stdin is None:
        return report_fixes(options, fixed, write(task, fixed, last), sys.stdout)
    if not options.silent:
        sys.stdout.buffer.write(fixed.files.get(task.request.stdin_filename, stdin))
    return report_fixes(options, fixed, last, sys.stderr)


def write(task: driver.Task, fixed: Fixed, result: CheckResult) -> CheckResult:
    """Write the files; what cannot be written keeps its findings."""
    failures = []
    for filename, data in sorted(fixed.files.items()):
        if (failure := overwrite(filename, fixed.originals[filename], data)) is not None:
            failures.append(failure)
            fixed.forget(filename)
    if not failures:
        return result
    again = driver.check(task).with_messages(result.messages)
    every = dict.fromkeys([*result.failures, *failures, *again.failures])
    return again._replace(failures=tuple(every))


def show_difference(options: argparse.Namespace, fixed: Fixed, result: CheckResult) -> int:
    """--diff: the changes as a unified diff; exit status 1 where there are any."""
    write_messages(options, result)
    if not options.silent:
        for filename, data in sorted(fixed.files.items()):
            out(difference(fixed.originals[filename], data), sys.stdout)
    would = fixed.counts.total()
    if would and not options.quiet and not options.silent:
        print(f"Would fix {errors(would)}.", file=sys.stderr)
    return status(options, result, bool(fixed.files))


def report_fixes(
    options: argparse.Namespace, fixed: Fixed, result: CheckResult, stream: TextIO
) -> int:
    count = fixed.counts.total()
    exit_status = 0
    if options.show_fixes and not options.silent and count:
        out(enumerated(fixed.codes), sys.stderr)
    if not options.fix_only:
        exit_status = report(options, result, count, stream)
    else:
        write_messages(options, result)
        if count and not options.quiet and not options.silent:
            print(f"Fixed {errors(count)}.", file=sys.stderr)
    return exit_status or status(options, result, bool(count) and options.exit_non_zero_on_fix)


def enumerated(codes: Mapping[str, Counter[str]]) -> str:
    """--show-fixes: the fixes by file and code, as ruff lists them."""
    total = sum(code.total() for code in codes.values())
    lines = [f"Fixed {errors(total)}:"]
    for filename, counts in sorted(codes.items()):
        lines.append(f"- {filename}:")
        for code, count in sorted(counts.items(), key=lambda row: (-row[1], row[0])):
            lines.append(f"    {count} \N{MULTIPLICATION SIGN} {code} ({CODES[code].name})")
    return "\n".join(lines) + "\n\n"
