"""The one table of configuration keys: how each is read, what it means, what it is by default.

`tpulint config`, the JSON schema and docs/configuration.md are made from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import tpulint.config.readers as readers
from tpulint.codes import CODES, HOME, NAMES

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
        "The rules not to report. The longer selector wins; `ignore` wins a draw.",
    ),
    ConfigKey(
        "extend-select",
        readers.codes,
        SELECTORS,
        [],
        'extend-select = ["TPU405"]',
        "Rules to report beside those of `select`. It adds nothing while `select` is `ALL`.",
    ),
    ConfigKey(
        "per-file-ignores",
        readers.per_file,
        {"type": "object", "additionalProperties": SELECTORS},
        {},
        'per-file-ignores = { "tests/*" = ["TPU405"], "!src/**" = ["ALL"] }',
        "Rules not to report in the files that a pattern fits; a leading `!` turns it round.",
    ),
    ConfigKey(
        "exclude",
        readers.words,
        STRINGS,
        list(DEFAULT_EXCLUDE),
        'exclude = [".venv", "third_party"]',
        "Files and directories to leave out. It replaces the default list: to add to that, use "
        "`extend-exclude`.",
    ),
    ConfigKey(
        "extend-exclude",
        readers.words,
        STRINGS,
        [],
        'extend-exclude = ["third_party"]',
        "Files and directories to leave out beside those of `exclude`.",
    ),
    ConfigKey(
        "certainty",
        readers.certainty,
        {"type": "string", "enum": ["definite", "possible"]},
        "definite",
        'certainty = "possible"',
        "The least certainty that is reported. `possible` findings hang on something that the "
        "analysis cannot see.",
    ),
    ConfigKey(
        "target-tensorflow",
        readers.target,
        {"type": "string", "pattern": r"^(1\.15|2\.x|2\.\d+)$"},
        None,
        'target-tensorflow = "2.16"',
        "The TensorFlow that the code is for. Where it is unset, the project's requirement files "
        "count, or a README in a folder below them that installs another release.",
    ),
    ConfigKey(
        "wrappers",
        readers.words,
        STRINGS,
        [],
        'wrappers = ["mylib.on_host"]',
        "Functions that run the callable they are given by `outside_compilation`, by dotted name.",
    ),
    ConfigKey(
        "models",
        readers.words,
        STRINGS,
        [],
        'models = ["tpulint-models.toml"]',
        "TOML files that say what calls of your helper libraries mean (docs/extending.md).",
    ),
    ConfigKey(
        "rules-dir",
        readers.words,
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
        "Take a strategy of unknown kind for a `TPUStrategy`.",
    ),
    ConfigKey(
        "baseline",
        readers.string,
        {"type": "string"},
        None,
        'baseline = "tpulint-baseline.json"',
        "The file with the findings to live with (`--write-baseline` makes one).",
    ),
    ConfigKey(
        "cache-dir",
        readers.directory_or_url,
        {"type": "string"},
        ".tpulint_cache",
        'cache-dir = ".cache/tpulint"',
        "The directory of the cache: in the project, and empty or made by tpulint. `--cache-dir` "
        "and `TPULINT_CACHE_DIR` may name one elsewhere, or a URL of fsspec (`s3://bucket/folder`) "
        "that other machines share; what only this one can use is then in `.tpulint_cache`.",
        "run",
    ),
    ConfigKey(
        "jobs",
        readers.count,
        {"type": "integer", "minimum": 1},
        None,
        "jobs = 4",
        "How many processes work. Where it is unset, as many as the machine has processors.",
        "run",
    ),
)

KEYS: dict[str, ConfigKey] = {key.name: key for key in _KEYS}


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
    found = {code[:length] for code in CODES for length in range(3, 7)}
    return sorted(found)
