"""The commands of tpulint with their options, and what each of them runs; never a traceback."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from tpulint import __version__
from tpulint.cli.parser import Parser, completion
from tpulint.config import ConfigError
from tpulint.hardware import DEVICES
from tpulint.output import ALIASES, DEFAULT, FORMATS

Group = argparse._ActionsContainer  # the one base of parsers and of groups of options


AddOptions = Callable[[Parser], None]
# By name: what a command is for, what gives a parser its options, and what runs it, which is
# `module:function` within tpulint. The module is imported only then.
COMMANDS: dict[str, tuple[str, AddOptions, str]] = {}


def command(name: str, text: str, run: str) -> Callable[[AddOptions], AddOptions]:
    """Use a function to give the parser of a command its options."""

    def enter(add: AddOptions) -> AddOptions:
        COMMANDS[name] = (text, add, run)
        return add

    return enter


def fill(command: Parser, text: str, add: AddOptions, run: str) -> Parser:
    """Give the parser of a command its options."""
    command.description = f"{text[0].upper()}{text[1:]}."
    add(command)
    command.set_defaults(run=run)
    return command


def flag(group: Group, *names_and_help: str) -> None:
    *names, text = names_and_help
    group.add_argument(*names, action="store_true", help=text)


# The options that several commands have.


def add_certainty(group: Group) -> None:
    choices = ("definite", "possible", "unlikely")
    text = "possible: show uncertain findings too; unlikely: even those that seldom matter"
    group.add_argument("--certainty", choices=choices, help=text)


def add_target(group: Group) -> None:
    text = "the TensorFlow that the code is for"
    group.add_argument("--target-tensorflow", metavar="VERSION", help=text)


def add_cache_dir(group: Group) -> None:
    text = "the directory of the cache, or the URL of a shared one (TPULINT_CACHE_DIR)"
    group.add_argument("--cache-dir", metavar="DIR", help=text)


def add_color(group: Group) -> None:
    choices = ("auto", "always", "never")
    group.add_argument("--color", choices=choices, default="auto", help="auto: on a terminal")


def add_configuration(command: Group) -> None:
    text = "use this configuration file, or override this key (TOML)"
    command.add_argument("--config", action="append", metavar="FILE|KEY=VALUE", help=text)
    flag(command, "--isolated", "use no configuration file and no installed plug-in")
    add_plugins(command)


def add_plugins(command: Group) -> None:
    text = "load the rules and models in this directory"
    command.add_argument("--rules-dir", action="append", metavar="DIR", help=text)
    flag(command, "--no-plugins", "load no rules or models of installed packages")


# The options of `tpulint check`: ruff's names with ruff's meaning, and beside them our own.


@command("check", "report findings in files and directories", "cli.check:check")
def add_check(check: Parser) -> None:
    check.usage = "tpulint check [OPTIONS] [PATH ...]"
    text = "files, directories, or - for standard input (.)"
    check.add_argument("paths", nargs="*", metavar="PATH", help=text)
    group = check.add_argument_group("output")
    add = group.add_argument
    text = f"{', '.join(FORMATS)} ({DEFAULT}; TPULINT_OUTPUT_FORMAT)"
    default = os.environ.get("TPULINT_OUTPUT_FORMAT") or DEFAULT
    formats = [*FORMATS, *ALIASES]
    add("--output-format", choices=formats, default=default, metavar="FORMAT", help=text)
    add("-o", "--output-file", metavar="FILE", help="write the findings to FILE")
    flag(group, "--statistics", "show the number of findings and the time per rule")
    flag(group, "--show-files", "list the files that would be checked")
    flag(group, "--show-settings", "show the resolved settings of the first file")
    flag(group, "-w", "--watch", "check again whenever a file changes")
    add_selection(check)
    add_changes(check)
    group = check.add_argument_group("miscellaneous")
    add = group.add_argument
    add_target(group)
    flag(group, "-e", "--exit-zero", "exit 0 even if there are findings")
    flag(group, "-n", "--no-cache", "do not read or write the cache (TPULINT_NO_CACHE)")
    check.set_defaults(no_cache=bool(os.environ.get("TPULINT_NO_CACHE")))
    add_cache_dir(group)
    add("--jobs", type=int, metavar="N", help="the number of processes")
    add("--scheduler", metavar="ADDRESS", help="read the programs on this Dask cluster")
    add_color(group)
    level = check.add_argument_group("log levels").add_mutually_exclusive_group()
    flag(level, "-v", "--verbose", "report what the run does")
    flag(level, "-q", "--quiet", "print findings only")
    flag(level, "-s", "--silent", "print nothing")
    add_configuration(check.add_argument_group("configuration"))


def add_selection(check: Parser) -> None:
    group = check.add_argument_group("rule selection")
    codes = partial(group.add_argument, action="append", metavar="CODES")
    codes("--select", help="report only these codes, prefixes or names (ALL: every rule but TPU9)")
    codes("--ignore", help="do not report these codes")
    codes("--extend-select", help="report these codes as well")
    flag(group, "--performance", "report wasted time and memory of the TPU, too")
    text = "do not report CODE in files that match PATTERN (comma-separated list)"
    codes("--per-file-ignores", metavar="PATTERN:CODE", help=text)
    add_certainty(group)
    flag(group, "--ignore-noqa", "ignore suppression comments")
    group = check.add_argument_group("file selection")
    add = group.add_argument
    patterns = partial(add, action="append", metavar="PATTERNS")
    patterns("--exclude", help="replace the configured exclusions")
    patterns("--extend-exclude", help="exclude these as well")
    flag(group, "--force-exclude", "apply exclusions to named files too")
    add("--changed-since", metavar="REV", help="report only what changes since REV can affect")
    flag(group, "--staged", "report only what staged changes can affect")
    add("--shard", metavar="K/N", help="check the K-th of N parts; tpulint merge joins the reports")
    add("--stdin-filename", metavar="FILE", help="the file name of standard input")


def add_changes(check: Parser) -> None:
    group = check.add_argument_group("fixing")
    flag(group, "--fix", "apply the safe fixes")
    flag(group, "--unsafe-fixes", "include the unsafe fixes")
    flag(group, "--fix-only", "apply the fixes, but do not report what remains")
    flag(group, "--diff", "show what --fix-only would change, without writing")
    flag(group, "--show-fixes", "list the fixes that were applied")
    flag(group, "--exit-non-zero-on-fix", "exit 1 if a file was fixed")
    add = check.add_argument_group("adoption").add_argument
    add("--baseline", metavar="FILE", help="do not report findings in this baseline")
    add("--write-baseline", metavar="FILE", help="write the current findings to a baseline")
    add("--add-suppressions", metavar="REASON", help="suppress the current findings with comments")


# The other commands.


@command(
    "explain", "show how the analysis reads a project, a file or a line", "cli.commands:explain"
)
def add_explain(explain: Parser) -> None:
    text = "a directory, a file, or one of its lines"
    explain.add_argument("place", metavar="PATH[:LINE]", help=text)
    explain.add_argument("--output-format", choices=("text", "json"), default="text")
    add_certainty(explain)
    add_target(explain)
    flag(explain, "-n", "--no-cache", "do not read or write the cache")
    add_cache_dir(explain)
    add_configuration(explain)


@command("map", "draw a program: device, host, transfers and waits", "cli.commands:draw")
def add_map(command: Parser) -> None:
    add = command.add_argument
    add("place", metavar="PATH[:FUNCTION]", help="a file, or one of its functions")
    formats = ("text", "mermaid", "svg", "html")
    add("--output-format", choices=formats, default="text", help="the picture's format (text)")
    add("-o", "--output-file", metavar="FILE", help="write the picture to FILE")
    add_target(command)
    flag(command, "-n", "--no-cache", "do not read or write the cache")
    add_cache_dir(command)
    add_color(command)
    add_configuration(command)


@command("merge", "merge the reports of a sharded run", "cli.commands:merge")
def add_merge(command: Parser) -> None:
    add = command.add_argument
    add("reports", nargs="+", metavar="REPORT", help="a report of a shard: JSON, jsonl or SARIF")
    add("-o", "--output-file", metavar="FILE", help="write the report to FILE")
    flag(command, "-e", "--exit-zero", "exit 0 even if there are findings")
    add_plugins(command)


@command("rule", "explain a rule, or list all", "cli.commands:show_rule")
def add_rule(rule: Parser) -> None:
    rule.add_argument("code", nargs="?", metavar="CODE", help="a code or a name; all are listed")
    flag(rule, "--all", "explain every rule")
    rule.add_argument("--output-format", choices=("text", "markdown", "json"), default="text")
    add_plugins(rule)


@command("new-rule", "write the first version of a rule of your own", "cli.commands:new_rule")
def add_new_rule(command: Parser) -> None:
    add = command.add_argument
    add("code", metavar="NEW_CODE", help="three capitals and three digits, such as ABC101")
    add("name", metavar="NAME", help="two or more words in kebab-case")
    add("summary", metavar="SUMMARY", help="one line: what the rule reports")
    add("--directory", metavar="DIR", default="tpulint_rules", help="(tpulint_rules)")


STORAGE = (
    "the directory of the buckets: gs://BUCKET/OBJECT is DIR/BUCKET/OBJECT (.tpulint_storage); "
    "`cloud` leaves gs:// alone"
)


@command("run", "run a TPU program on this CPU", "run.command:run")
def add_run(command: Parser) -> None:
    """Its own options come first; from SCRIPT or -m on, all words are the program's."""
    command.usage = "tpulint run [OPTIONS] (SCRIPT | NOTEBOOK | -m MODULE) [ARGS...]"
    add = command.add_argument
    machine = command.add_mutually_exclusive_group().add_argument
    machine("--replicas", type=int, metavar="N", help="the number of cores (8)")
    machine("--topology", metavar="SPEC", help="chips and cores per chip, such as 2x2x2")
    hosts = command.add_mutually_exclusive_group().add_argument
    hosts("--hosts", type=int, metavar="N", help="the hosts that share the cores (1)")
    text = "the hosts, as HOST:PORT,HOST:PORT; each runs `tpulint worker`"
    hosts("--workers", metavar="ADDRESSES", help=text)
    flag(command, "--processes", "start a process per host")
    text = "a TPU whose host is another machine: it has no local files and no Python"
    flag(command, "--remote", text)
    add("--storage", metavar="DIR", help=STORAGE)
    text = "copy objects that the directory lacks from the cloud, with your credentials"
    flag(command, "--cloud-reads", text)
    add("--deadline", type=float, metavar="SECONDS", help="the time limit of one step")
    text = "never: XLA checks device programs, TensorFlow's kernels run them"
    add("--compile", choices=("always", "never"), default="always", help=text)
    flag(command, "-v", "--verbose", "show what TensorFlow writes at its start")
    add("--report", choices=("text", "html", "json"), default="text", help="the report's format")
    add("--device", choices=tuple(DEVICES), help="report memory and FLOPs of a step on this TPU")
    add("--report-file", metavar="FILE", help="write the report to FILE instead of standard error")
    rest = argparse.REMAINDER
    add("-m", dest="module", nargs=rest, metavar="MODULE", help="run a module, as python -m does")
    text = "the program or notebook, and its own arguments"
    add("program", nargs=rest, metavar="SCRIPT", help=text)


