"""From the options of `tpulint check` to the request of a run."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tpulint import plugins
from tpulint.check import driver
from tpulint.check.discover import shown, unreadable
from tpulint.check.request import CachePlace, cache_place, codes_by, start_of
from tpulint.config import Config, ConfigError, load_config, overridden
from tpulint.config.files import Closest, parse_toml
from tpulint.config.keys import KEYS, PATTERN_KEYS, absolute, read
from tpulint.config.readers import codes
from tpulint.diagnostics.resolve import RuleSelection
from tpulint.disk import MEBIBYTE, SOURCE_LIMIT_BYTES
from tpulint.output import WITHOUT_FIXES

# The command line's values, laid over the configuration of every file.


class Override(NamedTuple):
    """A key's value, already read, and the option that gave it; `adds`: to what is there."""

    key: str
    value: Any
    origin: str
    adds: bool = False


def activate(options: argparse.Namespace, start: str) -> tuple[str, ...]:
    """Load the plug-ins for a run on the directory `start`; the answer is lines about others.

    It comes before all configuration, which may name the codes of these plug-ins.
    """
    files = [path for path in vars(options).get("config") or () if os.path.isfile(path)]
    isolated = bool(vars(options).get("isolated"))
    choice = plugins.choose(
        files or [start], options.rules_dir or (), isolated=isolated, no_plugins=options.no_plugins
    )
    plugins.activate(choice.options)
    return choice.notes


def print_problems(notes: Iterable[str]) -> None:
    """Write the lines about plug-ins to standard error, where no check reports them."""
    for line in (*map(str, plugins.active().failures), *notes):
        print(f"tpulint: {line}", file=sys.stderr)


def closest(options: argparse.Namespace, start: str) -> Closest:
    """Return the way to each file's configuration.

    Where there is no configuration file, paths begin in the working directory, or in `start`
    where that is not below it.
    """
    here = os.getcwd()
    root = here if os.path.commonpath([here, os.path.abspath(start)]) == here else start
    values: list[str] = options.config or []
    files = [value for value in values if os.path.exists(value) or "=" not in value]
    if len(files) > 1:
        raise ConfigError("--config: give one file only")
    if files and options.isolated:
        raise ConfigError("--config FILE: not allowed with argument --isolated")
    fixed = load_config(files[0]) if files else None
    if options.isolated:
        fixed = Config(root=os.getcwd())
    overrides = [*inline(value for value in values if value not in files), *of_options(options)]
    return Closest(root, fixed, functools.partial(apply_overrides, tuple(overrides)))


def apply_overrides(overrides: Sequence[Override], config: Config) -> Config:
    """Return `config` with the command line's values over its own."""
    for key, value, origin, adds in overrides:
        before = getattr(config, KEYS[key].field) if adds else ()
        config = overridden(config, key, (*before, *value) if adds else value, origin)
    return config


def inline(pairs: Iterable[str]) -> list[Override]:
    """Return the values of --config KEY=VALUE.

    Its paths and patterns begin in the working directory.
    """
    overrides = []
    for pair in pairs:
        for key, value in parse_toml(f"--config {pair}", pair.encode()).items():
            try:
                if key == "extend":
                    raise ConfigError("extend can only be set in a configuration file")
                full = absolute(key, read(key, value), os.getcwd())
            except ConfigError as error:
                raise ConfigError(f"--config: {error}") from None
            overrides.append(Override(key, full, "--config"))
    return overrides


def of_options(options: argparse.Namespace) -> list[Override]:
    """Return the values of the options that have a key of their own."""
    values = vars(options)
    overrides: list[Override] = []

    def add(key: str, value: object, origin: str = "", adds: bool = False) -> None:
        try:
            full = absolute(key, KEYS[key].read(value), os.getcwd())
        except ConfigError as error:
            raise ConfigError(f"--{key}: {error}") from None
        overrides.append(Override(key, full, origin or f"--{key}", adds))

    for key in ("certainty", "target-tensorflow", "jobs", "cache-dir", "baseline"):
        if (value := values.get(KEYS[key].field)) is not None:
            add(key, value)
    cache = os.environ.get("TPULINT_CACHE_DIR")
    if cache and not values.get("cache_dir"):
        add("cache-dir", cache, "TPULINT_CACHE_DIR")
    for key in PATTERN_KEYS:
        if patterns := values.get(KEYS[key].field):
            add(key, split_commas(patterns), adds=key == "extend-exclude")
    if pairs := values.get("per_file_ignores"):
        add("per-file-ignores", pairs_by_pattern(split_commas(pairs)))
    if values.get("write_baseline"):
        overrides.append(Override("baseline", None, "--write-baseline"))
    return overrides


