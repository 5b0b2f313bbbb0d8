"""Programs that are right, or not certainly wrong: the rules TPU6xx stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported
from tests.rules.openings import ESTIMATOR, NETWORK, REMOTE, V1

PROGRAMS = {
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
    "the keys of a dict that another library makes": V1
    + """
import library

def model_fn(features, labels, mode, params):
    loss, monitored = library.losses(features)
    names = list(monitored.keys())

    def host_call_fn(step, *values):
        for i, name in enumerate(names):
            tf.summary.scalar("train/" + name, values[i][0])
        return step

    tensors = [tf.reshape(tf.train.get_global_step(), [1])]
    tensors += [tf.reshape(monitored[name], [1]) for name in names]
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(host_call_fn, tensors))
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
    "a list that a loop fills, for a function whose parameters are counted": V1
    + """
def metric_fn(a, b, c):
    return {"a": tf.metrics.mean(a)}

def model_fn(features, labels, mode, params):
    rows = tf.reduce_mean(features, axis=-1)
    tensors = []
    for _ in range(params["heads"]):
        tensors.append(rows)
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(rows), eval_metrics=(metric_fn, tensors)
    )
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
    "params that get their size where no TPU is meant": NETWORK
    + """
def main(flags):
    params = dict(rate=0.1, mode=flags.mode)
    if flags.strategy == "mirrored":
        params["batch_size"] = flags.train_batch_size // flags.gpus
    elif flags.strategy == "tpu":
        return tf.estimator.tpu.TPUEstimator(
            model_fn,
            params=params,
            use_tpu=True,
            train_batch_size=64,
            config=tf.estimator.tpu.RunConfig(),
        )
    return tf.estimator.Estimator(model_fn, params=params)
""",
    "params from which the size is taken first": NETWORK
    + """
def main(rate):
    params = {"rate": rate, "batch_size": 64}
    if "batch_size" in params:
        del params["batch_size"]
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        params=params,
        use_tpu=True,
        train_batch_size=64,
        config=tf.estimator.tpu.RunConfig(),
    )
""",
    "sparse features that go to a TPU embedding have no static shape": NETWORK
    + """
from network import embedding

def input_fn(params):
    return tf.data.TFRecordDataset("gs://bucket/x").repeat().batch(params["batch_size"])

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn,
    use_tpu=True,
    train_batch_size=64,
    embedding_config_spec=embedding,
    config=tf.estimator.tpu.RunConfig(),
)
estimator.train(input_fn, max_steps=1)
""",
    "batches that are taken apart again, and batches of windows": NETWORK
    + """
def input_fn(params):
    dataset = tf.data.TFRecordDataset("gs://bucket/x").batch(1000).map(tf.io.decode_raw).unbatch()
    dataset = dataset.window(8).flat_map(lambda window: window.batch(8))
    return dataset.repeat().batch(params["batch_size"], True)
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "a batch that every way ends with, over datasets that are joined": NETWORK
    + """
def input_fn(params):
    left = tf.data.TFRecordDataset("gs://bucket/left").repeat()
    right = tf.data.TFRecordDataset("gs://bucket/right").repeat()
    if params["both"]:
        dataset = tf.data.Dataset.zip((left, right))
    else:
        dataset = tf.data.experimental.sample_from_datasets([left, right])
    return dataset.batch(params["batch_size"], drop_remainder=params["drop"])
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "a strategy that a flag chooses may be no TPU's": """
import tensorflow as tf

def train(strategy, dataset):
    return strategy.experimental_distribute_dataset(dataset.batch(64))

def main(kind):
    strategy = tf.distribute.MirroredStrategy()
    return train(strategy, tf.data.Dataset.from_generator(lambda: [1.0], tf.float32))
""",
    "no other machine is named, and Python runs where the TPU is": NETWORK
    + """
from network import rows

def input_fn(params):
    dataset = tf.data.Dataset.from_generator(rows, tf.float32, [8])
    return dataset.repeat().batch(params["batch_size"], drop_remainder=True)
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "a table of an input_fn is made on the host of the TPU": NETWORK
    + """
def input_fn(params):
    table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer("gs://bucket/words", tf.string, 0, tf.int64, 1), -1
    )
    dataset = tf.data.TextLineDataset("gs://bucket/x").map(lambda line: table.lookup(line))
    return dataset.repeat().batch(params["batch_size"], drop_remainder=True)

cluster = tf.distribute.cluster_resolver.TPUClusterResolver("grpc://10.240.1.2:8470")
config = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="gs://bucket/model")
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=config
)
estimator.train(input_fn, max_steps=1)
""",
    "files that the program reads itself, before the pipeline": "import tensorflow as tf\n"
    + REMOTE
    + """
names = [line.strip() for line in open("/content/names.txt")]
dataset = tf.data.Dataset.from_tensor_slices(names).map(tf.strings.length)
dataset = dataset.repeat().batch(64, drop_remainder=True)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(dataset, steps_per_epoch=10)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ("TPU6",)) == []
