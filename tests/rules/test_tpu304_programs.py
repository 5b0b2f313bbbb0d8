"""Programs with TPU304, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, STRATEGY, V1

BUILT = """
def build(x, given):
    return tf.tpu.rewrite(lambda value: computation(value, given), [x])
"""
PROGRAMS = {
    "the update runs before what the optimizer makes": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    # A false alarm: the sum of a number that the loop is given was taken for Python's.
    "a sum with a loop's number": V1
    + """
from tensorflow.python.tpu import training_loop

def body(step):
    update = tf.get_variable("rounds", [], use_resource=True).assign_add(1.0)
    with tf.control_dependencies([update]):
        return step + 1

def computation():
    return training_loop.repeat(10, body, [0])

tf.tpu.rewrite(computation)
""",
    "a generator's block is its user's": V1
    + """
import contextlib

@contextlib.contextmanager
def after(check):
    with tf.control_dependencies([check]):
        yield

def computation(x):
    with after(tf.debugging.assert_positive(x)):
        return x * 2.0

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "an item of something unseen may be an operation": V1
    + """
def computation(x, parts):
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        return parts["logits"]

def build(x, y):
    return tf.tpu.replicate(computation, [[x, y], [y, x]])
""",
    "a callee that is not seen may build an operation": V1
    + """
from elsewhere import scaled

def computation(x):
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        return scaled(x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "one caller gives a function that builds an operation": V1
    + """
def after(check, fn):
    with tf.control_dependencies([check]):
        return fn()

def computation(x):
    check = tf.debugging.assert_positive(x)
    return after(check, lambda: x), after(check, lambda: x * 2.0)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a block of several contexts, and one that does nothing at all": V1
    + """
def computation(x):
    check = tf.debugging.assert_positive(x)
    doubled = x * 2.0
    with tf.name_scope("checked"), tf.control_dependencies([check]):  # error: TPU304
        result = doubled
    with tf.control_dependencies([check]):  # error: TPU304
        pass
    return result

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a variable is no operation, nor is a list of tensors": V1
    + """
def model_fn(features, labels, mode, params):
    total = tf.get_variable("total", [])
    update = total.assign_add(tf.reduce_sum(features))
    losses = []
    loss = tf.reduce_mean(features)
    with tf.control_dependencies([update]):  # error: TPU304
        losses.append(loss)
        last = total
    train_op = tf.group(last)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=losses[0], train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    "dependencies that may be none, in a host cluster": V1
    + """
def computation(x, checks):
    def on_host(value):
        result = tf.math.log(value)
        with tf.control_dependencies(checks):  # possible: TPU304
            return result
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y, checks):
    return tf.tpu.replicate(lambda value: computation(value, checks), [[x], [y]])
""",
    "nothing is asked for": V1
    + """
def computation(x):
    with tf.control_dependencies([]):
        y = x
    return y
"""
    + REWRITTEN,
    "a tf.function orders by itself": V1
    + """
counter = tf.get_variable("counter", [], use_resource=True)

@tf.function
def counted(x):
    with tf.control_dependencies([counter.assign_add(1.0)]):
        y = x
    return y

def computation(x):
    return counted(x * 2.0)
"""
    + REWRITTEN,
    "so does a step, whose caller may be one": STRATEGY
    + """
with strategy.scope():
    counter = tf.Variable(0.0)

def step(x):
    with tf.control_dependencies([counter.assign_add(1.0)]):
        y = x
    return y

def train(x):
    return strategy.run(step, args=(x,))
""",
    "a list that is filled for each name of an unseen list": V1
    + """
def computation(x, given):
    checks = []
    for bound in given:
        checks.append(tf.Assert(tf.reduce_all(x > bound), [x]))
    with tf.control_dependencies(checks):  # possible: TPU304
        y = x
    return y
"""
    + BUILT,
    "the updates of a collection, of which there may be none": V1
    + """
def computation(x):
    updates = [each for each in tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
    with tf.control_dependencies(updates):  # possible: TPU304
        y = x
    return y
"""
    + REWRITTEN,
    "the rest of an unseen list": V1
    + """
def computation(x, given):
    first, *checks = given
    with tf.control_dependencies(checks):  # possible: TPU304
        y = x
    return y
"""
    + BUILT,
    "an update of each variable of a tuple": V1
    + """
def computation(x):
    counters = (tf.get_variable("counter", [], use_resource=True),)
    updates = [each.assign_add(1.0) for each in counters]
    with tf.control_dependencies(updates):  # error: TPU304
        y = x
    return y
"""
    + REWRITTEN,
    "one of two callers asks for nothing": V1
    + """
def after(checks, x):
    with tf.control_dependencies(checks):  # error: TPU304
        return x

def computation(x):
    y = after([], x)
    return after([tf.Assert(tf.reduce_all(x > 0.0), [x])], y)
"""
    + REWRITTEN,
    "one of two callers gives what is not seen": V1
    + """
def after(checks, x):
    with tf.control_dependencies(checks):  # possible: TPU304
        return x

def computation(x, given):
    y = after(given, x)
    return after([tf.Assert(tf.reduce_all(x > 0.0), [x])], y)
"""
    + BUILT,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
