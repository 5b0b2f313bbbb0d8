"""A model_fn whose estimator is not seen: it may be a TPU's, unless its project uses none.

A mark in a program is what TPU604 says, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reading import read_program
from tests.rules.analysis import expected, reported

NETWORK = """
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    update = tf.train.AdamOptimizer().minimize(loss){mark}
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update)
"""
GUESSED, SILENT = NETWORK.format(mark="  # possible: TPU604"), NETWORK.format(mark="")
TRAIN = """
import tensorflow.compat.v1 as tf

def train(model_fn, flag):
    tf.estimator.tpu.TPUEstimator(model_fn{use})
"""
REFUSES = TRAIN.format(use=", use_tpu=False")
PROJECTS = {
    "no estimator": GUESSED,
    "one that uses the TPU": f"# file: network.py{GUESSED}# file: train.py{TRAIN.format(use='')}",
    "one that asks a flag": f"# file: network.py{GUESSED}# file: train.py"
    + TRAIN.format(use=", use_tpu=flag"),
    "one that uses no TPU": f"# file: network.py{SILENT}# file: train.py{REFUSES}",
    "one that does, one that does not": f"# file: network.py{GUESSED}# file: train.py{REFUSES}"
    f"# file: serve.py{TRAIN.format(use=', use_tpu=True')}",
    # A false alarm: a copy of a network for TPUs, used without them.
    "one that is no TPUEstimator": f"# file: network.py{SILENT}"
    """# file: serve.py
import tensorflow.compat.v1 as tf
from network import model_fn

tf.estimator.Estimator(model_fn).predict(None)
""",
    "one that may be a TPUEstimator": f"# file: network.py{GUESSED}"
    """# file: serve.py
import tensorflow.compat.v1 as tf
from network import model_fn

make = tf.estimator.tpu.TPUEstimator if input() else tf.estimator.Estimator
tf.estimator.Estimator(model_fn).predict(None)
""",
    "one of the same package": "# file: net/__init__.py\n# file: net/models/__init__.py\n"
    f"# file: net/models/network.py{SILENT}# file: net/train.py{REFUSES}",
    # A false alarm: only what is evaluated was written for a TPU.
    "one that trains without a TPU": """
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if mode == tf.estimator.ModeKeys.TRAIN:
        update = tf.train.AdamOptimizer().minimize(loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=update)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
""",
    "another computation, beside one that uses no TPU": f"# file: train.py{REFUSES}"
    """# file: network.py
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    update = tf.train.AdamOptimizer().minimize(loss)  # error: TPU604
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update)
# file: elsewhere/main.py
import tensorflow.compat.v1 as tf
from network import model_fn

tf.estimator.tpu.TPUEstimator(
    model_fn, train_batch_size=8, config=tf.estimator.tpu.RunConfig()
)
""",
}


def kinds(files: dict[str, str], folder: Path) -> list[str]:
    """The computations of a project without packages."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    program = read_program([str(path) for path in sorted(folder.rglob("*.py"))]).program
    assert program is not None
    return [computation.kind for computation in program.computations]


def test_an_estimator_of_another_folder_is_ignored(tmp_path: Path) -> None:
    assert kinds({"one/network.py": SILENT, "other/train.py": REFUSES}, tmp_path) == ["model_fn"]


def test_an_estimator_leaves_other_computations_alone(tmp_path: Path) -> None:
    by_hand = """
import tensorflow.compat.v1 as tf

tf.tpu.rewrite(tf.sin, [tf.zeros([4])])
"""
    files = {"network.py": SILENT, "train.py": REFUSES, "check.py": by_hand}
    assert kinds(files, tmp_path) == ["rewrite"]


@pytest.mark.parametrize("text", PROJECTS.values(), ids=PROJECTS)
def test_its_project_decides_that_it_is_for_a_tpu(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU604"]) == expected(text, ["TPU604"])


def test_an_argument_that_no_estimator_passes_need_not_be_a_tensor(tmp_path: Path) -> None:
    """False alarm: an iteration's number was taken for a tensor that the host function captures."""
    text = """
import tensorflow.compat.v1 as tf

def build_iteration(number, features, labels, mode):
    loss = tf.losses.mean_squared_error(labels, features)
    def metric_fn(values):
        iteration = tf.metrics.mean(tf.constant(number))
        return {"mean": tf.metrics.mean(values), "iteration": iteration}
    metrics = (metric_fn, [tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
"""
    assert reported(text, tmp_path, "TPU601") == []
