"""A training step as TensorFlow 1 users write it: an optimizer across replicas, in a session."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

FEATURES = np.array([[[1.0, 2.0]], [[3.0, -1.0]], [[0.5, 0.5]]], np.float32)
LABELS = np.array([[[1.0]], [[2.0]], [[-1.0]]], np.float32)
STEPS = 4


def loss_of(features, labels):
    weights = tf.compat.v1.get_variable(
        "weights", [2, 1], initializer=tf.compat.v1.ones_initializer(), use_resource=True
    )
    return tf.reduce_mean((tf.matmul(features, weights) - labels) ** 2)


@pytest.mark.parametrize(
    "optimizer", [tf.compat.v1.train.GradientDescentOptimizer, tf.compat.v1.train.AdamOptimizer]
)
def test_replicas_train_as_one_with_the_whole_batch(optimizer):
    def train_step(features, labels):
        with tf.compat.v1.variable_scope("model", reuse=tf.compat.v1.AUTO_REUSE):
            loss = loss_of(features, labels)
        step = tpu.CrossShardOptimizer(optimizer(0.1)).minimize(loss)
        logged = tpu.outside_compilation(lambda value: value + 0.0, loss)
        with tf.control_dependencies([step]):
            return tf.identity(logged)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        outputs = tpu.replicate(train_step, [list(pair) for pair in zip(FEATURES, LABELS)])
        session.run(tf.compat.v1.global_variables_initializer())
        for _ in range(STEPS):
            losses = session.run(outputs)
        (weights,) = [v for v in tf.compat.v1.global_variables() if v.name == "model/weights:0"]
        result = session.run(weights)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loss = loss_of(FEATURES.reshape(3, 2), LABELS.reshape(3, 1))
        step = optimizer(0.1).minimize(loss)
        session.run(tf.compat.v1.global_variables_initializer())
        for _ in range(STEPS):
            whole, _ = session.run([loss, step])
        expected = session.run(tf.compat.v1.global_variables()[0])

    np.testing.assert_allclose(result, expected, rtol=1e-5)
    np.testing.assert_allclose(np.mean(losses), whole, rtol=1e-5)
