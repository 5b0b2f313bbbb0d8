"""Branches of a model_fn that return a plain EstimatorSpec: evaluations and predictions on a TPU
refuse it, so nothing in them is device code.

A mark in a program is the finding that is expected there, with its certainty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

OPENING = V1 + "\nEVAL = tf.estimator.ModeKeys.EVAL\nTRAIN = tf.estimator.ModeKeys.TRAIN\n"
TRAINING = """
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
ESTIMATOR = """
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, config=tf.estimator.tpu.RunConfig(), train_batch_size=64, eval_batch_size=64
)
"""
PROGRAMS = {
    "an evaluation": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)
        if loss > 0.0:
            loss = loss * 2.0
        table = tf.get_variable("table", [8])
        names = tf.strings.as_string(tf.gather(table, labels))
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"names": names})
"""
    + TRAINING
    + ESTIMATOR,
    "an evaluation with a TPUEstimatorSpec": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)  # error: TPU501
        if loss > 0.0:  # error: TPU507
            loss = loss * 2.0
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + TRAINING
    + ESTIMATOR,
    "an evaluation that is run": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)  # error: TPU608
"""
    + TRAINING
    + ESTIMATOR
    + """
def input_fn(params):
    return tf.data.Dataset.range(64).batch(params["batch_size"], drop_remainder=True)

estimator.evaluate(input_fn, steps=1)
""",
    "what comes before an evaluation": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    tf.summary.scalar("loss", loss)  # error: TPU501
    if mode == EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
"""
    + TRAINING
    + ESTIMATOR,
    "an evaluation that may go on": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)  # error: TPU501
        if params["simple"]:
            return tf.estimator.EstimatorSpec(mode, loss=loss)
"""
    + TRAINING
    + ESTIMATOR,
    "an evaluation with either specification": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)  # error: TPU501
        if params["compiled"]:
            tf.summary.scalar("compiled", loss)  # error: TPU501
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        tf.summary.scalar("host", loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)
"""
    + TRAINING
    + ESTIMATOR,
    "an evaluation with two plain specifications": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)
        if params["named"]:
            names = tf.strings.as_string(labels)
            return tf.estimator.EstimatorSpec(mode, loss=loss, predictions=names)
        return tf.estimator.EstimatorSpec(mode, loss=loss)
"""
    + TRAINING
    + ESTIMATOR,
    "a specification that another replaces": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)  # error: TPU501
        specification = tf.estimator.EstimatorSpec(mode, loss=loss)
        if params["compiled"]:
            specification = tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        return specification
"""
    + TRAINING
    + ESTIMATOR,
    "one return for all modes": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == TRAIN:
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        tf.summary.scalar("trained", loss)  # error: TPU501
        specification = tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
    elif mode == EVAL:
        tf.summary.scalar("evaluated", loss)
        specification = tf.estimator.EstimatorSpec(mode, loss=loss)
    else:
        tf.summary.scalar("predicted", loss)
        specification = tf.estimator.EstimatorSpec(mode, predictions={"loss": loss})
    return specification
"""
    + ESTIMATOR,
    "all that is not training": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode != TRAIN:
        tf.summary.scalar("loss", loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)
"""
    + TRAINING
    + ESTIMATOR,
    "an evaluation and a prediction": """
PREDICT = tf.estimator.ModeKeys.PREDICT

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode in (TRAIN, EVAL):
        tf.summary.scalar("some", loss)  # error: TPU501
    if mode in (EVAL, PREDICT):
        tf.summary.scalar("other", loss)
    if mode not in [EVAL, PREDICT]:
        tf.summary.scalar("rest", loss)  # error: TPU501
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
    elif mode == EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    elif mode in (PREDICT,):
        tf.summary.scalar("predicted", loss)
        return tf.estimator.EstimatorSpec(mode, predictions={"loss": loss})
    else:
        raise ValueError(mode)
"""
    + ESTIMATOR,
    "a mode of two whose evaluation has a TPUEstimatorSpec": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode in (EVAL, tf.estimator.ModeKeys.PREDICT):
        tf.summary.scalar("both", loss)  # error: TPU501
        if mode == EVAL:
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        tf.summary.scalar("predicted", loss)
        return tf.estimator.EstimatorSpec(mode, predictions={"loss": loss})
"""
    + TRAINING
    + ESTIMATOR,
    "training with a plain specification": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == TRAIN:
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        tf.summary.scalar("loss", loss)  # error: TPU501
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    tf.summary.scalar("other", loss)  # error: TPU501
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + ESTIMATOR,
    "an evaluation in another function": """
def evaluation(loss, mode):
    tf.summary.scalar("loss", loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss)

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        return evaluation(loss, mode)
"""
    + TRAINING
    + ESTIMATOR,
    "an evaluation, asked beside the use of a TPU": """
def model_fn_for(use_tpu):
    def model_fn(features, labels, mode, params):
        loss = tf.reduce_mean(tf.layers.dense(features, 1))
        if mode == EVAL:
            tf.summary.scalar("loss", loss)
        if use_tpu and mode != EVAL:
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)

    return model_fn
""",
    "an evaluation, asked with the opposite and another question": """
def model_fn_for(use_tpu):
    def model_fn(features, labels, mode, params):
        loss = tf.reduce_mean(tf.layers.dense(features, 1))
        if mode == EVAL:
            tf.summary.scalar("loss", loss)
        if not (not use_tpu or mode == EVAL):
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)

    return model_fn
""",
    "an evaluation whose specification depends on another question": """
def model_fn_for(use_tpu, plain):
    def model_fn(features, labels, mode, params):
        loss = tf.reduce_mean(tf.layers.dense(features, 1))
        if mode == EVAL:
            tf.summary.scalar("loss", loss)  # possible: TPU501
        if use_tpu and (mode != EVAL or plain):
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)

    return model_fn
""",
    "a variable that both lanes of an evaluation touch": """
def model_fn(features, labels, mode, params):
    total = tf.get_variable("total", [], use_resource=True)
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.tpu.outside_compilation(lambda: total.assign_add(1.0))
        total.assign_add(loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)
"""
    + TRAINING
    + ESTIMATOR,
    "a model_fn whose estimator is not seen": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == EVAL:
        tf.summary.scalar("loss", loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    tf.summary.scalar("loss", loss)  # error: TPU501
"""
    + TRAINING,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_branch_with_a_plain_specification_is_no_device_code(text: str, tmp_path: Path) -> None:
    assert_marked(OPENING + text, tmp_path)
