"""The gallery's smallest program passes, and the page has a row for each that there is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import tensorflow as tf

from scripts import gallery_rows
from scripts.gallery_data import KINDS
from scripts.gallery_notebook_data import KINDS as NOTEBOOK_KINDS
from scripts.gallery_notebooks import Notebook, page_with, rows, run_of
from scripts.gallery_notebooks import read as notebook_rows
from scripts.gallery_page import PAGE, Run, page
from scripts.gallery_records import records_of, write_batches
from scripts.gallery_runs import Result, make_data, result_of

pytestmark = pytest.mark.any_release

SMALLEST = "guide-distributed-keras"
SECONDS = 240


def test_the_smallest_program_passes(tmp_path: Path) -> None:
    (program,) = (row for row in gallery_rows.read().programs if row.name == SMALLEST)
    result = result_of(program, (2, 1), sys.executable, tmp_path, SECONDS)
    logs = "".join(path.read_text("utf-8") for path in tmp_path.glob("runs/*/*.log"))
    assert result.verdict == "passes", logs


def test_a_wrong_loss_is_reported() -> None:
    gallery = gallery_rows.read()
    program = gallery.programs[0]
    result = Result(program.name, 2, 1, 3.0, 0.5, 0.6, "differs: 0.6 is expected")
    assert "| 2 | 1 | 3 | 0.500000 | differs: 0.6 is expected |" in page(
        gallery, {(program.name, (2, 1)): result}
    )


def test_what_was_not_run_keeps_its_row() -> None:
    gallery = gallery_rows.read()
    first, second = gallery.programs[:2]
    old, new = (
        Result(notebook.name, 2, 1, 3.0, 0.5, 0.5, "passes") for notebook in (first, second)
    )
    before = page(gallery, {(first.name, (2, 1)): old})
    text = page(gallery, {(first.name, (2, 1)): None, (second.name, (2, 1)): new}, before)
    assert text.count("| 2 | 1 | 3 | 0.500000 | passes |") == 2
    assert "not run" not in text


def test_the_page_has_all_programs_and_what_is_left_out() -> None:
    gallery = gallery_rows.read()
    text = PAGE.read_text(encoding="utf-8")
    assert all(text.count(f"| `{program.module}` |") >= 2 for program in gallery.programs)
    assert all(f"| {release} | {why} |" in text for release, why in gallery.left_out.items())


def test_all_data_can_be_made() -> None:
    assert {program.data for program in gallery_rows.read().programs} - {""} == set(KINDS)


def test_data_is_made_where_no_path_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    make_data("images", tmp_path / "images", sys.executable)
    assert (tmp_path / "images" / records_of(1)).exists()


def test_there_are_programs_of_each_kind() -> None:
    kinds = [program.kind for program in gallery_rows.read().programs]
    assert len(kinds) >= 12
    assert kinds.count("TPUEstimator") >= 5
    assert kinds.count("Keras' `fit`") >= 4
    assert kinds.count("a loop of its own") + kinds.count("orbit's loop") >= 3


def test_without_a_pod_its_replicas_get_the_same_examples_in_order(tmp_path: Path) -> None:
    """Two hosts read the even and the odd rows; the four replicas of each get one of a batch."""
    write_batches(tmp_path, ({"number": number} for number in range(16)), batch_size=8)

    def numbers(hosts: int) -> list[int]:
        records = tf.data.TFRecordDataset(str(tmp_path / records_of(hosts)))
        kind = {"number": tf.io.FixedLenFeature([], tf.int64)}
        return [int(tf.io.parse_single_example(record, kind)["number"]) for record in records]

    assert numbers(1) == list(range(16))
    assert numbers(2) == [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
    assert numbers(4)[:8] == [0, 4, 1, 5, 2, 6, 3, 7]


TRAINS = """
import os
import tensorflow as tf

(images, labels), _ = tf.keras.datasets.mnist.load_data()
address = "grpc://" + os.environ["COLAB_TPU_ADDR"]
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(address)
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
with tf.distribute.TPUStrategy(resolver).scope():
    flat, dense = tf.keras.layers.Flatten(input_shape=(28, 28)), tf.keras.layers.Dense(10)
    model = tf.keras.Sequential([flat, dense])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(images[:640] / 255, labels[:640], batch_size=32, epochs=3)
"""


def test_a_notebook_trains_for_the_steps_of_its_row_on_the_data_of_its_row(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": TRAINS, "outputs": [], "metadata": {}}
    (tmp_path / "notebooks").mkdir()
    text = json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    (tmp_path / "notebooks" / "digits.ipynb").write_text(text)
    notebook = Notebook("digits", "nobody/nowhere", "0", "a.ipynb", data="MNIST", steps=3)
    run = run_of(notebook, "notebooks-newest", sys.executable, tmp_path, SECONDS)
    log = next(tmp_path.glob("notebook-runs/*/log.txt")).read_text("utf-8")
    assert (run.ended, run.steps) == ("0", 3), log
    assert run.trains
    assert run.megabytes > 100


def test_the_page_has_a_row_for_each_run_of_a_notebook() -> None:
    environments, notebooks = notebook_rows()
    text = PAGE.read_text(encoding="utf-8")
    lines = list(rows(environments, notebooks, Path("no cache"), text))
    assert page_with(text, lines) == text
    assert not any("not run" in line for line in lines)
    failing = {
        notebook.name
        for notebook, line in zip(
            (item for item in notebooks for _ in item.environments), lines, strict=True
        )
        if "| trains" not in line
    }
    for notebook in notebooks:
        assert notebook.name not in failing or notebook.fails, notebook.name


def test_all_data_of_notebooks_can_be_made() -> None:
    assert {notebook.data for notebook in notebook_rows()[1]} == set(NOTEBOOK_KINDS)


def test_the_rows_of_programs_leave_those_of_notebooks_alone() -> None:
    gallery = gallery_rows.read()
    text = PAGE.read_text(encoding="utf-8")
    runs: dict[Run, Result | None] = {
        (program.name, size): None
        for program in gallery.programs
        for size in gallery_rows.sizes(program, (2, 8))
    }
    assert page(gallery, runs, text) == text
