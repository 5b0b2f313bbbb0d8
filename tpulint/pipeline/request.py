"""The request of a run, and its part for each file."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tpulint import plugins
from tpulint.config import Config, ConfigError
from tpulint.config.files import Closest
from tpulint.diagnostics.resolve import RuleSelection, selected

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings
    from tpulint.knowledge.calls import CallFacts

STDIN = "-"


class Request(NamedTuple):
    """The request of a run, the command line and the configuration taken together.

    `config` and `codes` are those of the run: of every file, unless `closest` finds each its own
    configuration; `layer` is then what the command line selects over it. `noqa` is false where
    another tool (flake8) applies those comments, `suppressions` where none of any kind counts.
    `changed_since` is a git revision: only what the changes since then can affect is reported.
    `shard` is (K, N): only what is found in the K-th of N parts is reported. `scheduler` is the
    address of the Dask cluster that reads the programs. `fixes` is false where no edit is shown or
    made: files are then not read for them. warnings: lines about the request itself.
    """

    config: Config
    codes: frozenset[str]
    paths: tuple[str, ...] = (".",)
    stdin: bytes | None = None
    stdin_filename: str = STDIN
    force_exclude: bool = False
    cache: str | None = None
    noqa: bool = True
    suppressions: bool = True
    closest: Closest | None = None
    layer: RuleSelection = RuleSelection()
    changed_since: str | None = None
    shard: tuple[int, int] | None = None
    scheduler: str | None = None
    timed: bool = False
    fixes: bool = True
    warnings: tuple[str, ...] = ()

    def config_of(self, filename: str) -> Config:
        """Return the configuration of a file of the run."""
        if self.closest is None or filename == STDIN:
            return self.config
        return self.closest.of_file(filename)

    def codes_of(self, filename: str) -> frozenset[str]:
        """Return the codes that are asked for in a file of the run."""
        if self.closest is None or filename == STDIN:
            return self.codes
        return codes_by(self.closest.of_file(filename), self.layer)

    def config_resolver(self) -> Closest:
        """Return the way to each directory's configuration; one for all where there is no other."""
        return self.closest or Closest(self.config.root, self.config)

    def every_code(self, filenames: Iterable[str]) -> frozenset[str]:
        """Return the codes that are asked for in any of the files."""
        if self.closest is None:
            return self.codes
        return frozenset().union(*(self.codes_of(name) for name in one_per_directory(filenames)))

    def every_setting(self, filenames: Iterable[str]) -> list[Settings]:
        """Return the analysis settings of the files, each once."""
        some = one_per_directory(filenames) if self.closest is not None else [STDIN]
        return list(dict.fromkeys(settings_of(self.config_of(name)) for name in some))


def codes_by(config: Config, layer: RuleSelection) -> frozenset[str]:
    """Return the codes that a configuration and the command line ask for."""
    own = RuleSelection(config.select, config.extend_select, config.ignore)
    return _selected(plugins.active(), own, layer)


@functools.cache
def _selected(_: plugins.PluginSet, *layers: RuleSelection) -> frozenset[str]:
    return selected(layers)


def settings_of(config: Config) -> Settings:
    """Return the part of a configuration that the analysis needs."""
    from tpulint.analysis.options import Settings

    return Settings(
        config.wrappers,
        config.assume_tpu,
        config.target_tensorflow,
        call_facts_of(config),
        plugins.active().seam_names,
    )


def call_facts_of(config: Config) -> tuple[CallFacts, ...]:
    """Return the rows of the files in `models`. Raises ConfigError for one that cannot be used."""
    return tuple(row for path in config.model_paths for row in _rows_in(path, mtime_ns(path)))


def mtime_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError as error:
        raise ConfigError(f"models: {path}: cannot read: {error.strerror or error}") from None


@functools.lru_cache(maxsize=64)
def _rows_in(path: str, _: int) -> tuple[CallFacts, ...]:
    """Return the rows of a file; the settings of each file of a check are asked for."""
    from tpulint.knowledge.calls import BadRow, load

    try:
        return load(Path(path))
    except (BadRow, ValueError) as error:
        raise ConfigError(f"models: {path}: {error}") from None


def one_per_directory(filenames: Iterable[str]) -> tuple[str, ...]:
    """One file of each directory: the others have the same configuration."""
    return _one_per_directory(tuple(filenames))


@functools.lru_cache(maxsize=2)
def _one_per_directory(filenames: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({os.path.dirname(name): name for name in filenames}.values())


def start_of(paths: Sequence[str], stdin_filename: str | None) -> str:
    """Return the directory whose configuration counts for the whole run: where all paths meet."""
    if tuple(paths) == (STDIN,):
        return os.path.dirname(os.path.abspath(stdin_filename)) if stdin_filename else os.getcwd()
    full = [os.path.abspath(path) for path in paths]
    above = [path if os.path.isdir(path) else os.path.dirname(path) for path in full]
    return os.path.commonpath(above)
