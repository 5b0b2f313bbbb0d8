"""Programs with TPU302, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STRATEGY, V1

PROGRAMS = {
    "cleared on some runs only": V1
    + """
import contextlib

def computation(x, flag):
    with tf.init_scope() if flag else contextlib.nullcontext():
        return tf.tpu.outside_compilation(tf.math.log, x)  # possible: TPU302

def build(x, y, flag):
    return tf.tpu.replicate(lambda value: computation(value, flag), [[x], [y]])
""",
    "cleared for one of two callers": V1
    + """
def on_host(x):
    return tf.tpu.outside_compilation(tf.math.log, x)  # possible: TPU302

def computation(x):
    with tf.control_dependencies(None):
        scale = on_host(x)
    return scale + on_host(x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "cleared by a context manager of one's own, in a strategy": STRATEGY
    + """
import contextlib

@contextlib.contextmanager
def outside():
    with tf.init_scope():
        yield

@tf.function
def train(batch):
    def step(x):
        with outside():
            tf.compat.v1.tpu.outside_compilation(lambda: tf.constant(1.0))  # error: TPU302
        return x
    return strategy.run(step, args=(batch,))
""",
    "a spec where the context is cleared: its host_call runs after the step": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    kept = [tf.reshape(loss, [1])]
    with tf.control_dependencies(None):
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, host_call=(lambda each: tf.summary.scalar("loss", each[0]), kept)
        )

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=8, config=tf.estimator.tpu.RunConfig()
)
""",
    "cleared in a run that may be no TPU's": """
import tensorflow as tf

def step(x):
    with tf.control_dependencies(None):
        return tf.compat.v1.tpu.outside_compilation(tf.sin, x * 2.0)  # error: TPU302

@tf.function
def train(x):
    tf.distribute.get_strategy().run(step, args=(x,))

train(tf.zeros([8]))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
