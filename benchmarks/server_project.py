"""A project of any size, in the shape of those that people train models with.

A tenth of its files are of TPU programs: each trainer builds an estimator around a model of a
file of its own, which imports shared layers and a host function. The others are what surrounds
them: data, tools and tests that name no TPU. One model file is long.
"""

from __future__ import annotations

from pathlib import Path

SHARED = 10  # modules of layers
HEAD = """\
import tensorflow.compat.v1 as tf

from project.layers import {imports}
from project.data import reader_{number}

"""
LAYER = '''\
def block_{index}(inputs, units, training):
    """Apply a layer with its normalization.

    Args:
      inputs: A tensor of shape [batch, units].
      units: The number of units, which is that of the inputs.
      training: Whether the statistics are those of the batch.

    Returns:
      A tensor of the shape of the inputs.
    """
    with tf.variable_scope("block_{index}", reuse=tf.AUTO_REUSE):
        kernel = tf.get_variable("kernel", [units, units], tf.float32)
        bias = tf.get_variable("bias", [units], tf.float32)
        outputs = tf.nn.bias_add(tf.matmul(inputs, kernel), bias)
        # The statistics of the batch: every replica has its own.
        if training:
            mean, variance = tf.nn.moments(outputs, axes=[0], keepdims=True)
            outputs = (outputs - mean) * tf.math.rsqrt(variance + 1e-5)
        for axis in range(2):
            outputs = outputs + tf.reduce_mean(outputs, axis=axis, keepdims=True)
        gate = tf.nn.sigmoid(tf.reduce_sum(outputs, axis=-1, keepdims=True))
        outputs = tf.where(gate > 0.5, outputs, tf.nn.relu(outputs))
        return {call}


'''
MODEL = '''\
def report(loss):
    """On the host."""
    with tf.control_dependencies([tf.print("loss", loss)]):
        return tf.identity(loss)


def model_fn(features, labels, mode, params):
    """What the TPU runs."""
    training = mode == tf.estimator.ModeKeys.TRAIN
    hidden = tf.reshape(features, [params["batch_size"], 64])
{blocks}
    loss = tf.reduce_mean(tf.square(hidden - tf.cast(labels, tf.float32)))
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    step = tf.train.get_or_create_global_step()
    train_op = optimizer.minimize(loss, global_step=step)
    with tf.control_dependencies([tf.tpu.outside_compilation(report, loss)]):
        loss = tf.identity(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
'''
TRAINER = '''\
import tensorflow.compat.v1 as tf

from project.data import reader_{number}
from project.models import model_{number}


def main(_):
    """Train the model on a TPU."""
    cluster = tf.distribute.cluster_resolver.TPUClusterResolver("worker")
    config = tf.estimator.tpu.RunConfig(cluster=cluster)
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn=model_{number}.model_fn, config=config, train_batch_size=64, use_tpu=True
    )
    estimator.train(reader_{number}.input_fn, max_steps=1000)


if __name__ == "__main__":
    tf.app.run(main)
'''
READER = '''\
import tensorflow.compat.v1 as tf


def input_fn(params):
    """What feeds the TPU."""
    files = tf.data.Dataset.list_files("data-*")
    dataset = tf.data.TFRecordDataset(files).repeat().shuffle(1000)
    dataset = dataset.map(lambda row: (tf.io.decode_raw(row, tf.float32), tf.strings.length(row)))
    return dataset.batch(params["batch_size"], drop_remainder=True)
'''
TOOL = '''\
import collections
import os


class Table{number}:
    """Rows by name, as a file has them."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = collections.OrderedDict()

    def read(self, name):
        """Read the rows of one file."""
        with open(os.path.join(self.folder, name), encoding="utf-8") as stream:
            self.rows[name] = [line.split() for line in stream]
        return self.rows[name]
'''


def make(root: Path, files: int, lines: int) -> Path:
    """Write the project below `root`; the answer is its long file, which has `lines` lines."""
    programs = max(files // 30, 1)
    written = 0
    for folder in ("", "layers", "models", "data", "tools", "trainers"):
        package = root / "project" / folder
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("", encoding="utf-8")
        written += 1
    (root / "README.md").write_text("A project.\n", encoding="utf-8")
    for number in range(SHARED):
        text = "import tensorflow.compat.v1 as tf\n\n\n" + layers(6, f"shared_{number}_")
        written += write(root / f"project/layers/shared_{number}.py", text)
    for number in range(programs):
        blocks = 30 if number else lines // LAYER.count("\n") - 2
        written += write(root / f"project/models/model_{number}.py", model(number, blocks))
        trainer, reader = TRAINER.format(number=number), READER
        written += write(root / f"project/trainers/train_{number}.py", trainer)
        written += write(root / f"project/data/reader_{number}.py", reader)
    for number in range(files - written):
        text = "\n\n".join(TOOL.format(number=f"{number}_{part}") for part in range(8))
        write(root / f"project/tools/tool_{number}.py", text)
    long = root / "project/models/model_0.py"
    text = long.read_text(encoding="utf-8")
    filling = "# The end.\n" * (lines - text.count("\n"))
    long.write_text(text + filling, encoding="utf-8")
    return long


def model(number: int, blocks: int) -> str:
    shared = [f"shared_{(number + offset) % SHARED}" for offset in range(3)]
    head = HEAD.format(imports=", ".join(shared), number=number)
    uses = [f"    hidden = block_{block}(hidden, 64, training)" for block in range(blocks)]
    uses += [f"    hidden = {name}.block_{name}_0(hidden, 64, training)" for name in shared]
    return head + "\n" + layers(blocks, "") + MODEL.format(blocks="\n".join(uses))


def layers(number: int, prefix: str) -> str:
    return "".join(
        LAYER.format(index=f"{prefix}{index}", call="tf.nn.dropout(outputs, rate=0.1)")
        for index in range(number)
    )


def write(path: Path, text: str) -> int:
    path.write_text(text, encoding="utf-8")
    return 1
