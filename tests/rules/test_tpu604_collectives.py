"""TPU604 beside collectives, in functions that take optimizers, and under `tpu.shard`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, messages, reported
from tests.rules.openings import ESTIMATOR, V1

FAMILY = ["TPU604"]
BEGIN = (
    V1
    + """
import library
import tensorflow_gan as tfgan
import tf_slim

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    step = tf.train.get_global_step()
"""
)
END = (
    """
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR
)
IN_MODEL_FN = {
    "a collective of the evaluation": """
    if mode == tf.estimator.ModeKeys.TRAIN:
        train_op = tf.train.AdamOptimizer().minimize(loss)  # error: TPU604
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
    loss, train_op = tf.tpu.cross_replica_sum(loss), None
""",
    "statistics that are summed before the loss": """
    mean = tf.tpu.cross_replica_sum(tf.reduce_mean(features, 0)) / 8.0
    loss = tf.reduce_mean(tf.square(features - mean))
    train_op = tf.train.AdamOptimizer().minimize(loss)  # error: TPU604
""",
    "statistics that are summed before gradients are taken": """
    mean = tf.tpu.cross_replica_sum(tf.reduce_mean(features, 0)) / 8.0
    optimizer = tf.train.AdamOptimizer()
    pairs = optimizer.compute_gradients(tf.reduce_mean(features - mean))
    train_op = optimizer.apply_gradients(pairs)  # error: TPU604
""",
    "gradients that are summed by hand": """
    optimizer = tf.train.AdamOptimizer()
    pairs = optimizer.compute_gradients(loss)
    pairs = [(tf.tpu.cross_replica_sum(g), v) for g, v in pairs]
    train_op = optimizer.apply_gradients(pairs)
""",
    "gradients that are summed in a list": """
    variables = tf.trainable_variables()
    gradients = [tf.tpu.cross_replica_sum(g) for g in tf.gradients(loss, variables)]
    train_op = tf.train.AdamOptimizer().apply_gradients(zip(gradients, variables))
""",
    "variables that are averaged after the step": """
    weight = tf.get_variable("weight", [10])
    train_op = tf.train.AdamOptimizer().minimize(tf.reduce_mean(features * weight))
    with tf.control_dependencies([train_op]):
        train_op = tf.assign(weight, tf.tpu.cross_replica_sum(weight) / 8.0)
""",
    "one of two optimizers is not seen": """
    optimizer = library.make() if params["fast"] else tf.train.AdamOptimizer()
    train_op = optimizer.minimize(loss)  # possible: TPU604
""",
    "what is not seen may wrap it": """
    optimizer = tf.train.AdamOptimizer()
    if params["fast"]:
        optimizer = library.distributed(optimizer)
    train_op = optimizer.minimize(loss)
""",
    "functions of slim that take an optimizer": """
    optimizer = tf.train.AdamOptimizer()
    if params["kind"] == 0:
        train_op = tf.contrib.training.create_train_op(loss, optimizer)  # error: TPU604
    elif params["kind"] == 1:
        train_op = tf_slim.training.create_train_op(loss, optimizer=optimizer)  # error: TPU604
    elif params["kind"] == 2:
        train_op = tf.contrib.slim.learning.create_train_op(
            loss, tf.tpu.CrossShardOptimizer(optimizer)
        )
    else:
        train_op = library.create_train_op(loss, library.optimizer())
""",
    "a generator's and a discriminator's optimizer": """
    sharded = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    model = tfgan.gan_model(None, None, features, labels)
    tfgan.gan_train_ops(model, loss, sharded, sharded)
    train_op = tfgan.gan_train_ops(
        model,
        loss,
        sharded,
        discriminator_optimizer=tf.train.AdamOptimizer(),  # error: TPU604
    )
""",
    "a false alarm: the operation of a placeholder is never run": """
    sharded = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    model = tfgan.gan_model(None, None, features, labels)
    operations = tfgan.gan_train_ops(model, loss, sharded, tf.train.AdamOptimizer())
    train_op = tf.group(operations.generator_train_op)
""",
    "the operation of the bare optimizer is the one that is run": """
    sharded = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    model = tfgan.gan_model(None, None, features, labels)
    operations = tfgan.gan_train_ops(
        model,
        loss,
        sharded,
        tf.train.AdamOptimizer(),  # error: TPU604
    )
    train_op = tf.group(operations.discriminator_train_op)
""",
    "an optimizer that clips gradients": """
    optimizer = tf.train.AdamOptimizer()
    clipped = tf.contrib.estimator.clip_gradients_by_norm(optimizer, 0.2)
    train_op = clipped.minimize(loss)  # error: TPU604
    sharded = tf.tpu.CrossShardOptimizer(optimizer)
    tf.contrib.estimator.clip_gradients_by_norm(sharded, 0.2).minimize(loss)
    tf.tpu.CrossShardOptimizer(clipped).minimize(loss)
""",
    "a class with decoupled weight decay": """
    decayed = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.AdamOptimizer)
    train_op = decayed(0.1, learning_rate=0.1).minimize(loss)  # error: TPU604
""",
    "a false alarm: an optimizer of the project that hands gradients on": """
    class Counting(tf.train.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def apply_gradients(self, pairs, global_step=None, name=None):
            library.count(pairs)
            return self.inner.apply_gradients(pairs, global_step=global_step)

    optimizer = library.wrapped(Counting(tf.train.AdamOptimizer()))
    counting = Counting(tf.train.AdamOptimizer())
    train_op = counting.apply_gradients(optimizer.compute_gradients(loss))
""",
    "a false alarm: gradients of an optimizer that is not seen": """
    optimizer = library.wrapped(tf.train.AdamOptimizer())
    train_op = tf.train.AdamOptimizer().apply_gradients(optimizer.compute_gradients(loss))
""",
    "gradients of a wrapper, which sums them later": """
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    pairs = optimizer.compute_gradients(loss)
    train_op = tf.train.AdamOptimizer().apply_gradients(pairs)  # error: TPU604
""",
    "a wrapper around the operation": """
    train_op = tf.train.AdamOptimizer().minimize(loss)
    train_op = tf.tpu.CrossShardOptimizer(train_op)  # error: TPU604
""",
    "a wrapper around what is not seen": """
    train_op = tf.tpu.CrossShardOptimizer(library.make(loss)).minimize(loss)
""",
}
SHARDED = (
    V1
    + """
import sys

def step(features):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
"""
)
BARE = "    return tf.train.AdamOptimizer().minimize(loss)"
OUTSIDE = {
    "shards that train each by its own": SHARDED
    + BARE
    + """  # error: TPU604

tf.tpu.shard(step, [tf.zeros([8, 4])], num_shards=8)
""",
    "one shard, by default": SHARDED + BARE + "\n\ntf.tpu.shard(step, [tf.zeros([8, 4])])\n",
    "shards whose number is not seen": SHARDED
    + BARE
    + """  # possible: TPU604

tf.tpu.shard(step, [tf.zeros([8, 4])], num_shards=int(sys.argv[1]))
""",
    "shards that sum": SHARDED
    + """
    return tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()).minimize(loss)

tf.tpu.shard(step, [tf.zeros([8, 4])], num_shards=8)
""",
    "two replicas": SHARDED
    + BARE
    + """  # error: TPU604

tf.tpu.replicate(step, [[tf.zeros([8, 4])], [tf.zeros([8, 4])]])
""",
    "one core": SHARDED + BARE + "\n\ntf.tpu.rewrite(step, [tf.zeros([8, 4])])\n",
}
PROGRAMS = {name: BEGIN + body + END for name, body in IN_MODEL_FN.items()} | OUTSIDE


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("statistics that are summed before the loss", "does not notice, for `cross_replica_sum`"),
        ("a collective of the evaluation", "TPUEstimator raises an error, except under"),
        ("two replicas", "those of the others are lost"),
        ("a wrapper around the operation", "raises a TypeError: wrap the optimizer"),
    ],
)
def test_the_message_says_what_comes_of_it(program: str, says: str, tmp_path: Path) -> None:
    [(message, _)] = messages(PROGRAMS[program], tmp_path, "TPU604")
    assert says in message
