"""Programs of public reports that need buckets, or packages: these have stand-ins here.

Each has the fault and is corrected by one edit. The reports are in docs/field.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from tests.runtime.run.command import tpulint

tf1 = tf.compat.v1

ESTIMATOR = """\
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    with tf.variable_scope("bert"):
        logits = tf.layers.dense(features, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())

    def scaffold_fn():
        tf.train.init_from_checkpoint(f"{FOLDER}/saved.ckpt", {"bert/": "bert/"})
        return tf.train.Scaffold()

    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, scaffold_fn=scaffold_fn
    )

def parse(record):
    features = {"x": tf.FixedLenFeature([4], tf.float32), "y": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_single_example(record, features)
    return parsed["x"], tf.cast(parsed["y"], tf.int32)

def input_fn(params):
    dataset = tf.data.TFRecordDataset("gs://data/train.tfrecord").map(parse).shuffle(8)
    dataset = dataset.repeat()
    return dataset.batch(params["batch_size"], drop_remainder=True)

FOLDER = "gs://models/pretrained"
cluster = tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu")
steps = tf.estimator.tpu.TPUConfig(iterations_per_loop=2)
config = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="gs://models/new", tpu_config=steps)
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=4, config=config
)
estimator.train(input_fn, max_steps=4)
"""

TRAINING = """\
import os
import sys
import PACKAGE
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="my-tpu")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)

"""
HUB = (
    TRAINING.replace("PACKAGE", "tensorflow_hub as hub")
    + """\
os.environ["TFHUB_MODEL_LOAD_FORMAT"] = "UNCOMPRESSED"
with strategy.scope():
    layer = hub.KerasLayer("https://tfhub.dev/small/1")
    model = tf.keras.Sequential([tf.keras.Input([4]), layer, tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
pairs = tf.data.Dataset.from_tensors((tf.ones([4]), tf.ones([1]))).repeat(8)
model.fit(pairs.batch(4, drop_remainder=True), verbose=0)
"""
)
HUB_PACKAGE = """\
import os
import tensorflow as tf

class KerasLayer(tf.keras.layers.Layer):
    def __init__(self, handle):
        super().__init__()
        host, name, version = handle.split("/")[2:]
        folder = f"gs://tfhub-modules/{host}/{name}/{version}/uncompressed"
        if os.environ.get("TFHUB_MODEL_LOAD_FORMAT") != "UNCOMPRESSED":
            folder = os.path.join("cache", name)
            tf.saved_model.save(Doubled(), folder)
        self.module = tf.saved_model.load(folder)

    def call(self, x):
        return self.module(x)

class Doubled(tf.Module):
    def __init__(self):
        super().__init__()
        self.factor = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def __call__(self, x):
        return self.factor * x
"""
TABLE = (
    TRAINING.replace("PACKAGE", "reverb")
    + """\
@tf.function
def step(x):
    return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(x,)), axis=None)

for samples in reverb.Client("localhost:8000").sample("table", num_samples=16):
    batch = tf.convert_to_tensor([sample.data for sample in samples])
    step(strategy.experimental_distribute_values_from_function(lambda context: batch))
"""
)
DATASET = (
    TRAINING.replace("PACKAGE", "reverb")
    + """\
@tf.function
def step(x):
    return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(x,)), axis=None)

dataset = reverb.TrajectoryDataset.from_table_signature("localhost:8000", "table")
dataset = dataset.map(lambda sample: sample.data).batch(8, drop_remainder=True)
for sample in strategy.experimental_distribute_dataset(dataset):
    step(sample)
"""
)
TABLE_PACKAGE = """\
from collections import namedtuple
import tensorflow as tf

Sample = namedtuple("Sample", ["info", "data"])

