"""Programs with TPU105, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, RUN, STRATEGY, TRAINED, V1

# The start of a model_fn that counts the step in training alone.
COUNTS_IN_TRAINING = (
    V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    train_op = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
"""
)
PROGRAMS = {
    "the step is given by position": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())

    def host_call_fn(step, loss):
        from tensorflow.contrib import summary
        with summary.record_summaries_every_n_global_steps(100, step[0]):
            summary.scalar("loss", loss[0], None, step[0])
            return summary.all_summary_ops()

    step = tf.reshape(tf.train.get_global_step(), [1])
    host_call = (host_call_fn, [step, tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=host_call
    )

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "the step itself goes through the outfeed": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    step = tf.train.get_global_step()
    train_op = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)).minimize(loss, step)

    def host_call_fn(step, loss):
        tf.compat.v2.summary.scalar("loss", loss[0], step=step)
        return tf.summary.all_v2_summary_ops()

    host_call = (host_call_fn, [step, tf.reshape(loss, [1])])  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=host_call
    )

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "the step that optimize_loss counts, missed in magenta": V1
    + """
import tf_slim

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    train_op = tf_slim.optimize_loss(
        loss,
        global_step=tf.train.get_or_create_global_step(),
        learning_rate=0.1,
        optimizer=lambda rate: tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(rate)),
    )
    loss += tf.tpu.outside_compilation(read, loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

def read(loss):
    return loss + tf.cast(tf.train.get_or_create_global_step(), tf.float32)  # error: TPU105

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "a step that optimize_loss leaves alone": V1
    + """
import tf_slim

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
    train_op = tf_slim.optimize_loss(
        loss, None, learning_rate=0.1, optimizer=optimizer, increment_global_step=False
    )
    loss += tf.tpu.outside_compilation(read, loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

def read(loss):
    return loss + tf.cast(tf.train.get_or_create_global_step(), tf.float32)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "a step that nothing counts": V1
    + """
step = tf.train.get_or_create_global_step()

def computation(x):
    rate = tf.train.exponential_decay(0.1, step, 100, 0.9)
    return rate * tf.tpu.outside_compilation(lambda v: v / tf.cast(step, tf.float32), x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a step that only a flag has counted": V1
    + """
import os

step = tf.train.get_or_create_global_step()

def computation(x):
    rate = tf.train.exponential_decay(0.1, step, 100, 0.9)
    if os.environ.get("COUNT"):
        step.assign_add(1)
    return rate * tf.tpu.outside_compilation(
        lambda v: v / tf.cast(step, tf.float32), x * 2.0  # possible: TPU105
    )

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "literal use_tpu=False is no TPU code": V1
    + """
def model_fn(features, labels, mode, params):
    step = tf.train.get_global_step()
    loss = tf.reduce_mean(features * 2.0)
    rate = tf.tpu.outside_compilation(lambda v: v / tf.cast(step, tf.float32), loss)
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=False, train_batch_size=8, config=None)
""",
    "a variable that is the global step by its name: it was reported as any variable's deadlock": V1
    + """
step = tf.Variable(0.0, name="global_step", use_resource=True)

def host(y):
    return y / step  # error: TPU105

def computation(x):
    step.assign_add(1.0)
    with tf.control_dependencies([x * 1]):
        return tf.tpu.outside_compilation(host, x * 2.0) + 1.0

tf.tpu.rewrite(computation, [tf.ones([])])
""",
    "the iterations of a Keras optimizer": V1
    + """
optimizer = tf.keras.optimizers.Adam(0.1)
weight = tf.get_variable("weight", shape=[], use_resource=True)

def anneal(loss):
    return loss / tf.cast(optimizer.iterations, tf.float32)  # error: TPU105

def computation(x):
    loss = tf.reduce_mean(x * weight)
    with tf.control_dependencies([x * 1]):
        rate = tf.tpu.outside_compilation(anneal, loss)
    optimizer.apply_gradients([(rate, weight)])
    return loss

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a model_fn of a class, its host_call a method": V1
    + """
class Model:
    def __init__(self, params):
        self.params = params

    def host_call_fn(self, loss):
        step = tf.train.get_or_create_global_step()
        tf.compat.v2.summary.scalar("loss", loss[0], step=step)  # possible: TPU105
        return tf.summary.all_v2_summary_ops()

    def model_fn(self, features, labels, mode, params):
        loss = tf.reduce_mean(tf.layers.dense(features, 1))
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
        train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=train_op,
            host_call=(self.host_call_fn, [loss]),  # error: TPU603
        )

model = Model({})
tf.estimator.tpu.TPUEstimator(model.model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "the step of an optimizer of the scope is reported as a step": STRATEGY
    + """
with strategy.scope():
    optimizer = tf.keras.optimizers.SGD(0.1)
    kernel = tf.Variable(1.0)

def show(value):
    tf.print(optimizer.iterations, value)  # error: TPU105

def step(x):
    optimizer.apply_gradients([(x * kernel, kernel)])
    tf.compat.v1.tpu.outside_compilation(show, x * 2.0)
"""
    + TRAINED,
    "the step is counted in training alone, and read in each mode": COUNTS_IN_TRAINING
    + """
    def decayed(loss):
        return loss / tf.cast(tf.train.get_global_step(), tf.float32)  # error: TPU105

    loss = loss + tf.tpu.outside_compilation(decayed, loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR,
    "the step is counted in training, and read in every other mode": COUNTS_IN_TRAINING
    + """    else:
        def decayed(loss):
            return loss / tf.cast(tf.train.get_global_step(), tf.float32)

        loss = loss + tf.tpu.outside_compilation(decayed, loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR,
    "the device reads the step, and counts it where a flag says so": V1
    + """
import sys

step = tf.train.get_or_create_global_step()

def host(x):
    return x / tf.cast(step, tf.float32)  # possible: TPU105

def computation(x):
    x = x * tf.cast(step, tf.float32)
    if len(sys.argv) > 1:
        step.assign_add(1)
    return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
