"""The words of the command line, and never a traceback."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tpulint import __version__
from tpulint.config import ConfigError, nearest


class Help(argparse.HelpFormatter):
    """argparse's own, which is made for every option, but told the width: no need of shutil."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns())


def columns() -> int:
    """The width of the help text, as argparse would choose it."""
    try:
        width = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size().columns
    except (ValueError, OSError):
        width = 80
    return width - 2


class Parser(argparse.ArgumentParser):
    """argparse, naming the nearest right option or value in one line."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=Help, **given)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tpulint: {message}{self.hint(message)}\n")

    def hint(self, message: str) -> str:
        import re

        known = [*self.options(), *(word for each in self.commands() for word in each.options())]
        unknown = re.search(r"unrecognized arguments: (-[\w-]+)", message)
        if unknown:
            return nearest(unknown[1], known)
        wrong = re.search(r"invalid choice: '?([^' ]+)'?", message)
        choices = [str(word) for action in self._actions for word in action.choices or ()]
        return nearest(wrong[1], choices) if wrong else ""

    def options(self) -> list[str]:
        return [word for action in self._actions for word in action.option_strings]

    def commands(self) -> list[Parser]:
        """The parsers of the commands below this one."""
        choices = (action.choices for action in self._actions if isinstance(action.choices, dict))
        return [each for group in choices for each in group.values() if isinstance(each, Parser)]


def run(given: Sequence[str]) -> int:
    """Runs the command that is `given`; the answer is the exit status."""
    try:
        options = parser().parse_args(given)
        command: Callable[[argparse.Namespace], int] = options.run
        status = command(options)
        if command is not run_program:  # that one may have closed it
            sys.stdout.flush()
        return status
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except ConfigError as error:
        print(f"tpulint: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has gone: `tpulint check | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except Exception as error:  # whatever it is, the user gets one line
        from tpulint.pipeline.projects import describe

        print(f"tpulint: internal error: {describe(error)}", file=sys.stderr)
        return 2


def parser() -> Parser:
    top = Parser(prog="tpulint", description="Finds the faults between TPU device and host code.")
    top.add_argument("-V", "--version", action="version", version=f"tpulint {__version__}")
    commands = top.add_subparsers(
        prog="tpulint", title="commands", required=True, metavar="COMMAND"
    )
    add_check(commands.add_parser("check", help="report findings in files and directories"))
    rule = commands.add_parser("rule", help="explain a rule")
    rule.add_argument("code", nargs="?", metavar="CODE")
    rule.add_argument("--all", action="store_true", help="explain every rule")
    rule.add_argument("--output-format", choices=("text", "markdown", "json"), default="text")
    rule.set_defaults(run=run_rule)
    add_run(commands.add_parser("run", help="run a TPU program on this CPU"))
    config = commands.add_parser("config", help="show the configuration that a run here would use")
    add_configuration(config)
    config.set_defaults(run=run_config)
    clean = commands.add_parser("clean", help="remove the cache")
    add_configuration(clean)
    clean.add_argument("--cache-dir", metavar="DIR")
    clean.set_defaults(run=run_clean)
    version = commands.add_parser("version", help="show the version")
    version.set_defaults(run=run_version)
    return top


def add_configuration(command: argparse.ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument("--config", metavar="FILE", help="use this configuration file")
    which.add_argument("--isolated", action="store_true", help="use no configuration file")


def add_check(check: argparse.ArgumentParser) -> None:
    from tpulint.output import FORMATS

    add = check.add_argument
    add("paths", nargs="*", metavar="PATH", help="files, directories, or - for standard input")
    add("--stdin-filename", metavar="FILE", help="the name that standard input goes by")
    add("--select", metavar="CODES", help="report these codes or prefixes only (ALL: every one)")
    add("--ignore", metavar="CODES", help="do not report these codes or prefixes")
    add("--extend-select", metavar="CODES", help="report these as well")
    add("--certainty", choices=("definite", "possible"), help="possible: show the unsure ones too")
    add("--target-tensorflow", metavar="VERSION", help="the TensorFlow that the code is for")
    formats = ", ".join(FORMATS)
    add("--output-format", choices=[*FORMATS], default="text", metavar="FORMAT", help=formats)
    add("--output-file", metavar="FILE", help="write the findings there")
    mend = check.add_mutually_exclusive_group()
    mend.add_argument("--fix", action="store_true", help="apply the safe fixes")
    mend.add_argument("--diff", action="store_true", help="show what --fix would change")
    mend.add_argument("--statistics", action="store_true", help="count the findings by code")
    mend.add_argument("--write-baseline", metavar="FILE", help="live with what is found now")
    mend.add_argument("--add-suppressions", metavar="REASON", help="suppress it all by comments")
    add("--unsafe-fixes", action="store_true", help="with --fix and --diff: the unsafe fixes too")
    add("--exit-zero", action="store_true", help="exit 0 also where something is found")
    add("--baseline", metavar="FILE", help="leave out the findings that this file knows")
    add("--no-cache", action="store_true", help="neither read nor write the cache")
    add("--cache-dir", metavar="DIR", help="where the cache lies")
    add("--jobs", type=int, metavar="N", help="how many processes work")
    add("--force-exclude", action="store_true", help="exclude also files that are named")
    add_configuration(check)
    check.set_defaults(run=run_check)


def add_run(command: argparse.ArgumentParser) -> None:
    """Its own options come first; from SCRIPT or -m on, all words are the program's."""
    command.usage = (
        "tpulint run [--replicas N | --topology SPEC] [--deadline SECONDS] [--report FORMAT] "
        "[--report-file FILE] (SCRIPT | NOTEBOOK | -m MODULE) [ARGS...]"
    )
    add = command.add_argument
    machine = command.add_mutually_exclusive_group()
    machine.add_argument("--replicas", type=int, metavar="N", help="how many cores there are (8)")
    machine.add_argument("--topology", metavar="SPEC", help="chips and cores a chip, as 2x2x2")
    add("--deadline", type=float, metavar="SECONDS", help="the longest that a step may take")
    add("--report", choices=("text", "html"), default="text", help="the report's format")
    add("--report-file", metavar="FILE", help="write the report there, not to standard error")
    rest = argparse.REMAINDER
    add("-m", dest="module", nargs=rest, metavar="MODULE", help="run a module, as python -m does")
    add(
        "program",
        nargs=rest,
        metavar="SCRIPT",
        help="the program or notebook, and its own arguments",
    )
    command.set_defaults(run=run_program)


def run_check(options: argparse.Namespace) -> int:
    from tpulint.cli.command import check

    return check(options)


def run_program(options: argparse.Namespace) -> int:
    from tpulint.cli.run.command import run

    return run(options)


def run_rule(options: argparse.Namespace) -> int:
    from tpulint.output.explain import explain

    if options.all == (options.code is not None):
        raise ConfigError("rule: give one CODE, or --all")
    sys.stdout.write(explain(options.code, options.output_format))
    return 0


def run_config(options: argparse.Namespace) -> int:
    from tpulint.cli.command import configuration
    from tpulint.output.explain import show_config

    sys.stdout.write(show_config(configuration(options, ".")))
    return 0


def run_clean(options: argparse.Namespace) -> int:
    import shutil

    from tpulint.cache_dir import is_ours
    from tpulint.cli.command import cache_directory, configuration

    directory = cache_directory(options, configuration(options, "."))
    if os.path.isdir(directory):
        if not is_ours(directory):
            raise ConfigError(f"{directory}: not removed: it is no cache of tpulint's")
        shutil.rmtree(directory)
        print(f"Removed {directory}")
    return 0


def run_version(options: argparse.Namespace) -> int:
    print(f"tpulint {__version__}")
    return 0
