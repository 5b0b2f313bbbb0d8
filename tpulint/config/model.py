"""The configuration of a run, or of a file of it, and the origin of each value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from tpulint.config.keys import DEFAULT_EXCLUDE, KEYS
from tpulint.config.readers import ConfigError, is_shared, nearest
from tpulint.finding import Certainty

CACHE = ".tpulint_cache"
DEFAULT = "default"


class Config(NamedTuple):
    """The values by key. `root` is the directory that patterns and paths start from.

    `origins` are the keys that are set, each with where: a file's path or an option.
    """

    root: str = "."
    file: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    certainty: Certainty = Certainty.DEFINITE
    target_tensorflow: str | None = None
    wrappers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    rules_dir: tuple[str, ...] = ()
    assume_tpu: bool = False
    baseline: str | None = None
    cache_dir: str | None = None
    jobs: int = 0
    origins: tuple[tuple[str, str], ...] = ()

    @property
    def cache_path(self) -> str:
        """The directory of the cache on this machine."""
        directory = CACHE if self.shared_cache else self.cache_dir or CACHE
        return os.path.join(self.root, directory)

    @property
    def shared_cache(self) -> str | None:
        """The URL of the cache that other machines share, if there is one."""
        return self.cache_dir if self.cache_dir and is_shared(self.cache_dir) else None

    @property
    def baseline_path(self) -> str | None:
        """The baseline file, if there is one."""
        return os.path.join(self.root, self.baseline) if self.baseline else None

    @property
    def model_paths(self) -> tuple[str, ...]:
        """The files with facts about calls."""
        return tuple(os.path.join(self.root, path) for path in self.models)

    @property
    def excluded(self) -> tuple[str, ...]:
        """The patterns of what is left out."""
        first = DEFAULT_EXCLUDE if self.exclude is None else self.exclude
        return (*first, *self.extend_exclude)

    def origin(self, key: str) -> str:
        """Return the file or the option that the value of `key` comes from."""
        return dict(self.origins).get(key, DEFAULT)


def overridden(config: Config, key: str, value: Any, origin: str) -> Config:
    """`config` with the value of `key`, already read, replaced."""
    origins = {**dict(config.origins), key: origin}
    changes: dict[str, Any] = {KEYS[key].field: value, "origins": tuple(origins.items())}
    return config._replace(**changes)


def from_table(table: Mapping[str, Any], path: str) -> Config:
    """Return the table of the file `path` as a Config.

    Raises ConfigError, naming the nearest right key or value.
    """
    config = Config(root=os.path.dirname(os.path.abspath(path)), file=path)
    for key, value in table.items():
        try:
            config = overridden(config, key, read(key, value), path)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return config


def read(key: str, value: object) -> object:
    """Return the value of `key`. Raises ConfigError for an unknown key and for a wrong value."""
    config_key = KEYS.get(key)
    if config_key is None:
        raise ConfigError(f"unknown key '{key}'{nearest(key, list(KEYS))}")
    try:
        return config_key.read(value)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