@command("server", "serve editors over the Language Server Protocol", "cli.commands:serve")
def add_server(server: Parser) -> None:
    text = "serve one client on a port of this machine"
    server.add_argument("--tcp", type=int, metavar="PORT", help=text)
    flag(server, "--stdio", "serve standard input (the default)")
    add_plugins(server)


@command("config", "show the configuration, or explain a key", "cli.commands:show_config")
def add_config(config: Parser) -> None:
    text = "a file or directory (.), or a key to explain"
    config.add_argument("path", nargs="?", default=".", metavar="PATH|KEY", help=text)
    flag(config, "--schema", "show its JSON schema instead")
    add_configuration(config)


@command("clean", "remove the cache", "cli.commands:clean")
def add_clean(clean: Parser) -> None:
    add_configuration(clean)
    clean.add_argument("--cache-dir", metavar="DIR")


@command(
    "generate-shell-completion",
    "print a completion script for a shell",
    "cli.options:print_completion",
)
def add_completion(completion: Parser) -> None:
    shells = ("bash", "zsh", "fish", "powershell")
    completion.add_argument("shell", choices=shells, metavar="SHELL", help=", ".join(shells))


@command(
    "worker",
    "act as one host of an emulated pod, for `tpulint run --workers`",
    "run.command:worker",
)
def add_worker(command: Parser) -> None:
    text = "the port to serve at (8470)"
    command.add_argument("--port", type=int, metavar="PORT", default=8470, help=text)
    command.add_argument("--storage", metavar="DIR", help=STORAGE)


