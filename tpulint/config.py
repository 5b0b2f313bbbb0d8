"""`[tool.tpulint]` of the nearest pyproject.toml, checked word by word."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tpulint.codes import CODES
from tpulint.finding import Certainty

CACHE = ".tpulint_cache"
TARGET = re.compile(r"1\.15|2\.x|2\.\d+")
DEFAULT_EXCLUDE = (
    *(".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints"),
    *(".mypy_cache", ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache"),
    *(".svn", ".tox", ".tpulint_cache", ".venv", ".vscode", "__pypackages__", "_build"),
    *("buck-out", "dist", "node_modules", "site-packages", "venv"),
)


class ConfigError(Exception):
    """A configuration that cannot be used; the text says where and what is right."""


class Config(NamedTuple):
    """The configuration of a run. Patterns and paths start from the directory `root`."""

    root: str = "."
    file: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] | None = None
    certainty: Certainty = Certainty.DEFINITE
    target_tensorflow: str | None = None
    wrappers: tuple[str, ...] = ()
    assume_tpu: bool = False
    baseline: str | None = None
    cache_dir: str | None = None
    jobs: int = 0

    @property
    def cache_path(self) -> str:
        """The directory of the cache."""
        return os.path.join(self.root, self.cache_dir or CACHE)

    @property
    def baseline_path(self) -> str | None:
        """The baseline file, if there is one."""
        return os.path.join(self.root, self.baseline) if self.baseline else None


def find_config(start: str) -> Config:
    """The configuration nearest above `start`: the first pyproject.toml with `[tool.tpulint]`.

    Raises ConfigError for one that cannot be read or holds a wrong key or value.
    """
    directory = os.path.abspath(start)
    while True:
        path = os.path.join(directory, "pyproject.toml")
        if os.path.isfile(path):
            table = read_table(path)
            if table is not None:
                return from_table(table, path)
        above = os.path.dirname(directory)
        if above == directory:
            return Config(root=os.path.abspath(start))
        directory = above


def load_config(path: str) -> Config:
    """The configuration in `path`: a pyproject.toml, or a file of the table's keys alone."""
    table = read_table(path)
    return from_table({} if table is None else table, path)


def read_table(path: str) -> Mapping[str, Any] | None:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ConfigError(f"{path}: cannot read: {error.strerror or error}") from None
    named_pyproject = os.path.basename(path) == "pyproject.toml"
    if named_pyproject and b"tpulint" not in data:
        return None
    document = parse_toml(path, data)
    if not named_pyproject and "tool" not in document:
        return document
    table = document.get("tool", {}).get("tpulint")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.tpulint] is not a table")
    return table


def parse_toml(path: str, data: bytes) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None


def from_table(table: Mapping[str, Any], path: str) -> Config:
    """The table as a Config. Raises ConfigError, naming the nearest right key or value."""
    config = Config(root=os.path.dirname(os.path.abspath(path)), file=path)
    for key, value in table.items():
        reader = KEYS.get(key)
        if reader is None:
            raise ConfigError(f"{path}: unknown key '{key}'{nearest(key, list(KEYS))}")
        try:
            changes: dict[str, Any] = {key.replace("-", "_"): reader(value)}
            config = config._replace(**changes)
        except ConfigError as error:
            raise ConfigError(f"{path}: {key}: {error}") from None
    return config


def codes(value: object) -> tuple[str, ...]:
    """Codes or prefixes of codes, in capitals. Raises ConfigError for one that fits no code."""
    found = tuple(word.strip().upper() for word in words(value))
    for prefix in found:
        fits = prefix == "ALL" or any(code.startswith(prefix) for code in CODES)
        if not prefix or not fits:
            raise ConfigError(f"unknown code '{prefix}'{nearest(prefix, list(CODES))}")
    return found


def words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise ConfigError("must be a list of strings")
    return tuple(value)


def per_file(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ConfigError("must be a table of patterns and lists of codes")
    return tuple((pattern, codes(listed)) for pattern, listed in value.items())


def certainty(value: object) -> Certainty:
    names = [level.value for level in Certainty]
    if value not in names:
        raise ConfigError(f"'{value}' is neither of {', '.join(names)}{nearest(str(value), names)}")
    return Certainty(value)


def target(value: object) -> str:
    """A TensorFlow version: "1.15", or "2.x" with a number or the letter for x."""
    text = str(value)
    if not isinstance(value, str) or not TARGET.fullmatch(text):
        raise ConfigError(f'\'{text}\' is no TensorFlow version: write "1.15" or "2.16"')
    return text


def string(value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError("must be a string")
    return value


def boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError("must be true or false")
    return value


def count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError("must be a whole number from 1")
    return value


def nearest(word: str, known: list[str]) -> str:
    """`; did you mean 'x'?`, or nothing where nothing is near."""
    import difflib

    near = difflib.get_close_matches(word, known, 1, 0.5)
    return f"; did you mean '{near[0]}'?" if near else ""


KEYS: dict[str, Callable[[object], object]] = {
    "select": codes,
    "ignore": codes,
    "extend-select": codes,
    "per-file-ignores": per_file,
    "exclude": words,
    "certainty": certainty,
    "target-tensorflow": target,
    "wrappers": words,
    "assume-tpu": boolean,
    "baseline": string,
    "cache-dir": string,
    "jobs": count,
}