class Client:
    def __init__(self, address):
        self.address = address

    def sample(self, table, num_samples):
        return [[Sample(0, [1.0] * 4)] * 8] * (num_samples // 8)

class TrajectoryDataset:
    @staticmethod
    def from_table_signature(address, table):
        signature = Sample(tf.TensorSpec([], tf.int32), tf.TensorSpec([4]))
        return tf.data.Dataset.from_generator(
            lambda: (Sample(0, tf.ones([4])) for _ in range(16)), output_signature=signature
        )
"""


def write_buckets(folder: Path) -> None:
    """Write a checkpoint and records where `gs://` is read."""
    (folder / "models" / "pretrained").mkdir(parents=True)
    (folder / "data").mkdir()
    with tf1.Graph().as_default(), tf1.Session() as session:
        with tf1.variable_scope("bert/dense"):
            tf1.get_variable("kernel", [4, 10])
            tf1.get_variable("bias", [10])
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(folder / "models" / "pretrained" / "saved.ckpt"))
    x = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5] * 4))
    y = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    record = tf.train.Example(features=tf.train.Features(feature={"x": x, "y": y}))
    with tf.io.TFRecordWriter(str(folder / "data" / "train.tfrecord")) as writer:
        for _ in range(12):
            writer.write(record.SerializeToString())


if hasattr(tf1, "estimator"):

    @pytest.mark.parametrize(
        ("sound", "wrong", "messages"),
        [
            (
                '"gs://models/pretrained"',
                '"/content/pretrained"',
                ["TPU607", "/content/pretrained"],
            ),
            ("    dataset = dataset.repeat()\n", "", ["OutOfRangeError", "TPU612"]),
            ("", "", []),
        ],
        ids=["a checkpoint on this machine", "data that is read once", "the sound program"],
    )
    def test_an_estimator_that_reads_buckets(
        sound: str, wrong: str, messages: list[str], tmp_path: Path
    ) -> None:
        write_buckets(tmp_path / "buckets")
        program = ESTIMATOR.replace(sound, wrong) if sound else ESTIMATOR
        (tmp_path / "program.py").write_text(program, encoding="utf-8")
        done = tpulint(tmp_path, "run", "--replicas", "2", "--storage", "buckets", "program.py")
        assert done.returncode == bool(messages), done.stderr
        assert [words for words in messages if words not in done.stderr] == []
        assert (tmp_path / "buckets/models/new").is_dir() == (sound != '"gs://models/pretrained"')


@pytest.mark.any_release
def test_a_layer_that_unpacks_its_model_on_this_machine(tmp_path: Path) -> None:
    """The TPU's host reads it from Cloud Storage if the package is told to."""
    (tmp_path / "tensorflow_hub.py").write_text(HUB_PACKAGE, encoding="utf-8")
    stored = tmp_path / "buckets/tfhub-modules/tfhub.dev/small/1/uncompressed"
    namespace: dict[str, type[tf.Module]] = {}
    exec(HUB_PACKAGE, namespace)
    tf.saved_model.save(namespace["Doubled"](), str(stored))
    command = ["run", "--replicas", "2", "--remote", "--storage", "buckets", "program.py"]
    (tmp_path / "program.py").write_text(HUB, encoding="utf-8")
    done = tpulint(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    (tmp_path / "program.py").write_text(HUB.replace("os.environ[", "# ["), encoding="utf-8")
    done = tpulint(tmp_path, *command)
    assert done.returncode == 1
    assert "LocalFileError" in done.stderr
    assert "[TPU607 host-only-input]" in done.stderr


@pytest.mark.any_release
def test_a_pipeline_of_an_imported_package(tmp_path: Path) -> None:
    """Its Python code is in the process of the program, not on the TPU's host."""
    (tmp_path / "reverb.py").write_text(TABLE_PACKAGE, encoding="utf-8")
    (tmp_path / "program.py").write_text(TABLE, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "--remote", "program.py")
    assert done.returncode == 0, done.stderr
    (tmp_path / "program.py").write_text(DATASET, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "--remote", "program.py")
    assert done.returncode == 1
    assert "HostOnlyInputError at reverb.py:" in done.stderr
    assert "[TPU607 host-only-input]" in done.stderr


@pytest.mark.any_release
def test_a_callback_that_writes_to_this_machine(tmp_path: Path) -> None:
    """The error comes from `fit`, and the finding is at the callback."""
    program = HUB.replace("import tensorflow_hub as hub\n", "").replace("layer, ", "")
    program = program.replace('    layer = hub.KerasLayer("https://tfhub.dev/small/1")\n', "")
    program = program.replace("verbose=0", "verbose=0, callbacks=[log]")
    log = "log = tf.keras.callbacks.TensorBoard('logs')"
    program = program.replace("pairs = ", f"{log}\npairs = ")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "--remote", "program.py")
    assert done.returncode == 1
    assert "LocalFileError" in done.stderr
    assert "writes this on the host of a remote TPU" in " ".join(done.stderr.split())
