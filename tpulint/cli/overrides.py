"""The command line's values, laid over the configuration of every file."""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tpulint.config import Config, ConfigError, load_config, overridden
from tpulint.config.cache_url import is_shared
from tpulint.config.closest import Closest
from tpulint.config.files import parse_toml
from tpulint.config.keys import KEYS
from tpulint.config.model import read

PATTERN_KEYS = ("exclude", "extend-exclude")


class Override(NamedTuple):
    """A key's value, already read, and the option that gave it; `adds`: to what is there."""

    key: str
    value: Any
    origin: str
    adds: bool = False


def closest(options: argparse.Namespace, start: str) -> Closest:
    """Return the way to each file's configuration.

    Where there is no configuration file, paths begin in the working directory, or in `start`
    where that is not below it.
    """
    here = os.getcwd()
    root = here if os.path.commonpath([here, os.path.abspath(start)]) == here else start
    given: list[str] = options.config or []
    files = [each for each in given if os.path.exists(each) or "=" not in each]
    if len(files) > 1:
        raise ConfigError("--config: give one file only")
    if files and options.isolated:
        raise ConfigError("--config FILE: not allowed with argument --isolated")
    fixed = load_config(files[0]) if files else None
    if options.isolated:
        fixed = Config(root=os.getcwd())
    overrides = [*inline(each for each in given if each not in files), *of_options(options)]
    return Closest(root, fixed, functools.partial(lay, tuple(overrides)))


def lay(overrides: Sequence[Override], config: Config) -> Config:
    """`config` with the command line's values over its own."""
    for key, value, origin, adds in overrides:
        before = getattr(config, KEYS[key].field) if adds else ()
        config = overridden(config, key, (*before, *value) if adds else value, origin)
    return config


def inline(pairs: Iterable[str]) -> list[Override]:
    """Return the values of --config KEY=VALUE.

    Its paths and patterns begin in the working directory.
    """
    found = []
    for pair in pairs:
        for key, value in parse_toml(f"--config {pair}", pair.encode()).items():
            try:
                found.append(Override(key, rooted(key, read(key, value)), "--config"))
            except ConfigError as error:
                raise ConfigError(f"--config: {error}") from None
    return found


def of_options(options: argparse.Namespace) -> list[Override]:
    """Return the values of the options that have a key of their own."""
    given = vars(options)
    found: list[Override] = []
    for key in ("certainty", "target-tensorflow", "jobs", "cache-dir", "baseline"):
        value = given.get(key.replace("-", "_"))
        if value is not None:
            found.append(Override(key, checked(key, value), f"--{key}"))
    cache = os.environ.get("TPULINT_CACHE_DIR")
    if cache and not given.get("cache_dir"):
        found.append(Override("cache-dir", checked("cache-dir", cache), "TPULINT_CACHE_DIR"))
    for key in PATTERN_KEYS:
        if given.get(key.replace("-", "_")):
            patterns = checked(key, words(given[key.replace("-", "_")]))
            found.append(Override(key, patterns, f"--{key}", key == "extend-exclude"))
    if given.get("per_file_ignores"):
        pairs = checked("per-file-ignores", table(words(given["per_file_ignores"])))
        found.append(Override("per-file-ignores", pairs, "--per-file-ignores"))
    if given.get("write_baseline"):
        found.append(Override("baseline", None, "--write-baseline"))
    return found


def checked(key: str, value: object) -> Any:
    """Return the value of an option as its key reads it."""
    try:
        return rooted(key, KEYS[key].read(value))
    except ConfigError as error:
        raise ConfigError(f"--{key}: {error}") from None


def rooted(key: str, value: Any) -> Any:
    """Return the value with its paths absolute: they begin in the working directory."""
    if key in ("cache-dir", "baseline"):
        return value if key == "cache-dir" and is_shared(value) else os.path.abspath(value)
    if key in PATTERN_KEYS:
        return tuple(map(rooted_pattern, value))
    if key == "per-file-ignores":
        return tuple((rooted_pattern(pattern), codes) for pattern, codes in value)
    return value


def rooted_pattern(pattern: str) -> str:
    turned = "!" if pattern.startswith("!") else ""
    bare = pattern.removeprefix("!")
    inside = "/" in bare.rstrip("/")
    return turned + (os.path.join(os.getcwd(), bare) if inside else bare)


def words(values: Iterable[str]) -> list[str]:
    """Return the words of a repeated option, between commas."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def table(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Return the pairs PATTERN:CODE by pattern."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        pattern, colon, code = pair.rpartition(":")
        if not colon or not pattern:
            raise ConfigError(f"--per-file-ignores: '{pair}' is not PATTERN:CODE")
        found.setdefault(pattern.strip(), []).append(code.strip())
    return found


def listed(
    option: str, values: Sequence[str] | None, codes: Callable[[object], tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Return the codes of a repeated option; None where it was not given."""
    if values is None:
        return None
    try:
        return codes(words(value.replace(" ", ",") for value in values))
    except ConfigError as error:
        raise ConfigError(f"{option}: {error}") from None
