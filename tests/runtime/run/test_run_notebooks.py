"""Notebooks under `tpulint run`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.runtime.run.test_run_programs import tpulint

CELLS = [
    ["# Title\n"],
    ["%pip install tensorflow\n", "import sys\n", "import tensorflow as tf\n", "n = None"],
    ["from IPython.display import Image, Markdown, clear_output\n", "Markdown('# Title')"],
    [
        "resolver = tf.distribute.cluster_resolver.TPUClusterResolver('')\n",
        "tf.tpu.experimental.initialize_tpu_system(resolver)\n",
        "strategy = tf.distribute.TPUStrategy(resolver)",
    ],
    [
        "!nvidia-smi\n",
        "@tf.function\n",
        "def step(x):\n",
        "    if x > 0.0:\n",
        "        x = x * 2.0\n",
        "    return strategy.run(lambda y: y + 1.0, args=(x,))",
    ],
    ["display(step(tf.constant(3.0)).values[0].numpy(), __name__, n)"],
    ["None.nothing"],
]


def test_a_notebook_is_run_cell_by_cell(tmp_path: Path) -> None:
    kinds = ["markdown", *["code"] * (len(CELLS) - 1)]
    cells = [
        {"cell_type": kind, "source": source, "metadata": {}}
        for kind, source in zip(kinds, CELLS, strict=True)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "train.ipynb")
    assert (done.returncode, done.stdout) == (1, "7.0 __main__ None\n"), done.stderr
    assert "tpulint: train.ipynb: cell 2: skipped: %pip install tensorflow\n" in done.stderr
    assert "tpulint: train.ipynb: cell 5: skipped: !nvidia-smi\n" in done.stderr
    assert "tpulint: train.ipynb: cell 7, which begins at line 17:\n" in done.stderr
    assert re.search(r'train\.ipynb", line 17, in <module>\n    None\.nothing\n', done.stderr)
    assert "`tpulint check` of the file that ran: nothing" in done.stderr


TRAINING = """\
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""
STEP = """\
def double():
    return strategy.run(lambda: tf.constant(1.0) * 2.0)


tf.function(double)()
"""


@pytest.mark.any_release
def test_the_report_names_cells_of_a_notebook(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": source, "metadata": {}} for source in (TRAINING, STEP)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "steps.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "steps.ipynb")
    assert re.search(r"^steps\.ipynb:cell 2:2, 1 step, 1 compilation$", done.stderr, re.M), (
        done.stderr
    )
