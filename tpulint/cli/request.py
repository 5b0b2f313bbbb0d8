"""From the options of `tpulint check` to the request of a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tpulint.cli.overrides import closest, listed
from tpulint.config import ConfigError
from tpulint.config.readers import codes
from tpulint.diagnostics.rule_selection import RuleSelection
from tpulint.disk import MEBIBYTE, SOURCE_LIMIT_BYTES
from tpulint.pipeline import driver
from tpulint.pipeline.cache_place import NO_CACHE, cache_place
from tpulint.pipeline.discover import shown, unreadable
from tpulint.pipeline.request import codes_by, start_of

FIXING = ("fix", "fix_only", "diff")
ALONE = ("statistics", "write_baseline", "add_suppressions", "show_files", "show_settings")


def request_of(options: argparse.Namespace) -> driver.Request:
    """Return the request. Raises ConfigError for values and combinations that make no sense."""
    paths = tuple(options.paths) or (".",)
    refuse_contradictions(options, paths)
    start = start_of(paths, options.stdin_filename)
    way = closest(options, start)
    config = way.of(start)
    if options.baseline:
        from tpulint.diagnostics import baseline

        baseline.read(options.baseline)  # what is wrong with it is said before the work
    place = NO_CACHE if options.no_cache else cache_place(config, start)
    layer = RuleSelection(
        listed("--select", options.select, codes),
        listed("--extend-select", options.extend_select, codes) or (),
        listed("--ignore", options.ignore, codes) or (),
    )
    return driver.Request(
        config,
        codes_by(config, layer),
        paths,
        stdin() if driver.STDIN in paths else None,
        shown(options.stdin_filename) if options.stdin_filename else driver.STDIN,
        options.force_exclude,
        place.directory,
        suppressions=not options.ignore_noqa,
        closest=way,
        layer=layer,
        changed_since=options.changed_since,
        shard=shard_of(options.shard),
        scheduler=options.scheduler,
        timed=options.statistics,
        warnings=place.warnings,
    )


def stdin() -> bytes:
    """Return standard input. Raises ConfigError where it is too large."""
    data = sys.stdin.buffer.read(SOURCE_LIMIT_BYTES + 1)
    if len(data) > SOURCE_LIMIT_BYTES:
        raise ConfigError(f"- is larger than {SOURCE_LIMIT_BYTES // MEBIBYTE} MiB")
    return data


def request_of_file(command: str, options: argparse.Namespace, path: str) -> driver.Request:
    """Return the request of a check of that one file. Raises ConfigError where it is no file."""
    if not path:
        raise ConfigError(f"{command}: '' is not a path")
    if os.path.isdir(path):
        raise ConfigError(f"{command}: {path} is a directory: give one file")
    if not os.path.lexists(path):
        raise ConfigError(f"{path}: no such file or directory")
    fault = unreadable(path)
    if fault is not None:
        raise ConfigError(f"{path}: {fault}")
    start = os.path.dirname(os.path.abspath(path))
    way = closest(options, start)
    config = way.of(start)
    place = NO_CACHE if options.no_cache else cache_place(config, start)
    return driver.Request(
        config,
        codes_by(config, RuleSelection()),
        (path,),
        cache=place.directory,
        closest=way,
        warnings=place.warnings,
    )


def refuse_contradictions(options: argparse.Namespace, paths: Sequence[str]) -> None:
    """Raise ConfigError for options that do not go together."""
    given = vars(options)
    if "" in paths:
        raise ConfigError("'' is not a path")
    used = [name for name in (*FIXING, *ALONE) if given[name] not in (None, False)]
    alone = [name for name in used if name in ALONE]
    other = next((name for name in used if alone and name != alone[0]), None)
    if other is not None:
        raise ConfigError(f"{option(other)}: not allowed with argument {option(alone[0])}")
    if options.add_suppressions is not None and not options.add_suppressions.strip():
        raise ConfigError("--add-suppressions: give a reason")
    if options.scheduler and (options.watch or any(given[name] for name in FIXING)):
        raise ConfigError("--scheduler: not allowed with --watch or an option that fixes")
    if options.diff and options.show_fixes:
        raise ConfigError("--diff: not allowed with argument --show-fixes")
    if driver.STDIN in paths:
        if tuple(paths) != (driver.STDIN,):
            raise ConfigError("- (standard input) cannot be combined with other paths")
        if options.write_baseline or options.add_suppressions:
            raise ConfigError("- cannot be combined with --write-baseline or --add-suppressions")
        if options.watch or options.changed_since:
            raise ConfigError("- cannot be combined with --watch or --changed-since")
        if options.shard:
            raise ConfigError("- cannot be combined with --shard")
        if options.scheduler:
            raise ConfigError("- cannot be combined with --scheduler")
    elif options.stdin_filename:
        raise ConfigError("--stdin-filename needs - (standard input)")


def shard_of(text: str | None) -> tuple[int, int] | None:
    """Return the number of a shard and how many there are. Raises ConfigError."""
    if text is None:
        return None
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ConfigError(f"--shard: {text!r} is not K/N, such as 1/4 for the first of four")
    return int(number), int(count)


def option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