@command("version", "show the version", "cli.options:print_version")
def add_nothing(command: Parser) -> None:
    """Add no option."""


# The command line.


def run(words: Sequence[str]) -> int:
    """Run the command that `words` name, and return the exit status."""
    try:
        if not words:  # nothing is checked, which is wrong usage
            sys.stdout.write(parser().format_help())
            sys.stdout.flush()
            return 2
        options = parse_options(words)
        module, _, function = options.run.partition(":")
        work: Callable[[argparse.Namespace], int]
        work = getattr(importlib.import_module(f"tpulint.{module}"), function)
        status = work(options)
        if module != "run.command":  # a program may have closed it
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
    name, *others = words
    if name in COMMANDS:
        return fill(Parser(prog=f"tpulint {name}"), *COMMANDS[name]).parse_args(others)
    return parser().parse_args(words)


def parser() -> Parser:
    top = Parser(prog="tpulint", description="Find the faults between TPU device and host code.")
    top.add_argument("-V", "--version", action="version", version=f"tpulint {__version__}")
    add = top.add_subparsers
    commands = add(prog="tpulint", title="commands", required=True, metavar="COMMAND")
    for name, row in COMMANDS.items():
        fill(commands.add_parser(name, help=row[0]), *row)
    return top


def print_completion(options: argparse.Namespace) -> int:
    sys.stdout.write(completion(parser(), options.shell))
    return 0


def print_version(options: argparse.Namespace) -> int:
    print(f"tpulint {__version__}")
    return 0