def split_commas(values: Iterable[str]) -> list[str]:
    """Return the words of a repeated option, between commas."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def pairs_by_pattern(pairs: Iterable[str]) -> dict[str, list[str]]:
    codes_by_pattern: dict[str, list[str]] = {}
    for pair in pairs:
        pattern, colon, code = pair.rpartition(":")
        if not colon or not pattern:
            raise ConfigError(f"--per-file-ignores: '{pair}' is not PATTERN:CODE")
        codes_by_pattern.setdefault(pattern.strip(), []).append(code.strip())
    return codes_by_pattern


def codes_of(options: argparse.Namespace, name: str) -> tuple[str, ...] | None:
    """Return the codes of a repeated option; None where it was not given."""
    values = vars(options).get(name)
    if values is None:
        return None
    try:
        return codes(split_commas(value.replace(" ", ",") for value in values))
    except ConfigError as error:
        raise ConfigError(f"{option(name)}: {error}") from None


FIXING = ("fix", "fix_only", "diff")
ALONE = ("statistics", "write_baseline", "add_suppressions", "show_files", "show_settings")


def request_of(options: argparse.Namespace) -> driver.Request:
    """Return the request. Raises ConfigError for values and combinations that make no sense."""
    paths = tuple(options.paths) or (".",)
    refuse_contradictions(options, paths)
    request = request_on(options, start_of(paths, options.stdin_filename), paths)
    # Something is made of the fixes: edits, or a word that there are some.
    is_fixing = any(vars(options)[name] for name in FIXING)
    shows_fixes = options.statistics or options.output_format not in WITHOUT_FIXES
    return request._replace(
        stdin=stdin() if driver.STDIN in paths else None,
        stdin_filename=shown(options.stdin_filename) if options.stdin_filename else driver.STDIN,
        force_exclude=options.force_exclude,
        suppressions=not options.ignore_noqa,
        changed_since=options.changed_since,
        staged=options.staged,
        shard=shard_of(options.shard),
        scheduler=options.scheduler,
        timed=options.statistics,
        fixes=is_fixing or shows_fixes,
    )


def request_on(options: argparse.Namespace, start: str, paths: tuple[str, ...]) -> driver.Request:
    """Return the request for the paths, with the configuration that counts in `start`."""
    notes = activate(options, start)
    way = closest(options, start)
    config = way.of(start)
    if path := vars(options).get("baseline"):
        from tpulint.diagnostics import baseline

        baseline.read(path)  # what is wrong with it is said before the work
    place = CachePlace() if options.no_cache else cache_place(config, start)
    layer = RuleSelection(
        codes_of(options, "select"),
        codes_of(options, "extend_select") or (),
        codes_of(options, "ignore") or (),
        performance=vars(options).get("performance", False),
    )
    request = driver.Request(config, codes_by(config, layer), paths, cache=place.directory)
    return request._replace(closest=way, layer=layer, warnings=(*notes, *place.warnings))


def stdin() -> bytes:
    """Return standard input. Raises ConfigError where it is too large."""
    data = sys.stdin.buffer.read(SOURCE_LIMIT_BYTES + 1)
    if len(data) > SOURCE_LIMIT_BYTES:
        raise ConfigError(f"- is larger than {SOURCE_LIMIT_BYTES // MEBIBYTE} MiB")
    return data


def request_of_file(
    command: str, options: argparse.Namespace, path: str, *, is_project: bool = False
) -> driver.Request:
    """Return the request of a check of that one file. Raises ConfigError where it is no file.

    is_project: it is the check of a directory.
    """
    if not path:
        raise ConfigError(f"{command}: '' is not a path")
    if os.path.isdir(path) and not is_project:
        raise ConfigError(f"{command}: {path} is a directory: give one file")
    if not os.path.lexists(path):
        raise ConfigError(f"{path}: no such file or directory")
    fault = None if is_project else unreadable(path)
    if fault is not None:
        raise ConfigError(f"{path}: {fault}")
    start = os.path.abspath(path) if is_project else os.path.dirname(os.path.abspath(path))
    return request_on(options, start, (path,))


def refuse_contradictions(options: argparse.Namespace, paths: Sequence[str]) -> None:
    values = vars(options)
    if "" in paths:
        raise ConfigError("'' is not a path")
    used = [name for name in (*FIXING, *ALONE) if values[name] not in (None, False)]
    exclusive = [name for name in used if name in ALONE]
    other = next((name for name in used if exclusive and name != exclusive[0]), None)
    if other is not None:
        raise ConfigError(f"{option(other)}: not allowed with argument {option(exclusive[0])}")
    if options.add_suppressions is not None and not options.add_suppressions.strip():
        raise ConfigError("--add-suppressions: give a reason")
    if options.scheduler and (options.watch or any(values[name] for name in FIXING)):
        raise ConfigError("--scheduler: not allowed with --watch or an option that fixes")
    if options.staged and options.changed_since:
        raise ConfigError("--staged: not allowed with argument --changed-since")
    if options.diff and options.show_fixes:
        raise ConfigError("--diff: not allowed with argument --show-fixes")
    if driver.STDIN in paths:
        if tuple(paths) != (driver.STDIN,):
            raise ConfigError("- (standard input) cannot be combined with other paths")
        if options.write_baseline or options.add_suppressions:
            raise ConfigError("- cannot be combined with --write-baseline or --add-suppressions")
        if options.watch or options.changed_since or options.staged:
            raise ConfigError("- cannot be combined with --watch, --changed-since or --staged")
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
