"""The commands of tpulint with their options, and what each of them runs; never a traceback."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from tpulint import __version__
from tpulint.cli.parser import Parser
from tpulint.config import ConfigError
from tpulint.hardware import DEVICES
from tpulint.output import ALIASES, DEFAULT, FORMATS

Group = argparse._ActionsContainer  # the one base of parsers and of groups of options

# The options of `tpulint check`: ruff's names with ruff's meaning, and beside them our own.

CACHE_DIR = "the directory of the cache, or the URL of a shared one (TPULINT_CACHE_DIR)"


def add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "paths", nargs="*", metavar="PATH", help="files, directories, or - for standard input (.)"
    )
    add_output(check.add_argument_group("output"))
    add_selection(check.add_argument_group("rule selection"))
    add_files(check.add_argument_group("file selection"))
    add_fixing(check.add_argument_group("fixing"))
    add_adoption(check.add_argument_group("adoption"))
    add_other(check.add_argument_group("miscellaneous"))
    add_levels(check.add_argument_group("log levels"))
    add_configuration(check.add_argument_group("configuration"))


def add_output(group: Group) -> None:
    group.add_argument(
        "--output-format",
        choices=[*FORMATS, *ALIASES],
        default=os.environ.get("TPULINT_OUTPUT_FORMAT") or DEFAULT,
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)} ({DEFAULT}; TPULINT_OUTPUT_FORMAT)",
    )
    add = group.add_argument
    add("-o", "--output-file", metavar="FILE", help="write the findings to FILE")
    add(
        "--statistics",
        action="store_true",
        help="show the number of findings and the time per rule",
    )
    add("--show-files", action="store_true", help="list the files that would be checked")
    add("--show-settings", action="store_true", help="show the resolved settings of the first file")
    add("-w", "--watch", action="store_true", help="check again whenever a file changes")


def add_selection(group: Group) -> None:
    add = group.add_argument
    codes = partial(add, action="append", metavar="CODES")
    codes("--select", help="report only these codes, prefixes or names (ALL: every rule but TPU9)")
    codes("--ignore", help="do not report these codes")
    codes("--extend-select", help="report these codes as well")
    add("--performance", action="store_true", help="report wasted time and memory of the TPU, too")
    add(
        "--per-file-ignores",
        action="append",
        metavar="PATTERN:CODE",
        help="do not report CODE in files that match PATTERN (comma-separated list)",
    )
    add(
        "--certainty",
        choices=("definite", "possible", "unlikely"),
        help="possible: show uncertain findings too; unlikely: even those that seldom matter",
    )
    add("--ignore-noqa", action="store_true", help="ignore suppression comments")


def add_files(group: Group) -> None:
    add = group.add_argument
    patterns = partial(add, action="append", metavar="PATTERNS")
    patterns("--exclude", help="replace the configured exclusions")
    patterns("--extend-exclude", help="exclude these as well")
    add("--force-exclude", action="store_true", help="apply exclusions to named files too")
    add("--changed-since", metavar="REV", help="report only what changes since REV can affect")
    add("--staged", action="store_true", help="report only what staged changes can affect")
    add("--shard", metavar="K/N", help="check the K-th of N parts; tpulint merge joins the reports")
    add("--stdin-filename", metavar="FILE", help="the file name of standard input")


def add_fixing(group: Group) -> None:
    add = group.add_argument
    add("--fix", action="store_true", help="apply the safe fixes")
    add("--unsafe-fixes", action="store_true", help="include the unsafe fixes")
    add("--fix-only", action="store_true", help="apply the fixes, but do not report what remains")
    add("--diff", action="store_true", help="show what --fix-only would change, without writing")
    add("--show-fixes", action="store_true", help="list the fixes that were applied")
    add("--exit-non-zero-on-fix", action="store_true", help="exit 1 if a file was fixed")


def add_adoption(group: Group) -> None:
    add = group.add_argument
    add("--baseline", metavar="FILE", help="do not report findings in this baseline")
    add("--write-baseline", metavar="FILE", help="write the current findings to a baseline")
    add("--add-suppressions", metavar="REASON", help="suppress the current findings with comments")


def add_other(group: Group) -> None:
    add = group.add_argument
    add("--target-tensorflow", metavar="VERSION", help="the TensorFlow that the code is for")
    add("-e", "--exit-zero", action="store_true", help="exit 0 even if there are findings")
    add(
        "-n",
        "--no-cache",
        action="store_true",
        default=bool(os.environ.get("TPULINT_NO_CACHE")),
        help="do not read or write the cache (TPULINT_NO_CACHE)",
    )
    add("--cache-dir", metavar="DIR", help=CACHE_DIR)
    add("--jobs", type=int, metavar="N", help="the number of processes")
    add("--scheduler", metavar="ADDRESS", help="read the programs on this Dask cluster")
    add("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")


def add_levels(group: Group) -> None:
    level = group.add_mutually_exclusive_group()
    level.add_argument("-v", "--verbose", action="store_true", help="report what the run does")
    level.add_argument("-q", "--quiet", action="store_true", help="print findings only")
    level.add_argument("-s", "--silent", action="store_true", help="print nothing")


def add_configuration(command: Group) -> None:
    command.add_argument(
        "--config",
        action="append",
        metavar="FILE|KEY=VALUE",
        help="use this configuration file, or override this key (TOML)",
    )
    command.add_argument(
        "--isolated", action="store_true", help="use no configuration file and no installed plug-in"
    )
    add_plugins(command)


def add_plugins(command: Group) -> None:
    command.add_argument(
        "--rules-dir",
        action="append",
        metavar="DIR",
        help="load the rules and models in this directory",
    )
    command.add_argument(
        "--no-plugins", action="store_true", help="load no rules or models of installed packages"
    )


# The commands of tpulint, and what each of them runs; never a traceback.


def run(words: Sequence[str]) -> int:
    """Run the command that `words` name, and return the exit status."""
    try:
        options = parse_options(words)
        module, _, function = options.run.partition(":")
        work: Callable[[argparse.Namespace], int]
        work = getattr(importlib.import_module(module), function)
        status = work(options)
        if module != "tpulint.run.command":  # a program may have closed it
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
        from tpulint.incremental.model import describe

        print(f"tpulint: internal error: {describe(error)}", file=sys.stderr)
        return 2


def parse_options(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command in use; the parsers of the others are not made for it."""
    if not words:
        return argparse.Namespace(run="tpulint.cli.options:print_help")
    if words[0] in COMMANDS:
        return command_parser(words[0]).parse_args(words[1:])
    return parser().parse_args(words)


