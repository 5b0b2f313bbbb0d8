"""The output of a check: findings in their format, messages on standard error, whole files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import TextIO

from tpulint.check import driver
from tpulint.check.request import project_of, repository_of
from tpulint.check.resolve import CheckResult
from tpulint.cli.parser import columns
from tpulint.config import ConfigError
from tpulint.disk import is_inside, read_regular
from tpulint.incremental.model import FileFailure
from tpulint.output import ALIASES
from tpulint.output.text import shows_links, wanted
from tpulint.source import Source

# Report a check: the findings in the asked format, everything else on standard error.


def report(options: argparse.Namespace, result: CheckResult, fixed: int, stream: TextIO) -> int:
    """Write the findings, and the messages to standard error; the answer is the exit status."""
    context = result.context._replace(
        fixed=fixed,
        color=colored(options),
        width=WIDTH if options.output_file else width(),
        quiet=options.quiet,
        links=options.output_file is None and colored(options) and shows_links(sys.stdout),
    )
    output_format = ALIASES.get(options.output_format, options.output_format)
    result = result._replace(context=context)
    text, messages = driver.render(result, output_format, options.statistics)
    write_messages(options, result.with_messages(messages))
    if options.output_file is not None or not options.silent:
        write_output(options, text, stream)
    return status(options, result, bool(result.findings))


WIDTH = 100  # of what is no terminal


def width() -> int:
    """Return the columns of the terminal, within what can be read."""
    return min(max(columns() + 2, 40), 200) if sys.stdout.isatty() else WIDTH


def colored(options: argparse.Namespace) -> bool:
    """--color; where that is `auto`, what the terminal and the environment say."""
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
        print_messages(f"warning: {warning}" for warning in result.warnings)
    print_messages(result.messages)


def print_messages(messages: Iterable[str]) -> None:
    for message in messages:
        print(f"tpulint: {message}", file=sys.stderr)


def status(options: argparse.Namespace, result: CheckResult, has_findings: bool) -> int:
    """Return the exit status of a run that is over: 2 where something was not done."""
    return 2 if result.failures else int(has_findings and not options.exit_zero)


# Files and streams written whole, and never over another program's change.


def write_output(options: argparse.Namespace, text: str, stream: TextIO) -> None:
    """Write the text to the output file, or where there is none to the stream."""
    if options.output_file is not None:
        write_file(options.output_file, text.encode("utf-8", "surrogateescape"))
    else:
        out(text, stream)


def out(text: str, stream: TextIO) -> None:
    """Write UTF-8 whatever the locale says, as the files that the findings come from."""
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.buffer.flush()


def overwrite(filename: str, before: Source, data: bytes) -> FileFailure | None:
    """Replace the file; return a failure where it cannot, or another program changed it."""
    try:
        if leads_out(filename):
            raise OSError(0, "it is a link that leads out of the project")
        if read_regular(filename) != before.data:
            raise OSError(0, "it changed while tpulint ran; nothing was written")
        write_file(filename, data)
    except (OSError, ConfigError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        reason = cause.strerror if isinstance(cause, OSError) else str(error)
        return FileFailure(filename, f"cannot write the file: {reason}")
    return None


def write_file(path: str, data: bytes) -> None:
    """Write beside the file and move it there, so that no half-written file is ever seen."""
    import tempfile

    goal = os.path.realpath(path)
    if repository_of(os.path.abspath(path)) is not None and leads_out(path):
        raise ConfigError(f"{path}: cannot write: it is a link that leads out of the repository")
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:  # a device or a pipe
                file.write(data)
            return
        mode = os.stat(goal).st_mode & 0o7777 if os.path.exists(goal) else None
        if mode is not None and not os.access(goal, os.W_OK):
            raise PermissionError(13, "Permission denied")  # its directory alone would let us
        os.makedirs(os.path.dirname(goal), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(goal), prefix=".tpulint-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask if mode is None else mode)
            os.replace(temporary, goal)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ConfigError(f"{path}: cannot write: {error.strerror or error}") from error


def leads_out(path: str) -> bool:
    """Return whether a file of a project is a link to somewhere else."""
    full, here = os.path.abspath(path), os.getcwd()
    around = here if is_inside(os.path.dirname(full), here) else os.path.dirname(full)
    return os.path.islink(full) and not is_inside(full, project_of(full) or around)
