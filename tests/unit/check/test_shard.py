"""The parts of a run that several machines share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tpulint.check.selection import balance, shard
from tpulint.frontends.settings import Settings

SEAM = "import tensorflow as tf\n{}\ntf.compat.v1.tpu.replicate(lambda: None)\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two programs, of which one has two entry points, and files that are of none."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "train.py": SEAM.format("import common"),
        "evaluate.py": SEAM.format("import common"),
        "common.py": "x = 1\n" * 200,
        "other.py": SEAM.format("import lonely"),
        "lonely.py": "y = 2\n",
        "plain_a.py": "",
        "plain_b.py": "z = 3\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    return sorted(texts)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_each_file_is_in_one_shard_and_a_program_in_one(program: list[str], count: int) -> None:
    shards = [shard(number + 1, count, program, [Settings()]) for number in range(count)]
    assert sorted(name for part in shards for name in part) == program
    for together in ({"train.py", "evaluate.py", "common.py"}, {"other.py", "lonely.py"}):
        assert sum(bool(together & part) for part in shards) == 1


def test_the_order_of_the_files_and_their_folder_do_not_matter(program: list[str]) -> None:
    first = shard(1, 2, program, [Settings()])
    assert shard(1, 2, program[::-1], [Settings()]) == first
    absolute = shard(1, 2, [os.path.abspath(name) for name in program], [Settings()])
    assert {os.path.basename(name) for name in absolute} == first


def test_what_one_setting_alone_makes_a_program_is_not_divided(program: list[str]) -> None:
    Path("wrapped.py").write_text("from mine import lift\nimport plain_a\n")
    Path("wrapped_too.py").write_text("from mine import lift\nimport plain_a\n")
    names = [*program, "wrapped.py", "wrapped_too.py"]
    settings = [Settings(), Settings(wrappers=("mine.lift",))]
    for number in range(1, 4):
        part = shard(number, 3, names, settings)
        assert len(part & {"wrapped.py", "wrapped_too.py", "plain_a.py"}) in (0, 3)


def test_a_caller_is_of_the_program_that_it_calls(program: list[str]) -> None:
    Path("start.py").write_text("import train\n" + "#" * 5_000)
    for number in range(1, 4):
        part = shard(number, 3, [*program, "start.py"], [Settings()])
        assert len(part & {"start.py", "train.py", "common.py"}) in (0, 3)


def test_the_estimators_of_one_home_are_not_divided(program: list[str]) -> None:
    """They are one program, though none imports the other."""
    text = "import tensorflow as tf\nx = tf.compat.v1.estimator.tpu.TPUEstimator(f)\n"
    for name in ("spec.py", "estimator.py"):
        Path(name).write_text(text + "#" * 5_000)
    names = [*program, "spec.py", "estimator.py"]
    for number in range(1, 4):
        part = shard(number, 3, names, [Settings()])
        assert len(part & {"spec.py", "estimator.py"}) in (0, 2)


def test_the_largest_programs_are_shared_out_first(tmp_path: Path) -> None:
    paths = {size: str(tmp_path / f"{size}.py") for size in (10, 50, 60, 90)}
    for size, path in paths.items():
        Path(path).write_text("#" * size)
    shards = balance([[path] for path in paths.values()], 2)
    assert [sum(map(os.path.getsize, shard)) for shard in shards] == [100, 110]


def test_a_file_that_is_gone_counts_nothing(tmp_path: Path) -> None:
    assert balance([[str(tmp_path / "gone.py")]], 2) == [[str(tmp_path / "gone.py")], []]
