"""Programs with TPU501, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, REWRITTEN_PAIR, STRATEGY, TRAINED, V1

LOGARITHMS = """
        @tf.function
        def train(x):
            return strategy.run(tf.math.log, args=(x,))
        train(tf.ones([4]))
"""
PRINTS = """
        import tensorflow as tf
        def model_fn(features, labels, mode, params):
            tf.print("features", features)  # MARK
            shown = tf.print("labels", labels)  # error: TPU501
            with tf.control_dependencies([shown]):
                loss = tf.reduce_mean(features - labels)
            return MODULE.TPUEstimatorSpec(mode, loss=loss)
        MODULE.TPUEstimator(
            model_fn, use_tpu=True, train_batch_size=64, config=MODULE.RunConfig()
        )
"""
PREDICTS = """
        import sys
        import tensorflow.compat.v1 as tf
        from absl import flags
        FLAGS = flags.FLAGS
        USE_TPU = FLAGS.tpu is not None
        predicts = False
        if len(sys.argv) > 2:
            predicts = True
        def model_fn(features, labels, mode, params):
            if mode == tf.estimator.ModeKeys.PREDICT:
                texts = tf.strings.as_string(features)  # MARK
                return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions={"texts": texts})
            loss = tf.reduce_mean(features - labels)
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        if MADE:
            estimator = tf.estimator.tpu.TPUEstimator(
                model_fn, use_tpu=True, train_batch_size=64, predict_batch_size=8,
                config=tf.estimator.tpu.RunConfig(),
            )
        else:
            estimator = tf.estimator.Estimator(model_fn)
        if predicts:
            print(next(estimator.predict(lambda params: None)))
        else:
            estimator.train(lambda params: None, max_steps=5)
