"""Programs with TPU604, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, V1

PROGRAMS = {
    # A false alarm in a project that trains BERT on a TPU, or on several GPUs.
    "an update for several GPUs, beside the one for a TPU": V1
    + """
import library

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    is_multi_gpu = library.use_gpu() and int(library.gpus()) >= 2
    optimizer = tf.train.AdamOptimizer(0.1)
    if mode == tf.estimator.ModeKeys.TRAIN:
        if is_multi_gpu:
            train_op = optimizer.minimize(loss)
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
        train_op = tf.tpu.CrossShardOptimizer(optimizer).minimize(loss)
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + ESTIMATOR,
    "an update that an EstimatorSpec gets, where a TPUEstimatorSpec only evaluates": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    if mode == tf.estimator.ModeKeys.TRAIN:
        train_op = tf.train.AdamOptimizer(0.1).minimize(loss)  # error: TPU604
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + ESTIMATOR,
    "a model_fn that is only given to an estimator without a TPU": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

def main(files):
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn, use_tpu=False, train_batch_size=3, config=tf.estimator.tpu.RunConfig()
    )
    estimator.train(lambda params: tf.data.TFRecordDataset(files).batch(params["batch_size"]))
""",
    "a wrapper that hangs on a flag of any name": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.train.AdamOptimizer(0.1)
    if params["accelerator"]:
        optimizer = tf.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR,
    "optimizers of the project that sum by themselves, or hold what does": V1
    + """
class Summing(tf.train.Optimizer):
    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return tf.group(*[v.assign_sub(self.total(g)) for g, v in grads_and_vars])

    def total(self, gradient):
        return tf.tpu.cross_replica_sum(gradient)

class Holding(tf.train.Optimizer):
    def __init__(self, inner):
        self.inner = inner

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return self.inner.apply_gradients(grads_and_vars, global_step)

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    if params["holding"]:
        optimizer = Holding(tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1)))
    else:
        optimizer = Summing(False, "Summing")
    variables = tf.trainable_variables()
    train_op = optimizer.apply_gradients(zip(tf.gradients(loss, variables), variables))
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR,
    "an optimizer of a dict, and an estimator that a helper makes": V1
    + """
OPTIMIZERS = {"adam": tf.train.AdamOptimizer, "sgd": tf.train.GradientDescentOptimizer}

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    train_op = OPTIMIZERS["adam"](0.1).minimize(loss)  # error: TPU604
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

def make(use_tpu, config):
    return tf.estimator.tpu.TPUEstimator(
        model_fn=model_fn, use_tpu=use_tpu, train_batch_size=64, config=config
    )

def main(use_tpu):
    return make(use_tpu, tf.estimator.tpu.RunConfig())
""",
    "an optimizer of the project, with updates of its own": V1
    + """
class WeightDecay(tf.train.Optimizer):
    def __init__(self, rate):
        super().__init__(False, "WeightDecay")
        self.rate = rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = [v.assign(v - self.rate * (g + 0.01 * v)) for g, v in grads_and_vars]
        return tf.group(*updates, name=name)

def create_optimizer(loss, rate):
    optimizer = WeightDecay(rate)
    variables = tf.trainable_variables()
    gradients = tf.gradients(loss, variables)
    return optimizer.apply_gradients(zip(gradients, variables))  # error: TPU604

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    train_op = create_optimizer(loss, 0.1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
