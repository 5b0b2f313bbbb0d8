"""Programs that are wrong in ways that are easy to miss, for the rules TPU3xx."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, V1

PROGRAMS = {
    "entered by a helper of the host function": V1
    + """
from tensorflow.python.ops import control_flow_ops

def begin():
    context = control_flow_ops.XLAControlFlowContext()
    context.Enter()  # error: TPU301
    return context

def computation(x):
    def on_host(value):
        begin()
        return tf.math.log(value)
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "entered on some runs only": V1
    + """
from tensorflow.python.ops import control_flow_ops

def computation(x, debug):
    def on_host(value):
        if debug:
            control_flow_ops.XLAControlFlowContext().Enter()  # possible: TPU301
        return tf.math.log(value)
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y, debug):
    return tf.tpu.replicate(lambda value: computation(value, debug), [[x], [y]])
""",
    "a stack that gives away what it holds": V1
    + """
import contextlib

class Host:
    def on_host(self, value):
        with contextlib.ExitStack() as stack:
            stack.enter_context(tf.control_dependencies(None))  # error: TPU301
            self.kept = stack.pop_all()
        return tf.math.log(value)

def build(x, y):
    host = Host()
    computation = lambda value: tf.tpu.outside_compilation(host.on_host, value)
    return tf.tpu.replicate(computation, [[x], [y]])
""",
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
    "escapes from a branch within a loop, and from a dictionary": V1
    + """
def computation(x):
    seen = {}
    def body(value):
        def branch():
            seen["half"] = value * 0.5
            return value
        value = tf.cond(tf.reduce_sum(value) > 0.0, branch, lambda: value)
        return value * seen["half"]  # error: TPU303
    return tf.while_loop(lambda value: tf.reduce_sum(value) < 9.0, body, [x])

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

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
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
    "a sum hidden in an optimizer": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    enabled = tf.get_variable("enabled", [], tf.bool)
    train_op = tf.cond(
        enabled,
        lambda: optimizer.minimize(loss),  # possible: TPU305
        lambda: tf.no_op(),
    )
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
""",
    "a variable decides by itself, and a loop of unknown length": STRATEGY
    + """
with strategy.scope():
    enabled = tf.Variable(True)
    rounds = tf.Variable(3)

@tf.function
def train(batch):
    def step(x):
        context = tf.distribute.get_replica_context()
        x = tf.cond(enabled, lambda: context.all_reduce("SUM", x), lambda: x)  # possible: TPU305
        for _ in tf.range(rounds + 1):
            x = context.all_reduce("SUM", x)  # possible: TPU305
        return x
    return strategy.run(step, args=(batch,))
""",
    "the body decides how long the loop goes on": V1
    + """
def computation(x):
    def body(going, value):
        total = tf.tpu.cross_replica_sum(value)  # possible: TPU306
        return tf.reduce_sum(value) > 1.0, total
    return tf.while_loop(lambda going, value: going, body, [tf.constant(True), x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "the replica id, computed with, around a nested condition": STRATEGY
    + """
@tf.function
def train(batch):
    def step(x):
        context = tf.distribute.get_replica_context()
        shard = tf.cast(context.replica_id_in_sync_group, tf.int32) % 2
        def inner():
            total = lambda: context.all_reduce("SUM", x)  # error: TPU306
            return tf.cond(x > 0.0, total, lambda: x)
        return tf.switch_case(shard, [inner, lambda: x])
    return strategy.run(step, args=(batch,))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_marked_is_reported(text: str, tmp_path: Path) -> None:
    families = ("TPU3",)
    assert reported(text, tmp_path, families) == expected(text, families)
