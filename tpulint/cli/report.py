"""Report a check: the findings in the asked format, everything else on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TextIO

from tpulint.cli.writing import out, write_file
from tpulint.output import ALIASES
from tpulint.pipeline import driver
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.render import Style


def report(options: argparse.Namespace, result: CheckResult, fixed: int, stream: TextIO) -> int:
    """Write the findings, and the messages to standard error; the answer is the exit status."""
    rendered = driver.render(result, style_of(options, fixed))
    result.add_messages(rendered.messages)
    write_messages(options, result)
    if options.output_file is not None:
        write_file(options.output_file, rendered.text.encode("utf-8", "surrogateescape"))
    elif not options.silent:
        out(rendered.text, stream)
    return status(options, result, bool(result.findings))


def style_of(options: argparse.Namespace, fixed: int) -> Style:
    return Style(
        ALIASES.get(options.output_format, options.output_format),
        color=colored(options),
        quiet=options.quiet,
        statistics=options.statistics,
        fixed=fixed,
    )


def colored(options: argparse.Namespace) -> bool:
    """--color; where that is `auto`, what the terminal and the environment say."""
    from tpulint.output.text import wanted

    if options.color != "auto":
        return bool(options.color == "always")
    return options.output_file is None and wanted(sys.stdout)


def write_messages(options: argparse.Namespace, result: CheckResult) -> None:
    """Write the messages to standard error: failures always, warnings unless the run is quiet."""
    if options.verbose:
        print_messages(result.notes)
    if options.silent:
        return
    print_messages(map(str, result.failures))
    if not options.quiet or result.failures:
        print_messages(f"warning: {each}" for each in result.warnings)
    print_messages(result.messages)


def print_messages(messages: Iterable[str]) -> None:
    """Print messages to standard error."""
    for message in messages:
        print(f"tpulint: {message}", file=sys.stderr)


def status(options: argparse.Namespace, result: CheckResult, found: bool) -> int:
    """The exit status of a run that is over."""
    if result.failures:
        return 2
    return 1 if found and not options.exit_zero else 0
