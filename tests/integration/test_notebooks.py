"""A notebook as people write them: commands, magics, await, a broken cell, and a fault in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tpulint.cli.main import main

HOST = """\
  import tensorflow.compat.v1 as tf
  total = tf.get_variable("total", [], use_resource=True)

  def level():
      return total.read_value()"""
RATIO = """\
def ratio(loss):
    return loss / level()

def show(session):
    print(session.run(level()))"""
DEVICE = """\
%%time
def computation(x):
    loss = tf.reduce_sum(x * x)
    with tf.control_dependencies([total.assign_add(loss)]):
        return tf.tpu.outside_compilation(ratio, loss) * 2.0

def build(x):
    return tf.tpu.rewrite(computation, [x])"""
CELLS = [
    ("markdown", "# A deadlock"),
    ("code", "%matplotlib inline\n!pip install tensorflow \\\n    tf-slim\nfiles = !ls -l"),
    ("code", HOST),  # cell 3, indented
    ("code", "%%bash\necho $HOME"),
    ("code", RATIO),  # cell 5
    ("code", DEVICE),
    ("code", "here is = no Python"),  # cell 7
    ("code", "rows = await load()\nasync with rows:\n    print(await rows.first())"),
    ("code", "show(build(tf.zeros([4])))"),
]
DEADLOCK = [
    ("device", 6, 8, "`rewrite` compiles `computation`"),
    ("device", 6, 4, "writes `total` and holds it until the program ends"),
    ("device", 6, 5, "waits for the result of `ratio`"),
    ("host", 6, 5, "`ratio` runs on the host"),
    ("host", 5, 2, "calls `level`"),  # the caller at fault, and not `show`
    ("host", 3, 5, "waits for `total`, which the device program holds"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cells = [{"cell_type": kind, "source": text.splitlines(True)} for kind, text in CELLS]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["check", "--no-cache", "--output-format", "json", "n.ipynb"]) == 1
    data: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return data


def test_a_broken_cell_costs_only_itself(findings: list[dict[str, Any]]) -> None:
    places = [
        (finding["code"], finding["cell"], finding["location"]["row"]) for finding in findings
    ]
    assert places == [("TPU101", 3, 5), ("TPU001", 7, 1)]


def test_the_steps_name_their_cells_and_the_caller_at_fault(findings: list[dict[str, Any]]) -> None:
    steps = [
        (step["lane"], step["cell"], step["location"]["row"], step["message"])
        for step in findings[0]["trace"]
    ]
    assert steps == DEADLOCK


def test_the_text_names_the_cell_of_each_step(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", "--no-cache", "--select", "TPU101", "n.ipynb"])
    shown = capsys.readouterr().out
    assert "n.ipynb:cell 3:5:" in shown
    for number, (_, cell, row, _) in enumerate(DEADLOCK, 1):
        assert f"{number} n.ipynb:cell {cell}:{row}" in shown
