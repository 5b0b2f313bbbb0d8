"""The configuration keys, and the values that a configuration gives them.

The table of the keys is `keys.json`: how a key is read, what it means and what it is by default.
`tpulint config`, the JSON schema and docs/configuration.md are made from it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tpulint.config.readers as readers
from tpulint.codes import CODES, HOME, NAMES
from tpulint.config.readers import ConfigError, is_shared, nearest
from tpulint.disk import package_text
from tpulint.finding import Certainty


class ConfigKey(NamedTuple):
    """One key, a row of `keys.json`; its `kind` there says how it is read, and the schema.

    `default` is as TOML would hold it (None: unset), `example` a line of TOML. `scope`: a key of
    the "file" counts for the files that this configuration is closest to, a key of the "run" only
    where the paths of the run meet.
    """

    name: str
    read: Callable[[object], object]
    schema: Mapping[str, object]
    example: str
    text: str
    default: object = None
    scope: str = "file"

    @property
    def field(self) -> str:
        """The attribute of a Config that holds the value."""
        return self.name.replace("-", "_")


_TEXT: Mapping[str, object] = {"type": "string"}
_CODES: Mapping[str, object] = {"type": "array", "items": {"$ref": "#/$defs/selector"}}
KINDS: Mapping[str, tuple[Callable[[object], object], Mapping[str, object]]] = {
    "boolean": (readers.boolean, {"type": "boolean"}),
    "certainty": (readers.certainty, {**_TEXT, "enum": [level.value for level in Certainty]}),
    "codes": (readers.codes, _CODES),
    "count": (readers.count, {"type": "integer", "minimum": 1}),
    "directory_or_url": (readers.directory_or_url, _TEXT),
    "per_file": (readers.per_file, {"type": "object", "additionalProperties": _CODES}),
    "string": (readers.string, _TEXT),
    "strings": (readers.strings, {"type": "array", "items": _TEXT}),
    "target": (readers.target, {**_TEXT, "pattern": r"^(1\.15|2\.x|2\.\d+)$"}),
}
# It is JSON: TOML takes a few milliseconds to import, in each run.
KEYS: Mapping[str, ConfigKey] = {
    name: ConfigKey(name, *KINDS[row.pop("kind")], **row)
    for name, row in json.loads(package_text(__file__, "keys.json")).items()
}
DEFAULT_EXCLUDE = readers.strings(KEYS["exclude"].default)
PATTERN_KEYS = ("exclude", "extend-exclude")
# The keys that decide possible findings, with the codes of these.
DECIDES = {"target-tensorflow": ("TPU801", "TPU802")}


# The JSON schema of the configuration, for editors and for the reference.


def schema_text() -> str:
    """Return the schema of a tpulint.toml, which is that of the table `[tool.tpulint]` too."""
    # The codes and their beginnings, the shorter ones first where they share one.
    selectors = sorted({code[:length] for code in CODES for length in range(3, 7)})
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"{HOME}/tpulint.schema.json",
        "title": "The configuration of tpulint",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            key.name: {"description": key.text, **key.schema}
            | ({} if key.default is None else {"default": key.default})
            for key in KEYS.values()
        },
        "$defs": {"selector": {"type": "string", "enum": ["ALL", *selectors, *NAMES]}},
    }
    return json.dumps(document, indent=2) + "\n"


# The configuration of a run, or of a file of it, and the origin of each value.

CACHE = ".tpulint_cache"
DEFAULT = "default"


class Config(NamedTuple):
    """The values by key. `root` is the directory that patterns and paths start from.

    `origins` are the keys that are set, each with where: a file's path or an option.
    """

    root: str = "."
    file: str | None = None
    extend: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    performance: bool = False
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
    """Return `config` with the value of `key`, already read, replaced."""
    origins = {**dict(config.origins), key: origin}
    changes: dict[str, Any] = {KEYS[key].field: value, "origins": tuple(origins.items())}
    return config._replace(**changes)


def from_table(table: Mapping[str, Any], path: str, extended: Config | None = None) -> Config:
    """Return the table of the file `path` as a Config, over the one that it extends.

    Raises ConfigError, naming the nearest right key or value.
    """
    config = Config()
    extended = extended or config
    for key, origin in extended.origins:
        value = getattr(extended, KEYS[key].field)
        if key != "cache-dir":  # each project has its own
            value = absolute(key, value, extended.root)
        config = overridden(config, key, value, origin)
    config = config._replace(root=os.path.dirname(os.path.abspath(path)), file=path)
    for key, value in table.items():
        try:
            config = overridden(config, key, read(key, value), path)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return config


def absolute(key: str, value: Any, root: str) -> Any:
    """Return the value, already read, with paths and patterns that begin in `root` absolute."""
    if key in ("models", "rules-dir"):
        return tuple(os.path.normpath(os.path.join(root, path)) for path in value)
    if key == "baseline" or (key == "cache-dir" and not is_shared(value)):
        return os.path.normpath(os.path.join(root, value))
    if key in PATTERN_KEYS:
        return tuple(_absolute_pattern(pattern, root) for pattern in value)
    if key == "per-file-ignores":
        return tuple((_absolute_pattern(pattern, root), codes) for pattern, codes in value)
    return value


def _absolute_pattern(pattern: str, root: str) -> str:
    negation = "!" if pattern.startswith("!") else ""
    bare = pattern.removeprefix("!")
    is_path = "/" in bare.rstrip("/")  # without a slash it is a name
    return negation + (os.path.join(root, bare) if is_path else bare)


def read(key: str, value: object) -> object:
    """Return the value of `key`. Raises ConfigError for an unknown key and for a wrong value."""
    config_key = KEYS.get(key)
    if config_key is None:
        raise ConfigError(f"unknown key '{key}'{nearest(key, list(KEYS))}")
    try:
        return config_key.read(value)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
