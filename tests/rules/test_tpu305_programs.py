"""Programs with TPU305, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STRATEGY, V1

PROGRAMS = {
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
    # A false alarm in seed_rl.
    "a loop with a number of rounds that is a setting": STRATEGY
    + """
import settings

@tf.function
def train(batch):
    def step(x):
        for _ in tf.range(settings.epochs() - 1):
            x = tf.distribute.get_replica_context().all_reduce("SUM", x)
        return x
    return strategy.run(step, args=(batch,))
""",
    # A false alarm in uncertainty-baselines.
    "a loop with a number of rounds from a configuration": STRATEGY
    + """
from ml_collections import config_flags

CONFIG = config_flags.DEFINE_config_file("config")
optimizer = tf.keras.optimizers.SGD(0.1)

@tf.function
def train(batch):
    config = CONFIG.value
    def step(x):
        for _ in tf.range(tf.cast(config.rounds, tf.int32)):
            optimizer.apply_gradients([(x, weight)])
    return strategy.run(step, args=(batch,))
""",
    "a loop with a number of rounds from an object of the step": STRATEGY
    + """
import batches

@tf.function
def train(batch):
    def step(x):
        batch = batches.Batch(x)
        for _ in tf.range(tf.cast(batch.rounds, tf.int32)):
            x = tf.distribute.get_replica_context().all_reduce("SUM", x)  # possible: TPU305
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
    # A false alarm: gradients that are gathered for some steps before they are applied.
    "a variable that counts the steps": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    steps = tf.get_variable("steps", [], dtype=tf.int32, trainable=False)
    due = tf.equal(steps % 4, 0)
    steps = tf.cond(due, lambda: steps.assign(tf.ones_like(steps)), lambda: steps.assign_add(1))
    due = tf.identity(tf.equal(steps % 4, 0), name="due")
    update = tf.cond(due, lambda: optimizer.minimize(loss), lambda: tf.no_op())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    # False alarms in two projects: what a step is divided by is a setting.
    "every so many steps, as a flag or an attribute says": V1
    + """
class Trainer:
    def __init__(self, every):
        self.every = every

    def model_fn(self, features, labels, mode, params):
        loss = tf.reduce_mean(features)
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
        step = tf.train.get_or_create_global_step()
        due = tf.equal(step % self.every, 0)
        update = tf.cond(due, lambda: optimizer.minimize(loss), lambda: tf.no_op())
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update)

def main(every):
    model_fn = Trainer(int(every)).model_fn
    return tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    "what a value that is not a step leaves": V1
    + """
from library import scale

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    seen = tf.get_variable("seen", [])
    due = tf.equal(seen % scale(seen), 0.0)
    update = tf.cond(due, lambda: optimizer.minimize(loss), lambda: tf.no_op())  # possible: TPU305
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    "a counted while_loop": V1
    + """
def computation(x):
    body = lambda i, value: (i + 1, tf.tpu.cross_replica_sum(value))
    return tf.while_loop(lambda i, value: i < 8, body, [tf.constant(0), x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "gradients that are applied without a sum": STRATEGY
    + """
optimizer = tf.keras.optimizers.SGD(0.1)
weight = tf.Variable(1.0)  # error: TPU702

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
    minimized = lambda: optimizer.minimize(loss, step)  # error: TPU604
    train_op = tf.cond(loss > 1.0, minimized, lambda: tf.no_op())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
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

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
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
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
