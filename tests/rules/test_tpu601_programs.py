"""Programs with TPU601, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, HOST_CALL, MODEL_FN, V1

PROGRAMS = {
    "a missed alarm: a loss of TF-GAN": V1
    + """
import tensorflow_gan as tfgan

def generator_fn(noise):
    tf.summary.scalar("noise", tf.reduce_mean(noise))  # error: TPU501
    return tf.layers.dense(noise, 8)

def discriminator_fn(images, noise):
    tf.summary.scalar("images", tf.reduce_mean(images))  # error: TPU501
    return tf.layers.dense(images, 1)

def model_fn(features, labels, mode, params):
    gan_model = tfgan.gan_model(generator_fn, discriminator_fn, features, labels)
    gan_loss = tfgan.gan_loss(gan_model)
    sent = tf.reshape(gan_loss.discriminator_loss, [1])

    def host_call_fn(loss):
        tf.summary.scalar("generator", gan_loss.generator_loss)  # error: TPU601
        tf.summary.scalar("discriminator", loss[0])
        return tf.no_op()

    loss = gan_loss.generator_loss
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(host_call_fn, [sent]))
"""
    + ESTIMATOR,
    "a tensor that is made under one of two names": V1
    + """
def network(features):
    with tf.variable_scope("net"):
        return tf.layers.dense(features, 8)

def model_fn(features, labels, mode, params):
    if params["bfloat16"]:
        with tf.tpu.bfloat16_scope():
            rows = tf.cast(network(features), tf.float32)
    else:
        rows = network(features)
    loss = tf.reduce_mean(rows)

    def host_call_fn(sent):
        tf.summary.image("rows", rows)  # error: TPU601
        tf.summary.scalar("loss", sent[0])
        return tf.no_op()

    host_call = (host_call_fn, [tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)
"""
    + ESTIMATOR,
    "what a collection holds is no tensor by itself": V1
    + """
def get_host_call(model_dir):
    summaries = tf.get_collection("summaries")

    def host_call_fn(step, *values):
        for i, _ in enumerate(summaries):
            tf.summary.scalar(summaries[i][0], values[i][0])
        return step

    step = tf.reshape(tf.train.get_global_step(), [1])
    return host_call_fn, [step] + [tf.reshape(each[1], [1]) for each in summaries]

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=get_host_call("gs://b"))
"""
    + ESTIMATOR,
    "the keys of a dictionary of tensors": V1
    + """
import tensorflow_hub as hub

def heads(taps):
    for name in list(taps.keys()):
        taps[name] = tf.reshape(taps[name], [-1])
    return taps

def model_fn(features, labels, mode, params):
    taps = hub.Module("gs://bucket/module")(features, as_dict=True)
    taps = {name: tf.abs(tap) for name, tap in taps.items()} if params["abs"] else tf.abs(taps)
    names = heads(taps).keys()
    loss = tf.reduce_mean(features)
    metric_fn = lambda rows: {names[0]: tf.metrics.mean(rows)}
    rows = tf.reduce_mean(features, axis=-1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [rows]))
"""
    + ESTIMATOR,
    "a variable that the host reads by itself": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    rate = tf.get_variable("rate", [], trainable=False)

    def host_call_fn(losses):
        return tf.summary.scalar("rate", rate.read_value())

    host_call = (host_call_fn, [tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)
"""
    + ESTIMATOR,
    "a lambda that closes over the loss": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    metric_fn = lambda rows: {"rows": tf.metrics.mean(loss + rows)}  # error: TPU601
    rows = tf.reduce_mean(features, axis=-1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [rows]))
"""
    + ESTIMATOR,
    "one of several tensors": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if params["scaled"]:
        loss = loss * 2.0
    metric_fn = lambda rows: {"rows": tf.metrics.mean(loss + rows)}  # error: TPU601
    rows = tf.reduce_mean(features, axis=-1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [rows]))
"""
    + ESTIMATOR,
    "a tensor or None, with which nothing is computed": V1
    + """
def model_fn(features, labels, mode, params):
    loss = None
    if params["train"]:
        loss = tf.reduce_mean(features)
    metric_fn = lambda rows: {"rows": tf.metrics.mean(loss + rows)}  # error: TPU601
    rows = tf.reduce_mean(features, axis=-1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [rows]))
"""
    + ESTIMATOR,
    "a tensor or a number": V1
    + """
def model_fn(features, labels, mode, params):
    loss = 0.0
    if params["train"]:
        loss = tf.reduce_mean(features)
    metric_fn = lambda rows: {"rows": tf.metrics.mean(loss + rows)}  # possible: TPU601
    rows = tf.reduce_mean(features, axis=-1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [rows]))
"""
    + ESTIMATOR,
    "a tensor of the model, or one that was there before": V1
    + """
BEFORE = tf.zeros([])

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    shown = BEFORE
    if params["train"]:
        shown = tf.ones([])
    metric_fn = lambda rows: {"rows": tf.metrics.mean(shown + rows)}  # possible: TPU601
    rows = tf.reduce_mean(features, axis=-1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [rows]))
"""
    + ESTIMATOR,
    "a partial that carries a tensor": V1
    + """
import functools

def on_host(mean, rows):
    return tf.summary.scalar("mean", tf.reduce_mean(rows) - mean)  # error: TPU601

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    host_call = (functools.partial(on_host, loss), [tf.reduce_mean(features, axis=-1)])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)
"""
    + ESTIMATOR,
    "either a tensor or a number is taken from outside": MODEL_FN
    + """
    shown = loss if len(sys.argv) > 1 else 1.0
    tensors = [rows]
    def on_host(values):
        return tf.summary.scalar("loss", shown)  # possible: TPU601
"""
    + HOST_CALL,
    "a tensor from outside goes where it is not seen": MODEL_FN
    + """
    tensors = [rows]
    def on_host(values):
        return library.summary("loss", loss)  # possible: TPU601
"""
    + HOST_CALL,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
