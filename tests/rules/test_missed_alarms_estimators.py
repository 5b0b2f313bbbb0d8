"""Faults of the families TPU6xx that are written in unusual ways, and must be reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import ESTIMATOR, NETWORK, REMOTE, V1

PROGRAMS = {
    "a lambda that closes over the loss": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    metric_fn = lambda rows: {"loss": tf.metrics.mean(loss + rows)}  # error: TPU601
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
    "one of two functions, chosen by a flag, cannot take the tensors": V1
    + """
def short(labels, logits):
    return {"mean": tf.metrics.mean(logits)}

def long(labels, logits, weights):
    return {"mean": tf.metrics.mean(logits, weights)}

def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    metric_fn = long if params["weighted"] else short
    eval_metrics = (metric_fn, [labels, logits])  # possible: TPU602
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(logits), eval_metrics=eval_metrics
    )
"""
    + ESTIMATOR,
    "the pair by position, and an object that is called": V1
    + """
class Metrics:
    def __call__(self, logits):
        return {"mean": tf.metrics.mean(logits)}

def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    loss = tf.reduce_mean(logits)
    pair = [Metrics(), [labels, logits]]  # error: TPU602
    return tf.estimator.tpu.TPUEstimatorSpec(mode, {"x": logits}, loss, None, pair)
"""
    + ESTIMATOR,
    "a scalar that arithmetic on scalars makes": V1
    + """
def metric_fn(value):
    return {"loss": tf.metrics.mean(value)}

def model_fn(features, labels, mode, params):
    main = tf.losses.sigmoid_cross_entropy(labels, features)
    penalty = tf.add_n([tf.nn.l2_loss(each) for each in tf.trainable_variables()])
    loss = main + 0.5 * tf.cast(penalty, tf.float32)
    eval_metrics = (metric_fn, [tf.identity(loss)])  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=eval_metrics)
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
    "a step over an iterator, as TensorFlow 1 returned it": NETWORK
    + """
def input_fn(params):
    dataset = tf.data.TFRecordDataset("gs://bucket/x").repeat()
    dataset = dataset.batch(params["batch_size"])  # error: TPU605
    iterator = dataset.make_one_shot_iterator()
    features, labels = iterator.get_next()
    return {"x": features}, labels
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "steps that are set again in branches and in a loop": NETWORK
    + """
def input_fn(params):
    dataset = tf.data.TFRecordDataset("gs://bucket/x")
    if params["shuffle"]:
        dataset = dataset.shuffle(100)
    if params["repeat"]:
        dataset = dataset.repeat()
    if params["cache"]:
        dataset = dataset.cache()
    for function in params["functions"]:
        dataset = dataset.map(function)
    dataset = dataset.batch(params["batch_size"], False)  # error: TPU605
    options = tf.data.Options()
    return dataset.with_options(options).prefetch(2)
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "an object of another module, whose method is the input_fn": """
# file: project/reading.py
import tensorflow.compat.v1 as tf


class ImageInput:
    def __init__(self, pattern, is_training):
        self.pattern = pattern
        self.is_training = is_training

    def dataset(self):
        files = tf.data.Dataset.list_files(self.pattern, shuffle=self.is_training)
        return files.interleave(tf.data.TFRecordDataset, cycle_length=4)

    def input_fn(self, params):
        dataset = self.dataset()
        if self.is_training:
            return dataset.repeat().batch(params["batch_size"], drop_remainder=True)
        return dataset.batch(params["batch_size"])  # error: TPU605


# file: train.py
import tensorflow.compat.v1 as tf

from network import model_fn
from project import reading

train, test = [
    reading.ImageInput(pattern="gs://bucket/x", is_training=is_training)
    for is_training in [True, False]
]
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=tf.estimator.tpu.RunConfig()
)
estimator.train(input_fn=train.input_fn, max_steps=1)
estimator.evaluate(input_fn=test.input_fn, steps=1)
""",
    "a dataset of a helper that is applied, for a strategy": "import tensorflow as tf\n"
    + REMOTE
    + """
def batched(size):
    def apply(dataset):
        return dataset.batch(size).prefetch(2)  # possible: TPU605
    return apply

def dataset_fn(context):
    return tf.data.Dataset.range(100).apply(batched(8))

batches = strategy.distribute_datasets_from_function(dataset_fn)
""",
    "params that are built up step by step": NETWORK
    + """
def main(flags):
    params = flags.values()
    params = dict(params, rate=0.1)
    params["context"] = flags.context
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        config=tf.estimator.tpu.RunConfig(),
        params=params,  # error: TPU606
        train_batch_size=64,
    )
""",
    "hyperparameters of TensorFlow 1": """
import tensorflow as tf

from network import model_fn

hparams = tf.contrib.training.HParams(rate=0.1, batch_size=128)
estimator = tf.contrib.tpu.TPUEstimator(
    model_fn,
    params=hparams,  # error: TPU606
    use_tpu=True,
    train_batch_size=128,
    config=tf.contrib.tpu.RunConfig(),
)
""",
    "a path that is put together, in a list, for validation": "import tensorflow as tf\n"
    + REMOTE
    + """
ROOT = "/content/drive/%s/"

def dataset(part):
    files = [ROOT % part + "a.tfrecord", ROOT % part + "b.tfrecord"]
    records = tf.data.TFRecordDataset(files)  # error: TPU607
    return records.repeat().batch(64, drop_remainder=True)

def main(part, train):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    model.fit(train, steps_per_epoch=10, validation_data=dataset(part))
""",
    "Python in the body of an input_fn, outside its dataset": """
import tensorflow as tf

from network import load, model_fn


def input_fn(params):
    images = tf.py_func(load, [params["batch_size"]], tf.float32)  # error: TPU607
    images.set_shape([params["batch_size"], 8])
    return images


cluster = tf.contrib.cluster_resolver.TPUClusterResolver("demo-tpu")
config = tf.contrib.tpu.RunConfig(cluster=cluster)
estimator = tf.contrib.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=config
)
estimator.train(input_fn=input_fn, max_steps=1)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_marked_is_reported(text: str, tmp_path: Path) -> None:
    families = ("TPU6",)
    assert reported(text, tmp_path, families) == expected(text, families)
