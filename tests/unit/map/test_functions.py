"""The part of a program that a map shows: a file's, a function's, and why there may be none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.map.drawn import closes, drawn, found, of_file
from tests.unit.map.programs import DEADLOCK, SENT
from tpulint.config import ConfigError


@pytest.mark.parametrize(
    ("function", "titles"),
    [
        ("log", {"rewrite", "outside_compilation(log)", "log"}),
        (
            "step",
            {"rewrite", "device segment 1", "outside_compilation(log)", "log", "device segment 2"},
        ),
        (
            "build",
            {"rewrite", "device segment 1", "outside_compilation(log)", "log", "device segment 2"},
        ),
    ],
)
def test_a_function_shows_its_part(function: str, titles: set[str], tmp_path: Path) -> None:
    map_drawn = drawn(SENT, tmp_path, function)
    assert {node.title.split(":")[0] for node in map_drawn.nodes} == titles


@pytest.mark.parametrize("function", [None, "step", "note"])
def test_a_deadlock_is_shown_from_either_side(function: str | None, tmp_path: Path) -> None:
    map_drawn = drawn(DEADLOCK, tmp_path, function)
    (cycle,) = map_drawn.cycles
    assert closes(cycle)
    assert [wait.text for wait in cycle.waits] == [
        "writes total, and holds it until the program ends",
        "waits for the result of note",
        "waits for total, which the device program holds",
    ]


def test_what_cannot_be_shown_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as unknown:
        found(SENT, tmp_path, "lg")
    assert str(unknown.value).endswith(
        "there is no function 'lg'; did you mean 'log'?;"
        " functions with a host cluster: log, step, build"
    )
    unused = SENT + "\n    def unused():\n        return 1\n"
    with pytest.raises(ConfigError, match="no TPU computation leads to 'unused'; functions with"):
        found(unused, tmp_path, "unused")
    with pytest.raises(ConfigError, match="nothing to map: no TPU computation"):
        found("print(1)", tmp_path)
    with pytest.raises(ConfigError, match=r"cannot be parsed: .* at line 1"):
        found("def f(:\n", tmp_path)
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\0\0")
    with pytest.raises(ConfigError, match="the file is binary"):
        of_file(binary)


def test_a_module_shows_the_computations_that_reach_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(
        "import tensorflow.compat.v1 as tf\n\n\ndef step(x):\n    return tf.square(x)\n"
    )
    (tmp_path / "train.py").write_text(
        "import model\nimport tensorflow.compat.v1 as tf\n\n"
        "tf.tpu.rewrite(model.step, [tf.zeros([4])])\n"
    )
    (only,) = of_file(tmp_path / "model.py").program.computations
    assert only.span is not None
    assert only.span.filename.endswith("train.py")
