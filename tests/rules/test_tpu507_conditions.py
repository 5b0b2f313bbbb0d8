"""Tests of Python's on tensors: those that autograph converts, and those that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import REWRITTEN, SYSTEM, TRAINED, V1

COMPUTATION = V1 + "import sys\n\ndef library_says(x):\n    return len(sys.argv) > 1\n\n"
STEP = SYSTEM + "import sys\n"
PROGRAMS = {
    "an if in a graph": COMPUTATION
    + """
def computation(x):
    if tf.reduce_any(x > 0.0):  # error: TPU507
        x = x + 1.0
    return x
"""
    + REWRITTEN,
    "a false alarm: keys of what may be a dict": V1
    + """
def model_fn(features, labels, mode, params):
    loss = 0.0
    for key in features:
        if key == "image" or key[:5] == "mask_" or "mask_" + key == "mask_of_all":
            loss += tf.reduce_sum(features[key])
    weights = {key: value for key, value in features.items() if key != "label"}
    for key in sorted(features.keys()):
        if key[0] >= "m":
            loss += tf.reduce_sum(weights[key])
    for row in features:
        if row > 0.0:  # error: TPU507
            loss += row
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    train_op = optimizer.minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn=model_fn, train_batch_size=8)
""",
    "a false alarm: what only a number of Python's is asked": COMPUTATION
    + """
def computation(x):
    rate = x * 2.0
    if isinstance(rate, (int, float)) and rate > 1.0:
        raise ValueError(rate)
    if isinstance(rate, bool):
        return x if rate else -x
    return x * rate
"""
    + REWRITTEN,
    "a false alarm: asked of what is no tensor, in one test": COMPUTATION
    + """
def computation(x):
    rate = tf.reduce_mean(x)
    if not isinstance(rate, tf.Tensor) and rate > 0.0:
        x = x * 2.0
    if isinstance(rate, tf.Tensor) or rate > 0.0:
        x = x * 3.0
    if len(sys.argv) > 1 and not tf.is_tensor(rate) and rate < 1.0:
        x = x * 4.0
    if len(sys.argv) > 1 and rate < 1.0:  # possible: TPU507
        x = x * 5.0
    return x
"""
    + REWRITTEN,
    "an expression in a graph": COMPUTATION
    + """
def computation(x):
    return x if tf.reduce_sum(x) > 0.0 else -x  # error: TPU507
"""
    + REWRITTEN,
    "a flag and a tensor": COMPUTATION
    + """
def computation(x):
    if library_says(x) and tf.reduce_any(x > 0.0):  # possible: TPU507
        x = x + 1.0
    return x
"""
    + REWRITTEN,
    "a tensor and a flag": COMPUTATION
    + """
def computation(x):
    if tf.reduce_any(x > 0.0) and library_says(x):  # error: TPU507
        x = x + 1.0
    return x
"""
    + REWRITTEN,
    "questions that Python answers": COMPUTATION
    + """
def computation(x):
    if x is None or x.shape[0] > 3 or tf.executing_eagerly() or tf.is_tensor(x):
        return tf.zeros([4])
    if tf.shape(x)[0] is not None and x.dtype == tf.float32:
        return x
    return -x
"""
    + REWRITTEN,
    "a missed alarm: the global step": COMPUTATION
    + """
def computation(x):
    epoch = tf.cast(tf.train.get_or_create_global_step(), tf.float32) / 100.0
    for rate, start in [(0.1, 5), (0.01, 30)]:
        if epoch >= start:  # error: TPU507
            x = x * rate
    return x
"""
    + REWRITTEN,
    "innocent neighbors: what Python knows of the global step": COMPUTATION
    + """
def computation(x):
    step = tf.train.get_global_step()
    if step is None or step.dtype != tf.int64:
        step = tf.train.create_global_step()
    steps_per_epoch = 1000 / 8
    if steps_per_epoch > 100:
        x = x + 1.0
    return tf.where(tf.cast(step, tf.float32) > steps_per_epoch, x, -x)
"""
    + REWRITTEN,
    "a missed alarm: a loss of what is not seen": COMPUTATION
    + """
import library

def computation(x):
    loss = tf.reduce_mean(library.scores())
    if loss > 10.0:  # error: TPU507
        x = -x
    if loss == 0.0:
        x = x + 1.0
    return x
