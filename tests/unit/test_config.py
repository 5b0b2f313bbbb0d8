"""`[tool.tpulint]`: found, read, and every wrong word named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpulint.config import Config, ConfigError, find_config, load_config
from tpulint.finding import Certainty

EVERYTHING = """
[tool.tpulint]
select = ["TPU1", "TPU201"]
ignore = ["TPU103"]
extend-select = ["tpu3"]
exclude = ["third_party"]
certainty = "possible"
target-tensorflow = "2.16"
wrappers = ["lib.host_call"]
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
    assert find_config(str(tmp_path)) == Config(
        root=str(tmp_path),
        file=str(path),
        select=("TPU1", "TPU201"),
        ignore=("TPU103",),
        extend_select=("TPU3",),
        per_file_ignores=(("tests/*", ("TPU2",)),),
        exclude=("third_party",),
        certainty=Certainty.POSSIBLE,
        target_tensorflow="2.16",
        wrappers=("lib.host_call",),
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
    ("line", "said"),
    [
        ("certanty = 'possible'", "unknown key 'certanty'; did you mean 'certainty'?"),
        ("extend_select = []", "did you mean 'extend-select'?"),
        ("select = ['TPU901']", "select: unknown code 'TPU901'; did you mean"),
        ("select = ['']", "select: unknown code ''"),
        ("select = 'TPU1'", "select: must be a list of strings"),
        ("wrappers = [1]", "wrappers: must be a list of strings"),
        ("certainty = 'definit'", "did you mean 'definite'?"),
        ("target-tensorflow = '3.0'", "'3.0' is no TensorFlow version"),
        ("target-tensorflow = 2.1", "'2.1' is no TensorFlow version"),
        ("assume-tpu = 1", "assume-tpu: must be true or false"),
        ("jobs = 0", "jobs: must be a whole number from 1"),
        ("jobs = true", "jobs: must be a whole number from 1"),
        ("baseline = 3", "baseline: must be a string"),
        ("per-file-ignores = ['x']", "must be a table"),
        ("per-file-ignores = {a = ['X1']}", "unknown code 'X1'"),
        ("jobs = ", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = write(tmp_path, f"[tool.tpulint]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        find_config(str(tmp_path))
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot read: No such file"):
        load_config(str(tmp_path / "gone.toml"))
