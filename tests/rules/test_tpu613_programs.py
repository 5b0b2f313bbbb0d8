"""Programs with TPU613, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, V1

SCAFFOLD = (
    V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    def scaffold_fn():
        tf.train.init_from_checkpoint("gs://bucket/bert", {"/": "bert/"}){mark}
        return tf.train.Scaffold()
    {use}
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, scaffold_fn=scaffold_fn)
"""
    + ESTIMATOR
)
USES = {
    "only the specification has it": ("pass", ""),
    # A false alarm in an SSD of MLPerf: the branch is for a GPU.
    "another branch calls it": (
        "if params['device'] == 'gpu':\n"
        "        return tf.estimator.EstimatorSpec(mode, loss=loss, scaffold=scaffold_fn())",
        "",
    ),
    "each run calls it": ("scaffold_fn()", "  # error: TPU613"),
}


@pytest.mark.parametrize(("use", "mark"), USES.values(), ids=USES)
def test_a_function_that_is_given_as_scaffold_fn(use: str, mark: str, tmp_path: Path) -> None:
    assert_marked(SCAFFOLD.replace("{use}", use).replace("{mark}", mark), tmp_path)


# A program for images, trained on TPUs: at its restore no variable exists.
BUILT = (
    V1
    + """
import library

def model_fn(features, labels, mode, params):
    {build}
    checkpoint = params["checkpoint"]
    restored = {{}}
    for variable in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="vae"):
        tf.logging.info(variable)
        restored[variable.name] = variable
    tf.train.init_from_checkpoint(checkpoint, restored){mark}
    logits = tf.layers.dense(features, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + ESTIMATOR
)
BUILDS = {
    "nothing is built": ("pass", "  # possible: TPU613"),
    "a layer is called": ("tf.layers.dense(features, 8)", "  # error: TPU613"),
    "a variable is made": ("tf.get_variable('vae/w', [8])", "  # error: TPU613"),
    "a package builds it": ("library.encode(dict(x=features))", "  # error: TPU613"),
}


@pytest.mark.parametrize(("build", "mark"), BUILDS.values(), ids=BUILDS)
def test_what_is_built_before_the_restore(build: str, mark: str, tmp_path: Path) -> None:
    assert_marked(BUILT.format(build=build, mark=mark), tmp_path)


SOFT = "tf.config.set_soft_device_placement(True)\n"


def test_soft_placement_does_not_help(tmp_path: Path) -> None:
    program = BUILT.format(build="tf.layers.dense(features, 8)", mark="  # error: TPU613")
    assert_marked(program.replace("import library\n", f"import library\n\n{SOFT}"), tmp_path)
