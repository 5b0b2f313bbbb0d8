"""TPU2xx: what decides that it is said, and with what certainty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

PERHAPS = "import tensorflow as tf\n\nstrategy = tf.distribute.get_strategy()\n\n\n"
REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"
TRAINED = """
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=8, config=tf.estimator.tpu.RunConfig()
)
"""

PROGRAMS = {
    "a spec that is made on the host: its host_call is no nested cluster": V1
    + """
def model_fn(features, labels, mode, params):
    def spec(loss):
        kept = [tf.reshape(loss, [1])]
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, host_call=(lambda each: tf.summary.scalar("loss", each[0]), kept)
        )

    return tf.tpu.outside_compilation(spec, tf.reduce_mean(features))
"""
    + TRAINED,
    "an estimator that is made in a computation keeps its model_fn for later": V1
    + """
def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

def computation(x):
    tf.estimator.tpu.TPUEstimator(
        model_fn, use_tpu=True, train_batch_size=8, config=tf.estimator.tpu.RunConfig()
    )
    return x
"""
    + REWRITTEN,
    "inside a run that may be no TPU's": PERHAPS
    + """
def step(x):
    return tf.compat.v1.tpu.rewrite(tf.sin, [x])  # possible: TPU202

@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8]))
""",
    "a run that may be no TPU's, inside": PERHAPS
    + """
@tf.function
def train(x):
    return strategy.run(tf.sin, args=(x,))  # possible: TPU202

def computation(x):
    return train(x)

tf.compat.v1.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a host function that is filled in later, or is no function": V1
    + """
class Summaries:
    hook = None

    def computation(self, x):
        tf.tpu.outside_compilation(self.hook, x)
        return x

class Images(Summaries):
    pass

images = Images()
tf.tpu.rewrite(lambda x: images.computation(x), [tf.zeros([4])])
""",
    "no host function, or one that is not seen": V1
    + """
def computation(x, arguments):
    tf.tpu.outside_compilation()
    tf.tpu.outside_compilation(*arguments)
    return x

def build(x, arguments):
    return tf.tpu.rewrite(lambda v: computation(v, arguments), [x])
""",
    "a call that may give a function": V1
    + """
import sys

def chosen(x):
    if len(sys.argv) > 1:
        return tf.sin(x)
    return tf.sin

def computation(x):
    return tf.tpu.outside_compilation(chosen(x * 2.0), x)
"""
    + REWRITTEN,
    "the mode of a spec is called for, and no host function": V1
    + """
def mode_of(params):
    return "train"

def record(loss):
    return tf.summary.scalar("loss", loss[0])

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode_of(params), loss=loss, host_call=(record, [tf.reshape(loss, [1])])
    )
"""
    + TRAINED,
    "a gradient that surely cannot be compiled, if this function is called": V1
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
def test_it_is_said_as_surely_as_it_is_known(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])
