"""The one table of configuration keys, and the values that a configuration gives them.

The table says how a key is read, what it means and what it is by default. `tpulint config`, the
JSON schema and docs/configuration.md are made from it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import tpulint.config.readers as readers
from tpulint.codes import CODES, HOME, NAMES
from tpulint.config.readers import ConfigError, is_shared, nearest
from tpulint.finding import Certainty

DEFAULT_EXCLUDE = (
    *(".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints"),
    *(".mypy_cache", ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache"),
    *(".svn", ".tox", ".tpulint_cache", ".venv", ".vscode", "__pypackages__", "_build"),
    *("buck-out", "dist", "node_modules", "site-packages", "venv"),
)
SELECTORS: Mapping[str, object] = {"type": "array", "items": {"$ref": "#/$defs/selector"}}
STRINGS: Mapping[str, object] = {"type": "array", "items": {"type": "string"}}


class ConfigKey(NamedTuple):
    """One key: `default` as TOML would hold it (None: unset), `example` as a line of TOML.

    `scope`: a key of the "file" counts for the files that this configuration is closest to, a
    key of the "run" only where the paths of the run meet.
    """

    name: str
    read: Callable[[object], object]
    schema: Mapping[str, object]
    default: object
    example: str
    text: str
    scope: str = "file"

    @property
    def field(self) -> str:
        """The attribute of a Config that holds the value."""
        return self.name.replace("-", "_")


_KEYS = (
    ConfigKey(
        "extend",
        readers.string,
        {"type": "string"},
        None,
        'extend = "../tpulint.toml"',
        "A configuration file with the values of the keys that this file leaves out; it may extend "
        "another one. Its paths and patterns are relative to its directory, except `cache-dir`.",
    ),
    ConfigKey(
        "select",
        readers.codes,
        SELECTORS,
        ["ALL"],
        'select = ["TPU1", "nested-outside-compilation"]',
        "The rules to report: codes, beginnings of codes, names, or `ALL`.",
    ),
    ConfigKey(
        "ignore",
        readers.codes,
        SELECTORS,
        [],
        'ignore = ["TPU802"]',
        "The rules not to report. The more specific selector wins; on a tie, `ignore` wins.",
    ),
    ConfigKey(
        "extend-select",
        readers.codes,
        SELECTORS,
        [],
        'extend-select = ["TPU901"]',
        "Rules to report in addition to `select`. While `select` is `ALL`, it has an effect only "
        "for rules about performance (`TPU9`).",
    ),
    ConfigKey(
        "performance",
        readers.boolean,
        {"type": "boolean"},
        False,
        "performance = true",
        "Report what wastes time or memory of the TPU, too: the rules of severity `performance` "
        "(`TPU9`). `ALL` does not select them.",
    ),
    ConfigKey(
        "per-file-ignores",
        readers.per_file,
        {"type": "object", "additionalProperties": SELECTORS},
        {},
        'per-file-ignores = { "tests/*" = ["TPU405"], "!src/**" = ["ALL"] }',
        "Rules not to report in files that match a pattern. A leading `!` negates the pattern.",
    ),
    ConfigKey(
        "exclude",
        readers.strings,
        STRINGS,
        list(DEFAULT_EXCLUDE),
        'exclude = [".venv", "third_party"]',
        "Files and directories to exclude. It replaces the default list; to extend that list, use "
        "`extend-exclude`.",
    ),
    ConfigKey(
        "extend-exclude",
        readers.strings,
        STRINGS,
        [],
        'extend-exclude = ["third_party"]',
        "Files and directories to exclude in addition to `exclude`.",
    ),
    ConfigKey(
        "certainty",
        readers.certainty,
        {"type": "string", "enum": ["definite", "possible", "unlikely"]},
        "definite",
        'certainty = "possible"',
        "The lowest certainty to report. `possible` findings depend on something that the "
        "analysis cannot see. `unlikely` ones are usually harmless.",
    ),
    ConfigKey(
        "target-tensorflow",
        readers.target,
        {"type": "string", "pattern": r"^(1\.15|2\.x|2\.\d+)$"},
        None,
        'target-tensorflow = "2.16"',
        "The TensorFlow release that the code is for. If it is unset, the requirement files of the "
        "project decide, or a README in a folder below them that installs another release.",
    ),
    ConfigKey(
        "wrappers",
        readers.strings,
        STRINGS,
        [],
        'wrappers = ["mylib.on_host"]',
        "Dotted names of functions that run a callable argument by `outside_compilation`.",
    ),
    ConfigKey(
        "models",
        readers.strings,
        STRINGS,
        [],
        'models = ["tpulint-models.toml"]',
        "TOML files that say what calls of your helper libraries mean (docs/extending.md).",
    ),
    ConfigKey(
        "rules-dir",
        readers.strings,
        STRINGS,
        [],
        'rules-dir = ["tools/tpulint"]',
        "Directories with rules and models of your own (docs/extending.md). They are code, so they "
        "are only loaded where the user allows it: by `--rules-dir`, or by `allow-rules-dir` in "
        "the user's own configuration.",
        "run",
    ),
    ConfigKey(
        "assume-tpu",
        readers.boolean,
        {"type": "boolean"},
        False,
        "assume-tpu = true",
        "Treat a strategy of unknown kind as a `TPUStrategy`.",
    ),
    ConfigKey(
        "baseline",
        readers.string,
        {"type": "string"},
        None,
        'baseline = "tpulint-baseline.json"',
        "The file with the accepted findings (`--write-baseline` creates it).",
    ),
    ConfigKey(
        "cache-dir",
        readers.directory_or_url,
        {"type": "string"},
        ".tpulint_cache",
        'cache-dir = ".cache/tpulint"',
        "The directory of the cache. It must be in the project, and empty or created by tpulint. "
        "`--cache-dir` and `TPULINT_CACHE_DIR` can also name a directory elsewhere, or the fsspec "
        "URL (`s3://bucket/folder`) of a cache that machines share. What only this machine can use "
        "is then in `.tpulint_cache`.",
        "run",
    ),
    ConfigKey(
        "jobs",
        readers.count,
        {"type": "integer", "minimum": 1},
        None,
        "jobs = 4",
        "The number of processes. If it is unset, one per processor.",
        "run",
    ),
)

PATTERN_KEYS = ("exclude", "extend-exclude")
KEYS: dict[str, ConfigKey] = {key.name: key for key in _KEYS}
# The keys that decide possible findings, with the codes of these.
DECIDES = {"target-tensorflow": ("TPU801", "TPU802")}


# The JSON schema of the configuration, for editors and for the reference.


def schema() -> dict[str, object]:
    """Return the schema of a tpulint.toml, which is that of the table `[tool.tpulint]` too."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"{HOME}/tpulint.schema.json",
        "title": "The configuration of tpulint",
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: dict(properties(key.name)) for key in KEYS.values()},
        "$defs": {"selector": {"type": "string", "enum": ["ALL", *selectors(), *NAMES]}},
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def properties(name: str) -> Iterator[tuple[str, object]]:
    key = KEYS[name]
    yield from {"description": key.text, **key.schema}.items()
    if key.default is not None:
        yield "default", key.default


def selectors() -> list[str]:
    """Return the codes and their beginnings, the shorter ones first where they share one."""
    prefixes = {code[:length] for code in CODES for length in range(3, 7)}
    return sorted(prefixes)


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