def parser() -> Parser:
    """Return the parser of all commands."""
    top = Parser(prog="tpulint", description="Find the faults between TPU device and host code.")
    top.add_argument("-V", "--version", action="version", version=f"tpulint {__version__}")
    commands = top.add_subparsers(
        prog="tpulint", title="commands", required=True, metavar="COMMAND"
    )
    for name, (text, add, function) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        add(command)
        command.set_defaults(run=function)
    return top


def command_parser(name: str) -> Parser:
    """Return the parser of one command alone."""
    text, add, function = COMMANDS[name]
    command = Parser(prog=f"tpulint {name}", description=f"{text[0].upper()}{text[1:]}.")
    add(command)
    command.set_defaults(run=function)
    return command


def add_checking(check: Parser) -> None:
    check.usage = "tpulint check [OPTIONS] [PATH ...]"
    add_check(check)


def add_explain(explain: Parser) -> None:
    add = explain.add_argument
    add("place", metavar="PATH[:LINE]", help="a directory, a file, or one of its lines")
    add("--output-format", choices=("text", "json"), default="text")
    add(
        "--certainty",
        choices=("definite", "possible", "unlikely"),
        help="possible: show uncertain findings too; unlikely: even those that seldom matter",
    )
    add("--target-tensorflow", metavar="VERSION", help="the TensorFlow that the code is for")
    add("-n", "--no-cache", action="store_true", help="do not read or write the cache")
    add("--cache-dir", metavar="DIR", help=CACHE_DIR)
    add_configuration(explain)