"""
    + REWRITTEN,
    "comparisons with None": COMPUTATION
    + """
def computation(x, y=None):
    loss = tf.reduce_sum(x)
    if loss != None:
        x = x + 1.0
    if None == loss or loss == None:
        return x.numpy()
    other = loss if library_says(x) else None
    if other != None:
        x = x + other
    return x if tf.reduce_sum(x) != 0.0 else -x  # error: TPU507
"""
    + REWRITTEN,
    "a try with a string of several rows": COMPUTATION
    + """
def computation(x):
    try:
        note = \'\'\'
text at the margin
\'\'\'
        if tf.reduce_any(x > 0.0):  # possible: TPU507
            x = x + 1.0
        return x.numpy()  # possible: TPU507
    except (AttributeError, TypeError):
        pass
    return x.numpy()  # error: TPU507
"""
    + REWRITTEN,
    "a dict of inputs": STEP
    + """
@tf.autograph.experimental.do_not_convert
def step(features):
    if not features:
        features = {}
    if features["labels"] and features["weights"]:
        return features["labels"]["x"]
    if tf.nest.is_nested(features["inputs"]):
        return tf.nest.flatten(features["inputs"])
    return features["inputs"]
"""
    + TRAINED,
    "a constant": COMPUTATION
    + """
def computation(x):
    if tf.constant(1.0) is not None and library_says(x):
        return x
    return -x
"""
    + REWRITTEN,
    "a step that is converted": STEP
    + """
def step(x):
    if tf.reduce_any(x > 0.0):
        x = x + 1.0
    while tf.reduce_sum(x) > 1.0:
        x = x / 2.0
    return x if tf.reduce_sum(x) > 0.0 else -x
"""
    + TRAINED,
    "an error under a test of a tensor": STEP
    + """
def fail(x):
    if len(sys.argv) > 3:
        raise ValueError(x)

def step(x):
    if float(tf.reduce_sum(x)) > 10.0:
        raise ValueError("diverged")  # error: TPU507
    elif len(sys.argv) > 2:
        raise ValueError("by a flag")
    if tf.reduce_any(x > 0.0):
        x = x + 1.0
    else:
        raise ValueError(x)  # error: TPU507
    if tf.reduce_any(x > 0.0):
        if len(sys.argv) > 1:
            raise ValueError(x)
        fail(x)
    return x
"""
    + TRAINED,
    "errors that shapes, modes and arguments decide": STEP
    + """
def step(x, name="a", scale=None):
    if x.shape[0] is None or len(x.shape) > 3 or x.dtype != tf.float32:
        raise ValueError("shape")
    if name not in ("a", "b") or not isinstance(x, tf.Tensor):
        raise TypeError(name)
    if scale is not None and scale > 1.0:
        raise ValueError(scale)
    try:
        if tf.reduce_any(x > 0.0):
            raise ValueError("caught")
    except ValueError:
        pass
    tf.debugging.assert_less(x, 10.0)
    return x
"""
    + TRAINED,
    "a function that is not converted": STEP
    + """
@tf.autograph.experimental.do_not_convert
def step(x):
    if tf.reduce_any(x > 0.0):  # error: TPU507
        x = x + 1.0
    return x
"""
    + TRAINED,
    "a tf.function without autograph": STEP
    + """
def step(x):
    if tf.reduce_any(x > 0.0):  # error: TPU507
        x = x + 1.0
    return x

@tf.function(autograph=False)
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8]))
""",
    "a test in a try": COMPUTATION
    + """
def computation(x):
    try:
        if tf.reduce_any(x > 0.0):  # possible: TPU507
            x = x + 1.0
    except TypeError:
        pass
    return x
"""
    + REWRITTEN,
    "a layer's call": STEP
    + """
class Layer(tf.keras.layers.Layer):
    def call(self, x):
        if tf.reduce_any(x > 0.0):  # possible: TPU507
            x = x + 1.0
        return x

with strategy.scope():
    model = tf.keras.Sequential([Layer()])
    model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]), tf.ones([8, 3]))
""",
    "a Lambda": STEP
    + """
def positive(x):
    if tf.reduce_any(x > 0.0):  # error: TPU507
        x = x + 1.0
    return x

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Lambda(positive)])
    model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]), tf.ones([8, 3]))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_conditions_on_tensors(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, ["TPU507"]) == expected(text, ["TPU507"])
