"""A possible finding names what would settle it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import messages
from tests.rules.openings import NETWORK, STRATEGY, V1

PRINTS = """
@tf.function
def run(x):
    return strategy.run(lambda x: tf.py_function(abs, [x], tf.float32), args=(x,))
"""
PROGRAMS = {
    "soft placement": (
        "TPU501",
        STRATEGY
        + "def settle():\n    tf.config.set_soft_device_placement(True)\n"
        + PRINTS
        + "\nrun(1.0)\n",
        "(unless soft device placement is on)",
    ),
    "the estimator": (
        "TPU604",
        V1
        + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    train_op = tf.train.AdamOptimizer().minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
""",
        "(if a TPUEstimator runs this `model_fn` on a TPU)",
    ),
    "the optimizer": (
        "TPU604",
        V1
        + """
import library

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = library.made() if params["fast"] else tf.train.AdamOptimizer()
    train_op = optimizer.minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn, config=tf.estimator.tpu.RunConfig(), train_batch_size=8)
""",
        "(if `AdamOptimizer` is the one of several that is used)",
    ),
    "the TPU's name": (
        "TPU607",
        NETWORK
        + """
import sys

def input_fn(params):
    data = tf.data.Dataset.from_generator(model_fn, tf.float32)
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

cluster = tf.distribute.cluster_resolver.TPUClusterResolver(sys.argv[1])
config = tf.estimator.tpu.RunConfig(cluster=cluster)
tf.estimator.tpu.TPUEstimator(model_fn, config, train_batch_size=8).train(input_fn, max_steps=1)
""",
        "(unless the TPU is this machine's own: `local`, or a TPU VM)",
    ),
    "the function that is called": (
        "TPU608",
        NETWORK
        + """
import library

def decode(estimator):
    return estimator.predict(lambda: library.data())

def refuse(estimator):
    raise ValueError(estimator)

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, config=tf.estimator.tpu.RunConfig(), train_batch_size=8, predict_batch_size=8
)
{"decode": decode, "refuse": refuse}[library.mode()](estimator)
""",
        "(if this code of `decode` is the one of several that is run)",
    ),
    "nothing is in doubt": ("TPU501", STRATEGY + PRINTS + "\nrun(1.0)\n", ""),
}


@pytest.mark.parametrize(("code", "text", "doubt"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_message_ends_with_what_would_settle_it(
    code: str, text: str, doubt: str, tmp_path: Path
) -> None:
    [(message, _)] = messages(text, tmp_path, code)
    assert message.endswith(doubt)
    assert message.endswith(")") is bool(doubt)
