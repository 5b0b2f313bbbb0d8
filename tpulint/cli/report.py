"""Report a check: the findings in the asked format, everything else on standard error."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TextIO

from tpulint.cli.writing import out, write_file
from tpulint.output import ALIASES, FOR_PEOPLE, load
from tpulint.output.context import Context
from tpulint.pipeline import driver


def report(options: argparse.Namespace, run: driver.Run, fixed: int, stream: TextIO) -> int:
    """Write the findings, and to standard error what else there is; the answer is the status."""
    style = ALIASES.get(options.output_format, options.output_format)
    for_people = style in FOR_PEOPLE
    context = context_of(options, run, fixed, for_people)
    if options.statistics:
        from tpulint.output.statistics import skipped_lines, statistics

        written = statistics(run.findings, run.times, style)
        run.say(skipped_lines(run.skipped))
    elif for_people and not run.findings:  # they end alike, and that is all they say of nothing
        from tpulint.output.summary import summary

        written = summary((), context)
    else:
        written = load(style)(run.findings, context)
    if run.hidden and not options.quiet and (not for_people or options.statistics):
        from tpulint.output.summary import hidden_lines

        run.say(hidden_lines(run.hidden, context.unset))
    say(options, run)
    if options.output_file is not None:
        write_file(options.output_file, written.encode("utf-8", "surrogateescape"))
    elif not options.silent:
        out(written, stream)
    return status(options, run, bool(run.findings))


def context_of(
    options: argparse.Namespace, run: driver.Run, fixed: int, for_people: bool
) -> Context:
    return Context(
        os.getcwd(),
        run.sources,
        dict(run.hidden),
        fixed,
        for_people and colored(options),
        quiet=options.quiet,
        incomplete=run.failed,
        unparsed=run.unparsed,
        files=run.files,
        unset=run.unset,
    )


def colored(options: argparse.Namespace) -> bool:
    """--color, and where that leaves it open, what the terminal and the environment say."""
    from tpulint.output.color import wanted

    if options.color != "auto":
        return bool(options.color == "always")
    return options.output_file is None and wanted(sys.stdout)


def say(options: argparse.Namespace, run: driver.Run) -> None:
    """Write the messages to standard error: errors always, warnings unless the run is quiet."""
    run.progress.end()
    if options.verbose:
        driver.say(run.notes)
    if options.silent:
        return
    quiet = options.quiet and not run.failed
    driver.say([each for each in run.messages if not (quiet and each.startswith("warning: "))])


def status(options: argparse.Namespace, run: driver.Run, found: bool) -> int:
    """The exit status of a run that is over."""
    if run.failed:
        return 2
    return 1 if found and not options.exit_zero else 0
