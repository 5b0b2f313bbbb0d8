"""`--fix`, `--fix-only` and `--diff`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from tpulint.cli.report import report, status, write_messages
from tpulint.cli.writing import out, overwrite
from tpulint.codes import CODES
from tpulint.finding import Finding
from tpulint.pipeline import driver
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.resolve import begun

if TYPE_CHECKING:
    from tpulint.diagnostics.fix import Fixed
    from tpulint.source import Source


def fix(options: argparse.Namespace, task: driver.Task) -> int:
    """Fix until nothing more can be fixed; write the files, or show the difference."""
    from tpulint.diagnostics.fix import fix_all

    last = begun(task)

    def again(given: Mapping[str, bytes]) -> tuple[Sequence[Finding], Mapping[str, Source]]:
        nonlocal last
        last = driver.check(task, given)
        return last.findings, last.sources

    fixed = fix_all(again, options.unsafe_fixes)
    task.progress.end()
    last.add_messages(fixed.messages)
    if options.diff:
        return show_difference(options, fixed, last)
    stdin = task.request.stdin
    if stdin is not None:
        if not options.silent:
            sys.stdout.buffer.write(fixed.files.get(task.request.stdin_filename, stdin))
        return report_fixes(options, fixed, last, sys.stderr)
    return report_fixes(options, fixed, write(task, fixed, last), sys.stdout)


def write(task: driver.Task, fixed: Fixed, result: CheckResult) -> CheckResult:
    """Write the files; what cannot be written keeps its findings."""
    unwritten = False
    for filename, data in sorted(fixed.files.items()):
        if not overwrite(filename, fixed.originals[filename], data, result):
            fixed.forget(filename)
            unwritten = True
    if not unwritten:
        return result
    again = driver.check(task)
    again.failures = list(dict.fromkeys([*result.failures, *again.failures]))
    again.add_messages(result.messages)
    return again


def show_difference(options: argparse.Namespace, fixed: Fixed, result: CheckResult) -> int:
    """--diff: the changes as a unified diff; exit status 1 where there are any."""
    from tpulint.diagnostics.fix import difference

    write_messages(options, result)
    if not options.silent:
        for filename, data in sorted(fixed.files.items()):
            out(difference(fixed.originals[filename], data), sys.stdout)
    would = fixed.counts.total()
    if would and not options.quiet and not options.silent:
        print(f"Would fix {number(would)}.", file=sys.stderr)
    return status(options, result, bool(fixed.files))


def report_fixes(
    options: argparse.Namespace, fixed: Fixed, result: CheckResult, stream: TextIO
) -> int:
    """Report what was fixed and what is left."""
    count = fixed.counts.total()
    if options.show_fixes and not options.silent and count:
        out(enumerated(fixed.codes), sys.stderr)
    if options.fix_only:
        write_messages(options, result)
        if count and not options.quiet and not options.silent:
            print(f"Fixed {number(count)}.", file=sys.stderr)
        return status(options, result, bool(count) and options.exit_non_zero_on_fix)
    found = report(options, result, count, stream)
    return found or status(options, result, bool(count) and options.exit_non_zero_on_fix)


def enumerated(codes: Mapping[str, Counter[str]]) -> str:
    """--show-fixes: the fixes by file and code, as ruff lists them."""
    total = sum(each.total() for each in codes.values())
    lines = [f"Fixed {number(total)}:"]
    for filename, counts in sorted(codes.items()):
        lines.append(f"- {filename}:")
        for code, count in sorted(counts.items(), key=lambda row: (-row[1], row[0])):
            lines.append(f"    {count} \N{MULTIPLICATION SIGN} {code} ({CODES[code].name})")
    return "\n".join(lines) + "\n\n"


def number(count: int) -> str:
    return "1 error" if count == 1 else f"{count} errors"
