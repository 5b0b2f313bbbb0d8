"""Unordered collectives: each replica may reach them in an order of its own."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import control_flow_util

import tpulint.runtime as tpu

pytestmark = pytest.mark.any_release

VARIABLES = 12
STEPS = 10
RATE, MOMENTUM = 0.05, 0.9


def trained_by_numpy(inputs):
    """Return the variables after the training on the gradients' mean over the replicas."""
    wanted = np.arange(VARIABLES) / VARIABLES
    weights, moving = np.zeros(VARIABLES), np.zeros(VARIABLES)
    for _ in range(STEPS):
        slopes = np.mean([2.0 * (weights * x - wanted) * x for x in inputs], axis=0)
        moving = MOMENTUM * moving + slopes
        weights = weights - RATE * moving
    return weights


def training(x):
    def step(number):
        with tf.compat.v1.variable_scope("model", reuse=tf.compat.v1.AUTO_REUSE, use_resource=True):
            weights = [
                tf.compat.v1.get_variable(f"w{place}", initializer=0.0)
                for place in range(VARIABLES)
            ]
            loss = tf.add_n(
                [(weight * x - place / VARIABLES) ** 2 for place, weight in enumerate(weights)]
            )
            optimizer = tpu.CrossShardOptimizer(
                tf.compat.v1.train.MomentumOptimizer(RATE, MOMENTUM)
            )
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return number + 1

    return tf.while_loop(lambda number: number < STEPS, step, [0])


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("replicas", [2, 8])
@pytest.mark.parametrize("version", [1, 2])
def test_killed_found_in_real_programs_many_variables_trained_in_a_loop(
    version, replicas, threads, monkeypatch
):
    monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", version == 2)
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=threads, use_per_session_threads=True
    )
    inputs = np.linspace(0.5, 1.5, replicas)
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        built = tpu.replicate(training, [[tf.constant(x, tf.float32)] for x in inputs])
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(built)
        weights = session.run(tf.compat.v1.trainable_variables())
    np.testing.assert_allclose(weights, trained_by_numpy(inputs), rtol=1e-4)


def test_killed_found_in_real_programs_sums_in_a_loop_of_a_strategy():
    with tpu.emulated_tpu(4):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)

        def replica(value):
            context = tf.distribute.get_replica_context()
            values = [value * place for place in range(8)]
            for _ in tf.range(5):
                values = [context.all_reduce("MEAN", item) * 0.5 + item for item in values]
            return tf.add_n(values)

        @tf.function
        def step(inputs):
            return strategy.run(replica, args=(inputs,))

        inputs = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(float(context.replica_id_in_sync_group))
        )
        got = [float(result) for result in strategy.experimental_local_results(step(inputs))]
    values = np.outer(np.arange(8.0), np.arange(4.0))
    for _ in range(5):
        values = values.mean(1, keepdims=True) * 0.5 + values
    np.testing.assert_allclose(got, values.sum(0), rtol=1e-5)
