"""`%load_ext tpulint` in a Jupyter kernel: cells are checked before they run, and emulated."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.integration.conftest import ROOT, tpulint

SECONDS = 120
# In functions, so that no cell waits for TensorFlow.
HELPER = """\
def inner(x):
    import tensorflow as tf
    return tf.compat.v1.tpu.outside_compilation(abs, x)

def step(x):
    import tensorflow as tf
    return tf.compat.v1.tpu.outside_compilation(inner, x)
"""
PROGRAM = """\
def program():
    import tensorflow as tf
    return tf.compat.v1.tpu.rewrite(step, [[1.0]])

print("the cell runs")
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)


def run(*cells: str) -> list[str]:
    """Return what each cell prints, and the error that it ends with."""
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", allow_errors=True
    )
    client.execute(cwd=os.getcwd())
    return ["".join(map(words, cell.outputs)) for cell in notebook.cells]


def words(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return str(output.data["text/plain"])


def test_a_cell_is_checked_with_those_before_it() -> None:
    first, helper, program, again, repaired, other = run(
        "%load_ext tpulint",
        HELPER,
        PROGRAM,
        PROGRAM,
        HELPER.replace("return tf.compat.v1.tpu.outside_compilation(inner, x)", "return x"),
        "%unload_ext tpulint\n" + PROGRAM,
    )
    assert (first, helper) == ("", "")
    assert program.startswith("TPU201 nested-outside-compilation: `abs` is sent to the host")
    assert "notebook.ipynb:cell 2:3:12" in program
    assert "notebook.ipynb:cell 3:3" in program
    assert program.endswith("the cell runs\n")
    assert again == "the cell runs\n", "the fault is in another cell, and was reported"
    assert repaired == ""
    assert other == "the cell runs\n"


def test_the_configuration_of_the_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "tpulint.toml").write_text('ignore = ["TPU201"]\n')
    assert run("%load_ext tpulint", HELPER, PROGRAM)[2] == "the cell runs\n"
    (tmp_path / "tpulint.toml").write_text("nonsense = 1\n")
    (output,) = run("%load_ext tpulint", "print(1)")[1:]
    assert output.startswith("tpulint: ")
    assert output.endswith("1\n")
    assert output.count("\n") == 2


def test_a_cell_runs_on_an_emulated_tpu() -> None:
    outcome = run(
        "%load_ext tpulint",
        "import tensorflow as tf\nlog = []",
        "%%tpulint_run --replicas 2\n"
        "resolver = tf.distribute.cluster_resolver.TPUClusterResolver('')\n"
        "tf.config.experimental_connect_to_cluster(resolver)\n"
        "tf.tpu.experimental.initialize_tpu_system(resolver)\n"
        "strategy = tf.distribute.TPUStrategy(resolver)\n"
        "@tf.function\n"
        "def step():\n"
        "    tf.compat.v1.tpu.outside_compilation(\n"
        "        lambda x: tf.numpy_function(log.append, [x], []), tf.constant(1.0))\n"
        "    return tf.constant(2.0)\n"
        "strategy.run(step)\n"
        "len(log)",
        "strategy.num_replicas_in_sync, len(log)",
        HELPER,
        "%%tpulint_run --replicas 2\n"
        "with tf.Graph().as_default():\n"
        "    tf.compat.v1.tpu.rewrite(step, [[1.0]])",
        "%%tpulint_run --replica 2\nprint('not reached')",
    )
    emulated, after, _, failed, wrong = outcome[2:]
    assert re.search(r"tpulint run: In \[3\] on 2 replicas: exit status 0 after [\d.]+ s", emulated)
    assert re.search(r"host cluster 0 +2 +0 .* In \[3\]:7\n", emulated)
    assert emulated.endswith("\n2")
    assert after == "(2, 2)"
    assert "NestedClusterError at In [5]:3 [TPU201 nested-outside-compilation]: `tp" in failed
    assert "notebook.ipynb:cell 5:3:12" in failed
    assert "NestedClusterError: Cannot nest" in failed
    assert wrong == "ValueError: %%tpulint_run: unknown arguments: --replica 2"


def test_the_difference_of_a_notebook_is_that_of_its_cells(tmp_path: Path) -> None:
    cells = [
        "%matplotlib inline\n!ls\nx = 1",
        "!ls\nx = 1  # noqa: TPU999",
        "y = 2  # noqa: TPU999",
    ]
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "note.ipynb")
    answer = tpulint(tmp_path, "check", "--diff", "note.ipynb")
    assert answer.status == 1
    assert answer.out == (
        "--- note.ipynb:cell 2\n+++ note.ipynb:cell 2\n@@ -1,2 +1,2 @@\n !ls\n"
        "-x = 1  # noqa: TPU999\n+x = 1\n"
        "--- note.ipynb:cell 3\n+++ note.ipynb:cell 3\n@@ -1 +1 @@\n"
        "-y = 2  # noqa: TPU999\n+y = 2\n"
    )
    assert json.loads((tmp_path / "note.ipynb").read_text())["cells"][1]["source"]
