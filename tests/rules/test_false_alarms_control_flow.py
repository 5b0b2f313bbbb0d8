"""Programs that are right, or not certainly wrong: the rules TPU3xx stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported
from tests.rules.openings import STRATEGY, V1

PROGRAMS = {
    "a context manager of one's own leaves what it enters": V1
    + """
import contextlib

@contextlib.contextmanager
def cleared():
    with tf.control_dependencies(None):
        yield

def computation(x):
    def on_host(value):
        with cleared():
            return tf.math.log(value)
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "entered by one helper and left by another": V1
    + """
from tensorflow.python.ops import control_flow_ops

def begin(context):
    context.Enter()

def end(context):
    context.Exit()

def computation(x):
    def on_host(value):
        context = control_flow_ops.XLAControlFlowContext()
        begin(context)
        result = tf.math.log(value)
        end(context)
        return result
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "tf.function compares no contexts": STRATEGY
    + """
from tensorflow.python.ops import control_flow_ops

@tf.function
def train(batch):
    def step(x):
        def on_host(value):
            control_flow_ops.XLAControlFlowContext().Enter()
            return value
        return tf.compat.v1.tpu.outside_compilation(on_host, x)
    return strategy.run(step, args=(batch,))
""",
    "a name that traced control flow sets again after the loop": V1
    + """
class Decoder:
    def body(self, i, state):
        self.last = state * 0.5
        return i + 1, self.last

    def decode(self, state):
        _, final = tf.while_loop(lambda i, state: i < 8, self.body, [0, state])
        self.last = final
        return self.last * 2.0

def build(state):
    decoder = Decoder()
    return tf.tpu.rewrite(lambda value: decoder.decode(value), [state])
""",
    "the predicate of a loop is the loop's": V1
    + """
def computation(x):
    return tf.while_loop(lambda value: tf.reduce_sum(value) < 9.0, lambda value: value * 2.0, [x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "an escape that may be another tensor": V1
    + """
def computation(x, keep):
    last = x
    def branch():
        nonlocal last
        if keep:
            last = x * 2.0
        return x
    y = tf.cond(x > 0.0, branch, lambda: x)
    return y + last

def build(x, y, keep):
    return tf.tpu.replicate(lambda value: computation(value, keep), [[x], [y]])
""",
    "an attribute that each branch sets anew": V1
    + """
class Gan:
    def losses(self, x, flag):
        if flag:
            self.loss = x * 2.0
        else:
            self.loss = x * 3.0
        return self.loss + 1.0

    def step(self, x, flag):
        first = tf.cond(x > 0.0, lambda: self.losses(x, flag), lambda: x)
        return tf.cond(x > 1.0, lambda: self.losses(first, flag), lambda: first)

def build(x, y, flag):
    gan = Gan()
    return tf.tpu.replicate(lambda value: gan.step(value, flag), [[x], [y]])
""",
    "a branch's own list": V1
    + """
def computation(x):
    def layers():
        kept = []
        for size in (1, 2):
            kept.append(x * size)
        return tf.add_n(kept), kept[0]
    total, first = tf.cond(x > 0.0, layers, lambda: (x, x))
    return total + first

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "the update runs before what the optimizer makes": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
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
    "a loop with a literal number of rounds": STRATEGY
    + """
@tf.function
def train(batch):
    def step(x):
        for _ in tf.range(4):
            x = tf.distribute.get_replica_context().all_reduce("SUM", x)
        return x
    return strategy.run(step, args=(batch,))
""",
    "a training loop repeats on every replica alike": V1
    + """
from tensorflow.python.tpu import training_loop

def computation(x):
    def step(value):
        return tf.tpu.cross_replica_sum(value) * 0.5
    return training_loop.repeat(10, step, [x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a counted while_loop": V1
    + """
def computation(x):
    body = lambda i, value: (i + 1, tf.tpu.cross_replica_sum(value))
    return tf.while_loop(lambda i, value: i < 8, body, [tf.constant(0), x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "the condition has gone through a collective": V1
    + """
def computation(x):
    total = tf.tpu.cross_replica_sum(x)
    large = tf.logical_and(total > 1.0, tf.cast(total, tf.int32) < 8)
    return tf.cond(large, lambda: tf.tpu.cross_replica_sum(x * 2.0), lambda: x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a Python condition": STRATEGY
    + """
class Trainer:
    def __init__(self, sync):
        self.sync = sync

    def step(self, x):
        context = tf.distribute.get_replica_context()
        if self.sync and context.num_replicas_in_sync > 1:
            x = context.all_reduce("MEAN", x)
        return x

    @tf.function
    def train(self, batch):
        return strategy.run(self.step, args=(batch,))
""",
    "gradients that are applied without a sum": STRATEGY
    + """
optimizer = tf.keras.optimizers.SGD(0.1)
weight = tf.Variable(1.0)

@tf.function
def train(batch):
    def step(x):
        def apply():
            optimizer.apply_gradients([(x, weight)], experimental_aggregate_gradients=False)
            return True
        tf.cond(x > 0.0, apply, lambda: False)
    strategy.run(step, args=(batch,))
""",
    "an optimizer that is no CrossShardOptimizer sums nothing": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    step = tf.train.get_global_step()
    train_op = tf.cond(loss > 1.0, lambda: optimizer.minimize(loss, step), lambda: tf.no_op())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ("TPU3",)) == []
