"""Operations, shapes and dtypes that were reported and are right, and those that were missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

FAMILY = ("TPU501", "TPU502", "TPU504")

SILENT = {
    "prints over the GPUs": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            for device in tf.config.experimental.list_logical_devices("GPU"):
                tf.print(device.name)
            return x
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "after the dependencies of control flow were cleared": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            with tf.control_dependencies(None):
                tf.print("once")
            return x
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "a summary that nobody merges": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            tf.summary.scalar("x", tf.reduce_sum(x))
            return x
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "soft placement that another file turns on": """
        # file: main.py
        import tensorflow as tf
        import train
        tf.config.set_soft_device_placement(True)
        # file: train.py
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        @tf.function
        def train(batch):
            def step(x):
                tf.print(x)
                return tf.strings.as_string(x)
            return strategy.run(step, args=(batch,))
    """,
    "the host's own calls": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        @tf.function
        def train(batch):
            loss = strategy.run(tf.nn.relu, args=(batch,))
            tf.print("loss", loss)
            return loss
    """,
    "another strategy": """
        import tensorflow as tf
        strategy = tf.distribute.MirroredStrategy()
        @tf.function
        def train(batch):
            def step(x):
                tf.print(x)
                return tf.zeros([tf.reduce_max(x)], tf.float16)
            return strategy.run(step, args=(batch,))
    """,
    "sizes that follow from shapes": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            rows = tf.shape(x)[0]
            count = tf.reduce_sum(tf.ones_like(x))
            a = tf.zeros([rows, tf.size(x)])
            b = tf.reshape(x, [rows * 2, -1])
            c = tf.range(x.shape[0])
            return tf.tile(a, [rows, 1]), b, c, tf.fill([tf.cast(count, tf.int32)], 1.0)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "a mask with its length": """
        import tensorflow.compat.v1 as tf
        def computation(lengths):
            return tf.sequence_mask(lengths, maxlen=8)
        result = tf.tpu.rewrite(computation, [tf.constant([2])])
    """,
    "strings that the compiler holds for an assertion": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            with tf.control_dependencies([tf.debugging.assert_positive(x, message="x")]):
                return tf.identity(x)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "methods that are called like operations": """
        import tensorflow.compat.v1 as tf
        class Log:
            def print(self, x):
                return x
        log = Log()
        def computation(x, picture):
            return log.print(x), picture.resize((4, 4))
        result = tf.tpu.rewrite(computation, [tf.ones([2]), tf.ones([2])])
    """,
}

ALARMS = {
    "a TensorFlow 1 name": """
        import tensorflow as tf
        from tensorflow.contrib import tpu
        def computation(x):
            x = tf.Print(x, [x])  # error: TPU501
            return tf.py_func(abs, [x], tf.float32)  # error: TPU501
        result = tpu.rewrite(computation, [tf.ones([2])])
    """,
    "a raw operation": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            return tf.raw_ops.AsString(input=x)  # error: TPU501
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "a summary under a writer": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        writer = tf.summary.create_file_writer("gs://logs")
        @tf.function
        def train(batch):
            def step(x):
                with writer.as_default():
                    tf.summary.scalar("x", x, step=0)  # error: TPU501
                return x
            return strategy.run(step, args=(batch,))
    """,
    "a method that a partial hands on": """
        import functools
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        class Trainer:
            def step(self, verbose, x):
                return tf.io.decode_raw(x, tf.uint8)  # error: TPU501
            @tf.function
            def train(self, batch):
                return strategy.run(functools.partial(self.step, True), args=(batch,))
    """,
    "a queue": """
        import tensorflow.compat.v1 as tf
        queue = tf.FIFOQueue(2, tf.float32)
        def computation(x):
            return x + queue.dequeue()  # error: TPU501
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "a size out of a condition": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            n = tf.cond(tf.reduce_sum(x) > 0.0, lambda: 1, lambda: 2)
            return tf.one_hot(x, tf.reduce_max(tf.cast(x, tf.int32)))  # error: TPU502
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "an alias of a dtype": """
        import numpy as np
        import tensorflow.compat.v1 as tf
        def computation(x):
            return tf.cast(x, np.complex128), tf.to_double(x)  # error: TPU504
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
}


@pytest.mark.parametrize("name", SILENT)
def test_what_is_right_is_silent(name: str, tmp_path: Path) -> None:
    assert reported(SILENT[name], tmp_path, FAMILY) == []


@pytest.mark.parametrize("name", ALARMS)
def test_what_is_wrong_is_said(name: str, tmp_path: Path) -> None:
    program = ALARMS[name]
    found = [each for each in reported(program, tmp_path, FAMILY) if each.certainty == "definite"]
    assert found == expected(program, FAMILY)
