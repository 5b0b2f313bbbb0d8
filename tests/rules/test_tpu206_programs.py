"""Programs with TPU206, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, V1

PROGRAMS = {
    "a gradient that no host function is on the way of": V1
    + """
def model_fn(features, labels, mode, params):
    weights = tf.tpu.outside_compilation(lambda: tf.ones([8]))
    loss = tf.reduce_mean(tf.layers.dense(features, 1) * weights)
    tf.tpu.outside_compilation(lambda v: tf.print(v), loss)
    train_op = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "numpy_function has no gradient to compile": V1
    + """
def computation(x):
    hidden = x * 2.0
    scale = tf.tpu.outside_compilation(
        lambda v: tf.numpy_function(lambda a: a, [v], tf.float32), hidden
    )
    return tf.gradients(tf.reduce_sum(scale * hidden), [hidden])[0]

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a gradient of the host, on the host": V1
    + """
def computation(x):
    def on_host(v):
        return tf.gradients(tf.reduce_sum(v * v), [v])[0]

    return tf.tpu.outside_compilation(on_host, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "Keras' minimize, and the loss through a loss function": V1
    + """
def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    logits = tf.tpu.outside_compilation(lambda x: tf.nn.l2_normalize(x, 1), logits)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    grads = optimizer.compute_gradients(loss)  # possible: TPU206
    train_op = optimizer.apply_gradients(grads)  # error: TPU604
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "a gradient that certainly cannot be compiled, if this function is called": V1
    + """
import sys

def record(value):
    return tf.py_function(lambda v: v, [value], tf.float32)

def sent(x):
    y = x * 2.0
    z = tf.tpu.outside_compilation(record, y)
    return tf.gradients(z, [y])[0]  # possible: TPU206

def computation(x):
    return {"sent": sent, "sin": tf.sin}[sys.argv[1]](x)
"""
    + REWRITTEN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
