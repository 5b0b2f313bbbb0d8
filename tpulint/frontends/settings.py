"""The options that a user can set for the analysis."""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

from tpulint.config import Config, ConfigError
from tpulint.frontends.tensorflow.knowledge.tables import BadRow, CallFacts, load


class Settings(NamedTuple):
    """wrappers: names of functions that pass their callee on to outside_compilation.

    assume_tpu: a strategy of unknown kind is a TPU's. target_tensorflow: "1.15" or "2.x".
    calls: a team's facts about calls. plugin_names: names of calls for which plug-ins have models
    that open clusters or computations.
    """

    wrappers: tuple[str, ...] = ()
    assume_tpu: bool = False
    target_tensorflow: str | None = None
    calls: tuple[CallFacts, ...] = ()
    plugin_names: tuple[str, ...] = ()

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """The dotted names, beside TensorFlow's own, that name the TPU API in a file."""
        rows = (row for row in self.calls if row.calls in ("host", "device"))
        named = (name for row in rows for name in row.names)
        return (*self.wrappers, *named, *self.plugin_names)


def settings_from(config: Config, plugin_names: tuple[str, ...]) -> Settings:
    """Return the options of a configuration. Raises ConfigError for a file that cannot be used."""
    rows = tuple(row for path in config.model_paths for row in _rows_in(path, mtime_ns(path)))
    return Settings(
        config.wrappers, config.assume_tpu, config.target_tensorflow, rows, plugin_names
    )


def mtime_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError as error:
        raise ConfigError(f"models: {path}: cannot read: {error.strerror or error}") from None


@functools.lru_cache(maxsize=64)
def _rows_in(path: str, _: int) -> tuple[CallFacts, ...]:
    """Return the rows of a file; the settings of each file of a check are asked for."""
    try:
        return load(path)
    except (BadRow, ValueError) as error:
        raise ConfigError(f"models: {path}: {error}") from None