"""
PROGRAMS = {
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
    # False alarms: TensorFlow 1 compiles only what the next round of the Estimator's loop needs.
    "what a model_fn prints for TensorFlow 1 runs only if something waits for it": PRINTS.replace(
        "MODULE", "tf.contrib.tpu"
    ).replace("MARK", "never compiled"),
    "what a model_fn prints runs in some releases": PRINTS.replace(
        "MODULE", "tf.compat.v1.estimator.tpu"
    ).replace("MARK", "possible: TPU501"),
    # A false alarm: the flag and a TPU are refused together.
    "a flag with which the program stops where a TPU is used": """
        import tensorflow.compat.v1 as tf
        from absl import flags
        FLAGS = flags.FLAGS
        def model_fn_for(exports, checks):
            def model_fn(features, labels, mode, params):
                if exports:
                    features = tf.strings.to_number(features)
                if not exports:
                    features += tf.strings.to_number(features)  # error: TPU501
                if checks:
                    features = tf.strings.to_number(features)  # error: TPU501
                loss = tf.reduce_mean(features)
                return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
            return model_fn
        if FLAGS.exports and FLAGS.checks:
            raise ValueError("one of the two")
        if FLAGS.exports and FLAGS.use_tpu:
            raise ValueError("a TPU cannot export")
        tf.estimator.tpu.TPUEstimator(
            model_fn_for(FLAGS.exports, FLAGS.checks), use_tpu=FLAGS.use_tpu,
            train_batch_size=64, config=tf.estimator.tpu.RunConfig(),
        )
    """,
    # False alarms: the runs that predict make another estimator.
    "a model_fn predicts on no TPU": PREDICTS.replace("MADE", "USE_TPU and not predicts").replace(
        "MARK", "an Estimator's"
    ),
    "a model_fn predicts on no TPU, by a flag": PREDICTS.replace("predicts = ", "predicts_or = ")
    .replace("MADE", "not FLAGS.predicts")
    .replace("if predicts", "if FLAGS.predicts")
    .replace("MARK", "an Estimator's"),
    "a model_fn predicts on a TPU": PREDICTS.replace("MADE", "USE_TPU").replace(
        "MARK", "error: TPU501"
    ),
    "a missed alarm: a summary where modules of contrib are imported": """
        import tensorflow as tf
        from tensorflow.contrib import tpu
        def model_fn(features, labels, mode, params):
            loss = tf.reduce_mean(features)
            tf.summary.scalar("loss", loss)  # error: TPU501
            return tpu.TPUEstimatorSpec(mode, loss=loss)
        tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=64, config=tpu.RunConfig())
    """,
    "a summary where modules of contrib are imported if they are there": """
        import tensorflow as tf
        try:
            from tensorflow.contrib import tpu
        except ImportError:
            from tensorflow.compat.v1.estimator import tpu
        def model_fn(features, labels, mode, params):
            loss = tf.reduce_mean(features)
            tf.summary.scalar("loss", loss)  # possible: TPU501
            return tpu.TPUEstimatorSpec(mode, loss=loss)
        tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=64, config=tpu.RunConfig())
    """,
    # A false alarm: a name that the user sets chooses among the functions of a module.
    "a function that cannot take the arguments is not called": """
        import sys
        import tensorflow.compat.v1 as tf
        def sigmoid(x):
            return x
        def relu(x, slope=0.1):
            tf.print(slope)  # possible: TPU501
            return x * slope
        def axes(axis, rank):
            tf.print(axis)
            return rank
        def named(name):
            return {"sigmoid": sigmoid, "relu": relu, "axes": axes}[name]
        def computation(x):
            return named(sys.argv[1])(x)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    # A false alarm: on a TPU such a function answers no.
    "a summary where summaries are asked for": """
        import tensorflow as tf
        from library import should_write_summaries
        def computation(x):
            if should_write_summaries():
                tf.summary.scalar("mean", tf.reduce_mean(x), step=0)
            return x
        result = tf.compat.v1.tpu.rewrite(computation, [tf.ones([2])])
    """,
    # A false alarm as definite: the run that its author means never comes by.
    "a print for debugging": """
        import sys
        import tensorflow.compat.v1 as tf
        from absl import logging
        def computation(x):
            if logging.vlog_is_on(2):
                tf.print("x", x)  # possible: TPU501
            if not sys.flags.debug:
                tf.print("x", x)  # error: TPU501
            if tf.debugging.is_numeric_tensor(x):
                tf.print("x", x)  # error: TPU501
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
        tf.tpu.experimental.initialize_tpu_system()
        strategy = tf.distribute.TPUStrategy()
        @tf.function
        def train(batch):
            def step(x):
                tf.print(x)
                return tf.strings.as_string(x)
            return strategy.run(step, args=(batch,))
    """,
    "the host's own calls": """
        import tensorflow as tf
        tf.tpu.experimental.initialize_tpu_system()
        strategy = tf.distribute.TPUStrategy()
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
    "a TensorFlow 1 name": """
        import tensorflow as tf
        from tensorflow.contrib import tpu
        def computation(x):
            x = tf.Print(x, [x])  # error: TPU501
            return tf.py_func(abs, [x], tf.float32)  # error: TPU501
        result = tpu.rewrite(computation, [tf.ones([2])])
    """,
    "missed alarm: a summary as TensorFlow 1 has it": """
        # file: requirements.txt
        tensorflow==1.15
        # file: train.py
        import tensorflow as tf
        def model_fn(features, labels, mode, params):
            loss = tf.reduce_mean(features)
            tf.summary.scalar("loss", loss)  # error: TPU501
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
        estimator = tf.estimator.tpu.TPUEstimator(
            model_fn, use_tpu=True, train_batch_size=64, config=tf.estimator.tpu.RunConfig()
        )
    """,
    "missed alarm: a summary beside names that only TensorFlow 1 has": """
        import tensorflow as tf
        def model_fn(features, labels, mode, params):
            loss = tf.reduce_mean(features)
            tf.summary.scalar("loss", loss)  # error: TPU501
            return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss)
        estimator = tf.contrib.tpu.TPUEstimator(
            model_fn, use_tpu=True, train_batch_size=64, config=tf.contrib.tpu.RunConfig()
        )
    """,
    "a summary of TensorFlow 2 beside a comment on TensorFlow 1": """
        import tensorflow as tf
        # as tf.contrib.summary did
        tf.tpu.experimental.initialize_tpu_system()
        strategy = tf.distribute.TPUStrategy()
        @tf.function
        def train(batch):
            def step(x):
                tf.summary.scalar("x", tf.reduce_sum(x), step=0)  # possible: TPU501
                return x
            return strategy.run(step, args=(batch,))
    """,
    "a raw operation": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            return tf.raw_ops.AsString(input=x)  # error: TPU501
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "a summary under a writer": """
        import tensorflow as tf
        tf.tpu.experimental.initialize_tpu_system()
        strategy = tf.distribute.TPUStrategy()
        writer = tf.summary.create_file_writer("gs://logs")
        @tf.function
        def train(batch):
            def step(x):
                with writer.as_default():
                    tf.summary.scalar("x", x, step=0)  # error: TPU501
                return x
            return strategy.run(step, args=(batch,))
    """,
    "checks of all operations": """
        import tensorflow as tf
        tf.debugging.enable_check_numerics()  # error: TPU501
        strategy = tf.distribute.TPUStrategy()
        tf.tpu.experimental.initialize_tpu_system()
    """
    + LOGARITHMS,
    "checks of all operations under a test": """
        import sys
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        tf.tpu.experimental.initialize_tpu_system()
        if "--check" in sys.argv:
            tf.debugging.enable_check_numerics()  # possible: TPU501
    """
    + LOGARITHMS,
    "checks of all operations under soft placement": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        tf.tpu.experimental.initialize_tpu_system()
        tf.config.set_soft_device_placement(True)
        tf.debugging.enable_check_numerics()
    """
    + LOGARITHMS,
    "checks of all operations for what is no TPU's": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        tf.tpu.experimental.initialize_tpu_system()
        tf.debugging.enable_check_numerics()
        tf.reduce_sum(tf.ones([4]))
        tf.debugging.disable_check_numerics()
    """
    + LOGARITHMS,
    "a summary of a step that is called under a writer": """
        import tensorflow as tf
        tf.tpu.experimental.initialize_tpu_system()
        strategy = tf.distribute.TPUStrategy()
        writer = tf.summary.create_file_writer("gs://logs")
        def replica_step(x):
            tf.summary.scalar("x", x, step=0)  # error: TPU501
            return x
        def quiet_step(x):
            tf.summary.scalar("x", x, step=0)  # possible: TPU501
            return x
        @tf.function
        def train(x):
            return strategy.run(replica_step, args=(x,))
        @tf.function
        def evaluate(x):
            return strategy.run(quiet_step, args=(x,))
        evaluate(tf.ones([]))
        with writer.as_default():
            for number in range(9):
                train(tf.ones([]))
            evaluate(tf.ones([]))
    """,
    "a summary beside a default that is no writer": """
        import library
        import tensorflow as tf
        tf.tpu.experimental.initialize_tpu_system()
        strategy = tf.distribute.TPUStrategy()
        @tf.function
        def train(batch):
            def step(x):
                with library.variables.as_default():
                    x = x + 1.0
                tf.summary.scalar("x", x, step=0)  # possible: TPU501
                return x
            return strategy.run(step, args=(batch,))
    """,
    "a method that a partial hands on": """
        import functools
        import tensorflow as tf
        tf.tpu.experimental.initialize_tpu_system()
        strategy = tf.distribute.TPUStrategy()
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
    "operations without arguments, of constants, and of no host": V1
    + """
def computation(x, y):
    now = tf.timestamp()  # error: TPU501
    word = tf.strings.upper("tpu")  # possible: TPU501
    tf.print("once")  # error: TPU501
    return tf.image.extract_glimpse(x, [2, 2], y), now  # possible: TPU501
"""
    + REWRITTEN_PAIR,
    "a table that is filled on the device and asked on the host": V1
    + """
def computation(x, y):
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    found = tf.tpu.outside_compilation(lambda key: table.lookup(key), x)
    return found, table.lookup(y)  # error: TPU501
"""
    + REWRITTEN_PAIR,
    "a summary beside a writer that only the host has": """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())
writer = tf.summary.create_file_writer("gs://logs")

def on_host(x):
    with writer.as_default():
        tf.summary.scalar("x", x, step=0)

def replica_step(x):
    tf.compat.v1.tpu.outside_compilation(on_host, x)
    tf.summary.scalar("x", x, step=0)  # possible: TPU501
    return x

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))
""",
    # False alarms in tensorflow/tpu.
    "a function that is named after GPUs": STRATEGY
    + """
from library import batched

def found_gpu(x):
    return tf.as_string(x)

def found_tpu_or_gpu(x):
    return tf.as_string(x)  # error: TPU501

def step(x):
    if batched:
        return found_gpu(x)
    return found_tpu_or_gpu(x)
"""
    + TRAINED,
    "tests for GPUs, by their words and not by their lines": STRATEGY
    + """
from library import settings

def step(x):
    if (
        settings.kinds(
            1,
        )
        and
        settings.ready
        and settings.gpus > 0
    ):
        tf.as_string(x)
    if settings.ready:  # what a gpu is for
        tf.as_string(x)  # error: TPU501
    if settings.ready() and not settings.gpus():
        tf.as_string(x)  # error: TPU501
    if not (settings.ready() and not settings.gpus()):
        tf.as_string(x)
    if settings.gpus() != 0:
        tf.as_string(x)
    return x
"""
    + TRAINED,
    "a loop over the GPUs, of which a TPU's host has none": STRATEGY
    + """
def step(x):
    for gpu in tf.config.list_logical_devices("GPU"):
        tf.as_string(x)
    return x
"""
    + TRAINED,
    "loops over other devices, and over what lies in a folder of that name": STRATEGY
    + """
def step(x):
    for tpu in tf.config.list_logical_devices("TPU"):
        tf.as_string(x)  # error: TPU501
    for device in tf.config.list_logical_devices():
        tf.as_string(x)  # error: TPU501
    for name in tf.io.gfile.listdir("GPU"):
        tf.as_string(x)  # error: TPU501
    return x
"""
    + TRAINED,
    "in a context that is not seen": V1
    + """
from library import somewhere

def computation(x):
    with somewhere():
        tf.as_string(x)  # possible: TPU501
    return x
"""
    + REWRITTEN,
    "soft placement": V1
    + """
tf.config.set_soft_device_placement(
    enabled=True,
)

def computation(x):
    tf.as_string(x)
    return x
"""
    + REWRITTEN,
    "no soft placement": V1
    + """
tf.config.set_soft_device_placement(False)

def computation(x):
    tf.as_string(x)  # error: TPU501
    return x
"""
    + REWRITTEN,
    # A missed alarm: of many calls of `block` only the first are followed.
    "a layer before many alike": """
        import tensorflow as tf
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)

        def block(x, filters, strides=1, activation="relu"):
            shortcut = x
            x = tf.keras.layers.Conv2D(filters, 3, strides, padding="same")(x)
            x = tf.keras.layers.BatchNormalization()(x)
            x = tf.keras.layers.Activation(activation)(x)
            x = tf.keras.layers.Conv2D(filters, 3, padding="same")(x)
            x = tf.keras.layers.BatchNormalization()(x)
            x = tf.keras.layers.Add()([shortcut, x])
            return tf.keras.layers.Activation(activation)(x)

        with strategy.scope():
            inputs = tf.keras.Input([32, 32, 3])
            x = tf.keras.layers.RandomRotation(0.1)(inputs)  # error: TPU501
            for filters in (3, 3, 3, 3, 3, 3, 3, 3):
                x = block(x, filters)
            model = tf.keras.Model(inputs, tf.keras.layers.Flatten()(x))
            model.compile(optimizer="adam", loss="mse")
        data = tf.data.Dataset.from_tensors((tf.ones([8, 32, 32, 3]), tf.ones([8])))
        model.fit(data)
    """,
    "soft placement, but for one flag": V1
    + """
import sys

tf.config.set_soft_device_placement(False if "--hard" in sys.argv else True)

def computation(x):
    tf.as_string(x)  # possible: TPU501
    return x
"""
    + REWRITTEN,
    "soft placement, where a flag says so": V1
    + """
import sys

tf.config.set_soft_device_placement("--soft" in sys.argv)

def computation(x):
    tf.as_string(x)  # possible: TPU501
    return x
"""
    + REWRITTEN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