def add_map(command: Parser) -> None:
    add = command.add_argument
    add("place", metavar="PATH[:FUNCTION]", help="a file, or one of its functions")
    formats = ("text", "mermaid", "svg", "html")
    add("--output-format", choices=formats, default="text", help="the picture's format (text)")
    add("-o", "--output-file", metavar="FILE", help="write the picture to FILE")
    add("--target-tensorflow", metavar="VERSION", help="the TensorFlow that the code is for")
    add("-n", "--no-cache", action="store_true", help="do not read or write the cache")
    add("--cache-dir", metavar="DIR", help=CACHE_DIR)
    add("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
    add_configuration(command)


def add_rule(rule: Parser) -> None:
    rule.add_argument("code", nargs="?", metavar="CODE", help="a code or a name; all are listed")
    rule.add_argument("--all", action="store_true", help="explain every rule")
    rule.add_argument("--output-format", choices=("text", "markdown", "json"), default="text")
    add_plugins(rule)


def add_new_rule(command: Parser) -> None:
    add = command.add_argument
    add("code", metavar="NEW_CODE", help="three capitals and three digits, such as ABC101")
    add("name", metavar="NAME", help="two or more words in kebab-case")
    add("summary", metavar="SUMMARY", help="one line: what the rule reports")
    add("--directory", metavar="DIR", default="tpulint_rules", help="(tpulint_rules)")


def add_merge(command: Parser) -> None:
    add = command.add_argument
    add("reports", nargs="+", metavar="REPORT", help="a report of a shard: JSON, jsonl or SARIF")
    add("-o", "--output-file", metavar="FILE", help="write the report to FILE")
    add("-e", "--exit-zero", action="store_true", help="exit 0 even if there are findings")
    add_plugins(command)


def add_server(server: Parser) -> None:
    server.add_argument(
        "--tcp", type=int, metavar="PORT", help="serve one client on a port of this machine"
    )
    server.add_argument("--stdio", action="store_true", help="serve standard input (the default)")
    add_plugins(server)


def add_config(config: Parser) -> None:
    config.add_argument(
        "path",
        nargs="?",
        default=".",
        metavar="PATH|KEY",
        help="a file or directory (.), or a key to explain",
    )
    config.add_argument("--schema", action="store_true", help="show its JSON schema instead")
    add_configuration(config)


def add_clean(clean: Parser) -> None:
    add_configuration(clean)
    clean.add_argument("--cache-dir", metavar="DIR")


def add_completion(completion: Parser) -> None:
    shells = ("bash", "zsh", "fish", "powershell")
    completion.add_argument("shell", choices=shells, metavar="SHELL", help=", ".join(shells))


def add_nothing(command: Parser) -> None:
    """Add no option."""


STORAGE = (
    "the directory of the buckets: gs://BUCKET/OBJECT is DIR/BUCKET/OBJECT (.tpulint_storage); "
    "`cloud` leaves gs:// alone"
)


def add_run(command: Parser) -> None:
    """Its own options come first; from SCRIPT or -m on, all words are the program's."""
    command.usage = "tpulint run [OPTIONS] (SCRIPT | NOTEBOOK | -m MODULE) [ARGS...]"
    add = command.add_argument
    machine = command.add_mutually_exclusive_group()
    machine.add_argument("--replicas", type=int, metavar="N", help="the number of cores (8)")
    machine.add_argument(
        "--topology", metavar="SPEC", help="chips and cores per chip, such as 2x2x2"
    )
    hosts = command.add_mutually_exclusive_group()
    hosts.add_argument("--hosts", type=int, metavar="N", help="the hosts that share the cores (1)")
    hosts.add_argument(
        "--workers",
        metavar="ADDRESSES",
        help="the hosts, as HOST:PORT,HOST:PORT; each runs `tpulint worker`",
    )
    add("--processes", action="store_true", help="start a process per host")
    add(
        "--remote",
        action="store_true",
        help="a TPU whose host is another machine: it has no local files and no Python",
    )
    add("--storage", metavar="DIR", help=STORAGE)
    add(
        "--cloud-reads",
        action="store_true",
        help="copy objects that the directory lacks from the cloud, with your credentials",
    )
    add("--deadline", type=float, metavar="SECONDS", help="the time limit of one step")
    add(
        "--compile",
        choices=("always", "never"),
        default="always",
        help="never: XLA checks device programs, TensorFlow's kernels run them",
    )
    add("-v", "--verbose", action="store_true", help="show what TensorFlow writes at its start")
    add("--report", choices=("text", "html", "json"), default="text", help="the report's format")
    add("--device", choices=tuple(DEVICES), help="report memory and FLOPs of a step on this TPU")
    add("--report-file", metavar="FILE", help="write the report to FILE instead of standard error")
    rest = argparse.REMAINDER
    add("-m", dest="module", nargs=rest, metavar="MODULE", help="run a module, as python -m does")
    add(
        "program",
        nargs=rest,
        metavar="SCRIPT",
        help="the program or notebook, and its own arguments",
    )


def add_worker(command: Parser) -> None:
    command.add_argument(
        "--port", type=int, metavar="PORT", default=8470, help="the port to serve at (8470)"
    )
    command.add_argument("--storage", metavar="DIR", help=STORAGE)


def print_help(options: argparse.Namespace) -> int:
    """Print what there is; the exit status is that of wrong usage, for nothing was checked."""
    sys.stdout.write(parser().format_help())
    return 2


def print_completion(options: argparse.Namespace) -> int:
    from tpulint.cli.parser import completion

    sys.stdout.write(completion(parser(), options.shell))
    return 0


def print_version(options: argparse.Namespace) -> int:
    print(f"tpulint {__version__}")
    return 0


# By name: a line on what it is for, what gives a parser its options, and `module:function` of what
# runs it, which is imported only then.
COMMANDS: dict[str, tuple[str, Callable[[Parser], None], str]] = {
    "check": ("report findings in files and directories", add_checking, "tpulint.cli.check:check"),
    "explain": (
        "show how the analysis reads a project, a file or a line",
        add_explain,
        "tpulint.cli.commands:explain",
    ),
    "map": (
        "draw a program: device, host, transfers and waits",
        add_map,
        "tpulint.cli.commands:draw",
    ),
    "merge": ("merge the reports of a sharded run", add_merge, "tpulint.cli.commands:merge"),
    "rule": ("explain a rule, or list all", add_rule, "tpulint.cli.commands:show_rule"),
    "new-rule": (
        "write the first version of a rule of your own",
        add_new_rule,
        "tpulint.cli.commands:new_rule",
    ),
    "run": ("run a TPU program on this CPU", add_run, "tpulint.run.command:run"),
    "server": (
        "serve editors over the Language Server Protocol",
        add_server,
        "tpulint.cli.commands:serve",
    ),
    "config": (
        "show the configuration, or explain a key",
        add_config,
        "tpulint.cli.commands:show_config",
    ),
    "clean": ("remove the cache", add_clean, "tpulint.cli.commands:clean"),
    "generate-shell-completion": (
        "print a completion script for a shell",
        add_completion,
        "tpulint.cli.options:print_completion",
    ),
    "worker": (
        "act as one host of an emulated pod, for `tpulint run --workers`",
        add_worker,
        "tpulint.run.command:worker",
    ),
    "version": ("show the version", add_nothing, "tpulint.cli.options:print_version"),
}
