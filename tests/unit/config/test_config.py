"""`[tool.tpulint]`: found, read, and every wrong word named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from tpulint.config import Config, ConfigError, find_config, from_table, load_config
from tpulint.config.files import Closest, named_rules_directories, parse_toml
from tpulint.config.keys import KEYS, schema_text
from tpulint.finding import Certainty
from tpulint.output.reference import settings

EVERYTHING = """
[tool.tpulint]
select = ["TPU1", "nested-outside-compilation"]
ignore = ["TPU103"]
extend-select = ["tpu3"]
performance = true
exclude = ["third_party"]
extend-exclude = ["old"]
certainty = "possible"
target-tensorflow = "2.16"
wrappers = ["lib.host_call"]
models = ["models.toml"]
rules-dir = ["tools"]
assume-tpu = true
baseline = "known.json"
cache-dir = "cache"
jobs = 3
[tool.tpulint.per-file-ignores]
"tests/*" = ["TPU2"]
"""


def write(directory: Path, text: str, name: str = "pyproject.toml") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(text)
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, EVERYTHING)
    config = find_config(str(tmp_path))
    assert all(config.origin(key) == str(path) for key in KEYS if key != "extend")
    assert config._replace(origins=()) == Config(
        root=str(tmp_path),
        file=str(path),
        select=("TPU1", "TPU201"),
        ignore=("TPU103",),
        extend_select=("TPU3",),
        performance=True,
        per_file_ignores=(("tests/*", ("TPU2",)),),
        exclude=("third_party",),
        extend_exclude=("old",),
        certainty=Certainty.POSSIBLE,
        target_tensorflow="2.16",
        wrappers=("lib.host_call",),
        models=("models.toml",),
        rules_dir=("tools",),
        assume_tpu=True,
        baseline="known.json",
        cache_dir="cache",
        jobs=3,
    )


def test_paths_start_where_the_file_lies(tmp_path: Path) -> None:
    write(tmp_path, EVERYTHING)
    config = find_config(str(tmp_path / "a" / "b"))
    assert config.cache_path == str(tmp_path / "cache")
    assert config.baseline_path == str(tmp_path / "known.json")


def test_the_nearest_with_a_table_counts(tmp_path: Path) -> None:
    write(tmp_path, "[tool.tpulint]\njobs = 1\n")
    write(tmp_path / "a", "[tool.ruff]\nline-length = 3\n# tpulint\n")
    assert find_config(str(tmp_path / "a" / "b")).jobs == 1
    write(tmp_path / "a", "[tool.tpulint]\njobs = 2\n")
    assert find_config(str(tmp_path / "a" / "b")).jobs == 2


def test_an_empty_table_ends_the_search(tmp_path: Path) -> None:
    write(tmp_path, "[tool.tpulint]\njobs = 1\n")
    write(tmp_path / "a", "[tool.tpulint]\n")
    assert find_config(str(tmp_path / "a")).jobs == 0


def test_a_named_file_may_hold_the_keys_alone(tmp_path: Path) -> None:
    path = write(tmp_path, 'certainty = "possible"\n', "tpulint.toml")
    assert load_config(str(path)).certainty is Certainty.POSSIBLE


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("certanty = 'possible'", "unknown key 'certanty'; did you mean 'certainty'?"),
        ("extend_select = []", "did you mean 'extend-select'?"),
        ("select = ['TPU991']", "select: unknown code 'TPU991'; did you mean"),
        ("select = ['']", "select: unknown code ''"),
        ("select = 'TPU1'", "select: must be a list of strings"),
        ("wrappers = [1]", "wrappers: must be a list of strings"),
        ("certainty = 'definit'", "did you mean 'definite'?"),
        ("target-tensorflow = '3.0'", "'3.0' is not a TensorFlow version"),
        ("target-tensorflow = 2.1", "'2.1' is not a TensorFlow version"),
        ("assume-tpu = 1", "assume-tpu: must be true or false"),
        ("jobs = 0", "jobs: must be a whole number from 1"),
        ("jobs = true", "jobs: must be a whole number from 1"),
        ("baseline = 3", "baseline: must be a string"),
        ("per-file-ignores = ['x']", "must be a table"),
        ("per-file-ignores = {a = ['X1']}", "unknown code 'X1'"),
        ("jobs = ", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, f"[tool.tpulint]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        find_config(str(tmp_path))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot read: No such file"):
        load_config(str(tmp_path / "gone.toml"))


def test_the_three_files_in_their_order(tmp_path: Path) -> None:
    write(tmp_path, "[tool.tpulint]\njobs = 1\n")
    assert find_config(str(tmp_path)).jobs == 1
    write(tmp_path, "jobs = 2\n", "tpulint.toml")
    assert find_config(str(tmp_path)).jobs == 2
    write(tmp_path, "jobs = 3\n", ".tpulint.toml")
    assert find_config(str(tmp_path)).jobs == 3


def test_each_file_has_the_closest(tmp_path: Path) -> None:
    write(tmp_path, "[tool.tpulint]\njobs = 1\n")
    write(tmp_path / "a", "jobs = 2\n", "tpulint.toml")
    write(tmp_path / "a/b", "[tool.other]\n")
    closest = Closest(str(tmp_path))
    actual = [closest.of(str(tmp_path / folder)).jobs for folder in ("", "a", "a/b", "c")]
    assert actual == [1, 2, 2, 1]
    assert closest.of_file(str(tmp_path / "a/b/x.py")).jobs == 2


def test_the_schema_accepts_what_is_accepted_and_nothing_else(tmp_path: Path) -> None:
    validator = jsonschema.Draft7Validator(json.loads(schema_text()))
    validator.check_schema(validator.schema)
    for key in KEYS.values():
        table = parse_toml(key.name, key.example.encode())
        validator.validate(table)
        from_table(table, str(tmp_path / "tpulint.toml"))
        if key.default is not None:
            validator.validate({key.name: key.default})
    for wrong in (
        {"certanty": "possible"},
        {"select": "TPU1"},
        {"select": ["TPU999"]},
        {"jobs": 0},
    ):
        assert not validator.is_valid(wrong)
        with pytest.raises(ConfigError):
            from_table(wrong, "tpulint.toml")


def test_shown_settings_are_toml_that_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path, EVERYTHING)
    config = find_config(str(tmp_path))
    shown = settings(config)
    assert f"jobs = 3  # {os.path.relpath(path)}\n" in shown
    again = load_config(str(write(tmp_path, shown)))
    assert again._replace(origins=()) == config._replace(origins=())
    for key in KEYS:
        assert f"{key} " in shown
    unset = settings(Config(root=str(tmp_path)))
    assert "# baseline is not set  # default" in unset
    assert 'select = ["ALL"]  # default' in unset
    load_config(str(write(tmp_path, unset)))


def test_a_file_extends_another_one(tmp_path: Path) -> None:
    """What it sets replaces what the other one says; paths keep the directory they are from."""
    shared = 'certainty = "possible"\nignore = ["TPU802"]\nexclude = ["gen", "a/old"]\n'
    shared += 'per-file-ignores = {"!a/b/**" = ["TPU1"]}\nmodels = ["m.toml"]\n'
    base = write(tmp_path, f'{shared}baseline = "b.json"\ncache-dir = "cache"\n', "shared.toml")
    middle = write(tmp_path / "team", 'extend = "../shared.toml"\njobs = 2\n', "tpulint.toml")
    path = write(
        tmp_path / "team" / "app", '[tool.tpulint]\nextend = "../tpulint.toml"\nignore = []\n'
    )
    config = find_config(str(path.parent))
    assert (config.file, config.root) == (str(path), str(path.parent))
    assert (config.certainty, config.ignore, config.jobs) == (Certainty.POSSIBLE, (), 2)
    assert config.exclude == ("gen", f"{tmp_path}/a/old")
    assert config.per_file_ignores == ((f"!{tmp_path}/a/b/**", ("TPU1",)),)
    assert config.model_paths == (f"{tmp_path}/m.toml",)
    assert config.baseline_path == f"{tmp_path}/b.json"
    assert config.cache_path == f"{path.parent}/cache"
    assert [config.origin(key) for key in ("certainty", "jobs", "ignore", "extend", "select")] == [
        *(str(base), str(middle), str(path), str(path)),
        "default",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("extend = 1", "extend: must be a string"),
        ('extend = "gone.toml"', "gone.toml: cannot read: No such file"),
        ('extend = "tpulint.toml"', "tpulint.toml extends this file"),
        ('extend = "other.toml"', "other.toml: extend: "),
        ('extend = "wrong.toml"', "wrong.toml: unknown key 'jbos'; did you mean 'jobs'?"),
    ],
)
def test_what_cannot_be_extended_is_named(tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path, 'extend = "tpulint.toml"\n', "other.toml")
    write(tmp_path, "jbos = 1\n", "wrong.toml")
    write(tmp_path, f"{line}\n", "tpulint.toml")
    with pytest.raises(ConfigError) as caught:
        find_config(str(tmp_path))
    assert message in str(caught.value)


def test_directories_with_rules_can_be_named_by_the_extended_file(tmp_path: Path) -> None:
    write(tmp_path, 'rules-dir = ["rules"]\n', "shared.toml")
    write(tmp_path / "app", 'extend = "../shared.toml"\n', "tpulint.toml")
    named = named_rules_directories(str(tmp_path / "app"))
    assert named == (str(tmp_path / "shared.toml"), (str(tmp_path / "rules"),))
