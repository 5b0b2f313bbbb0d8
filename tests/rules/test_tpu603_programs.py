"""Programs with TPU603, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, HOST_CALL, MODEL_FN, V1

PROGRAMS = {
    "a missed alarm: a scalar that is summed over the replicas": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.tpu.cross_replica_sum(tf.reduce_mean(features)) / 8
    rows = tf.tpu.cross_replica_sum(tf.reduce_mean(features, axis=-1))
    call = (lambda *values: tf.no_op(), [loss, rows])  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=call)
"""
    + ESTIMATOR,
    "a missed alarm: a scalar that TensorFlow 1 prints": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    scale = tf.Print(loss, [loss], "loss")  # error: TPU501
    rows = tf.Print(features, [loss], "rows")  # error: TPU501
    call = (lambda *values: tf.no_op(), [scale, rows])  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=call)
"""
    + ESTIMATOR,
    "missed alarms: what has one element, as it is the loss or a learning rate": V1
    + """
def model_fn(features, labels, mode, params):
    rows = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=features)
    loss = tf.reduce_mean(rows, axis=0)
    rate = params["rate"] * tf.cos(params["share"])
    if params["warm"]:
        rate = tf.multiply(rate, params["warm"])
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(rate))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    tensors = [
        loss,  # possible: TPU603
        rate,  # error: TPU603
        rows,
        tf.reshape(loss, [1]),
        tf.expand_dims(rate, 0),
    ]
    call = (lambda *values: tf.no_op(), tensors)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=call)
"""
    + ESTIMATOR,
    "a missed alarm: scalars in a list, one for each name that is not seen": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    losses = params["losses"](features)
    means = [tf.reduce_mean(losses[name]) for name in sorted(losses.keys())]  # error: TPU603
    rows = [tf.reshape(losses[name], [-1]) for name in sorted(losses.keys())]
    metrics = (lambda *values: {"mean": tf.metrics.mean(values[0])}, means)
    call = (lambda *values: tf.no_op(), rows)
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, eval_metrics=metrics, host_call=call
    )
"""
    + ESTIMATOR,
    "scalars in a list, only for some of the names that are not seen": V1
    + """
def model_fn(features, labels, mode, params):
    losses = params["losses"](features)
    means = []  # possible: TPU603
    for name in sorted(losses.keys()):
        if name in params["logged"]:
            means.append(tf.reduce_mean(losses[name]))
    call = (lambda *values: tf.no_op(), means)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features), host_call=call)
"""
    + ESTIMATOR,
    "a missed alarm: a scalar in a dict with keys that are not seen": V1
    + """
def host_call_of(scalars):
    tensors = {name: scalars[name][None] for name in scalars}  # error: TPU603
    tensors["step"] = tf.train.get_or_create_global_step()
    return lambda **values: tf.no_op(), tensors

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    call = host_call_of(params["scalars"](loss))
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=call)
"""
    + ESTIMATOR,
    "entries with a name and a tensor, of which the host takes the name": V1
    + """
import collections

Entry = collections.namedtuple("Entry", "name tensor reduce")

class Summaries:
    def __init__(self):
        self.entries = []

    def add(self, name, tensor):
        self.entries.append(Entry(name, tf.reshape(tensor, [1]), tf.reduce_mean))

    def on_host(self, step, *values):
        for i, entry in enumerate(self.entries):
            tf.summary.scalar(entry.name, entry.reduce(values[i]))
        return step

    def host_call(self):
        step = tf.expand_dims(tf.train.get_global_step(), 0)
        return self.on_host, [step] + [each.tensor for each in self.entries]

def model_fn(features, labels, mode, params):
    summaries = Summaries()
    loss = tf.reduce_mean(features)
    summaries.add("loss", loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=summaries.host_call())
"""
    + ESTIMATOR,
    "a structure that tf.nest only takes as a pattern": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    inputs = {"loss": tf.reshape(loss, [1]), "rows": tf.reduce_mean(features, axis=-1)}

    def host_call_fn(*flat):
        values = tf.nest.pack_sequence_as(inputs, flat)
        return tf.summary.scalar("loss", values["loss"][0])

    host_call = (host_call_fn, tf.nest.flatten(inputs))
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)
"""
    + ESTIMATOR,
    "a scalar that arithmetic on scalars makes": V1
    + """
def metric_fn(value):
    return {"rows": tf.metrics.mean(value)}

def model_fn(features, labels, mode, params):
    main = tf.losses.sigmoid_cross_entropy(labels, features)
    penalty = tf.add_n([tf.nn.l2_loss(each) for each in tf.trainable_variables()])
    loss = main + 0.5 * tf.cast(penalty, tf.float32)
    eval_metrics = (metric_fn, [tf.identity(loss)])  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=eval_metrics)
"""
    + ESTIMATOR,
    "either a scalar or a vector": MODEL_FN
    + """
    tensors = [loss if len(sys.argv) > 1 else rows]  # possible: TPU603
    def on_host(values):
        return tf.summary.histogram("values", values)
"""
    + HOST_CALL,
    "a scalar, a number, and a variable that is no step": MODEL_FN
    + """
    tensors = [tf.constant(3.0), tf.get_variable("rate", []), loss]  # error: TPU603
    def on_host(number, rate, values):
        return tf.summary.histogram("values", values)
"""
    + HOST_CALL,
    "a scalar where each core may get the same": MODEL_FN
    + """
    tensors = [loss]  # possible: TPU603
    def on_host(values):
        return tf.summary.histogram("values", values)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=library.config())
""",
    "a scalar where each core gets the same": MODEL_FN
    + """
    tensors = [loss]
    def on_host(values):
        return tf.summary.histogram("values", values)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))

settings = tf.estimator.tpu.TPUConfig(
    per_host_input_for_training=tf.estimator.tpu.InputPipelineConfig.BROADCAST
)
config = tf.estimator.tpu.RunConfig(tpu_config=settings)
tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=config)
""",
    "a missed alarm: a configuration that is not seen is one that the program makes": MODEL_FN
    + """
    tensors = [tf.reduce_mean(features)]  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))

def config_of(settings):
    settings["run_config"] = tf.estimator.tpu.RunConfig(tpu_config=tf.estimator.tpu.TPUConfig(10))
    return settings

settings = config_of(library.load("settings.yaml"))
tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=8, config=library.frozen(settings)["run_config"]
)
""",
    "a missed alarm: global steps and means beside what is not seen": V1
    + """
def model_fn(features, labels, mode, params):
    step = [tf.train.get_or_create_global_step()]
    losses = params["losses"](features)
    more = [losses[name] for name in sorted(losses)]
    call = (lambda *values: tf.no_op(), step + more)  # error: TPU603
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features), host_call=call)
"""
    + ESTIMATOR,
    "a configuration that is not seen, of several that the program makes": MODEL_FN
    + """
    tensors = [tf.reduce_mean(features)]
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(on_host, tensors))

BROADCAST = tf.estimator.tpu.InputPipelineConfig.BROADCAST
library.add(tf.estimator.tpu.RunConfig(tpu_config=tf.estimator.tpu.TPUConfig(10)))
library.add(
    tf.estimator.tpu.RunConfig(
        tpu_config=tf.estimator.tpu.TPUConfig(10, per_host_input_for_training=BROADCAST)
    )
)
tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=8, config=library.chosen()
)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
