"""Modules without a word of a TPU, read since what they give takes part in a TPU program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, expected, reported

FAMILIES = ("TPU5", "TPU604", "TPU605", "TPU607", "TPU7")

TPU = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""
AUGMENTER = """
# file: augment.py
import tensorflow as tf

class Augmenter:
    def __init__(self, low):
        self.low = tf.Variable(low)

    def apply(self, x):
        return x + tf.strings.to_number(self.low)  # error: TPU501
"""
ESTIMATOR = """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

config = tf.estimator.tpu.RunConfig()
estimator = tf.estimator.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
"""
LOOP = """
# file: loop.py
import tensorflow.compat.v1 as tf

def input_fn(params):
    return tf.data.TFRecordDataset(["gs://bucket/a"]).batch(params["batch_size"])  # error: TPU605

def run(estimator):
    estimator.train(input_fn, steps=10)

class Loop:
    def __init__(self, estimator):
        self.estimator = estimator

    def go(self):
        self.estimator.train(input_fn, steps=10)
"""

# A table of models, whose modules name nothing of a TPU.
NETS = """
# file: nets/__init__.py
from .small import small
from .wide import wide

NETS = {"small": small, "wide": wide}

def by_name(name, **settings):
    return NETS[name](**settings)
# file: nets/small.py
import tensorflow as tf

def small(units):
    words = tf.keras.Input([8])
    return tf.keras.Model(words, tf.keras.layers.Dense(units)(words))
# file: nets/wide.py
import tensorflow as tf

def wide(units):
    words = tf.keras.Input([8])
    return tf.keras.Model(words, tf.keras.layers.Dense(units * 4)(words))
# file: measures/__init__.py
from .share import share

MEASURES = {"share": share(), "half": share(0.5)}

def measure(name):
    return MEASURES[name]
# file: measures/share.py
import tensorflow as tf

def share(least=0.0):
    def share_of(y, outputs):
        return tf.py_function(lambda x: x, [y * outputs + least], tf.float32){in_measure}
    return share_of
"""
ENDED = """
    ended = tf.keras.Model(model.input, tf.keras.layers.Activation("softmax")(model.output))
    ended.compile("sgd", "mse", metrics=[measure(name) for name in args.metrics])
ended.fit(tf.zeros([64, 8]), tf.zeros([64, 4]))
"""
ARGUMENTS = (
    TPU
    + """
import argparse
from measures import measure
from nets import by_name

parser = argparse.ArgumentParser()
parser.add_argument("--model")
parser.add_argument("--metrics", nargs="*")
args = parser.parse_args()
"""
)

PROGRAMS = {
    "an object of the host whose method a closure calls": TPU
    + """
from augment import Augmenter

augmenter = Augmenter(3)

@tf.function
def train(x):
    def step(x):
        return augmenter.apply(x)
    strategy.run(step, args=(x,))
"""
    + AUGMENTER,
    "an object that a function of a lower case gives": TPU
    + """
import make

augmenter = make.augmenter()

@tf.function
def train(x):
    strategy.run(augmenter.apply, args=(x,))
"""
    + AUGMENTER
    + """
# file: make.py
import augment

def augmenter():
    return augment.Augmenter("3")
""",
    "a base class whose method the step calls": TPU
    + """
from augment import Augmenter

class Sampler(Augmenter):
    pass

sampler = Sampler(3)

@tf.function
def train(x):
    def step(x):
        return sampler.apply(x)
    strategy.run(step, args=(x,))
"""
    + AUGMENTER,
    "a pipeline that is loaded before it is distributed": TPU
    + """
import inputs
import settings

data = strategy.experimental_distribute_dataset(inputs.load(settings.args))

# file: inputs.py
import tensorflow as tf

def rows():
    yield [0.0] * 8

def load(args):
    return tf.data.Dataset.from_generator(rows, tf.float32, [8])  # possible: TPU607
""",
    "a function that is given the estimator": """
import tensorflow.compat.v1 as tf
import loop
"""
    + ESTIMATOR
    + "loop.run(estimator)\n"
    + LOOP,
    "an object that is given the estimator": """
import tensorflow.compat.v1 as tf
from loop import Loop
"""
    + ESTIMATOR
    + "Loop(estimator).go()\n"
    + LOOP,
    "a function that is given the strategy": TPU
    + """
import loop

loop.train(strategy, 3)

# file: loop.py
import tensorflow as tf

def train(distribution, number):
    def step(x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501

    @tf.function
    def steps(x):
        distribution.run(step, args=(x,))

    steps(number)
""",
    "TensorFlow by a star import": """
from ops import *
"""
    + ESTIMATOR.replace(
        "tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())", "tf.train.AdamOptimizer()"
    )
    .replace("tf.train.get_global_step())\n", "tf.train.get_global_step())  # error: TPU604\n")
    .replace("tf.layers.dense(features, 1)", "dense(features)")
    + """
# file: ops.py
import tensorflow.compat.v1 as tf

def dense(x):
    return tf.layers.dense(x, 1)
""",
    "TensorFlow by the import of another module": """
import compat
from compat import tf
"""
    + ESTIMATOR.replace("tf.reduce_mean(", "compat.tf.reduce_mean(").replace(
        "tf.layers.dense(features, 1)",
        "compat.tf.py_func(abs, [features], tf.float32)  # error: TPU501\n    ",
    )
    + """
# file: compat.py
import tensorflow.compat.v1 as tf
""",
    "a Keras model of an object that is no layer": TPU
    + """
import backbones

backbone = backbones.Builder()
inputs = tf.keras.Input([8])
with strategy.scope():
    model = tf.keras.Model(inputs, backbone(inputs))

@tf.function
def train(x):
    def step(x):
        return model(x)
    strategy.run(step, args=(x,))

# file: backbones.py
import tensorflow as tf

class Builder:
    def __call__(self, x):
        return tf.keras.layers.Dense(1)(x)
""",
    "one of many functions, taken by a name": TPU
    + """
import sys
import tasks

TASKS = {
    "a": tasks.a, "b": tasks.b, "c": tasks.c, "d": tasks.d, "e": tasks.e, "f": tasks.f, "g": tasks.g
}
task = TASKS.get(sys.argv[1])
if task is None:
    raise ValueError("no such task")

@tf.function
def train(x):
    strategy.run(lambda x: task(x), args=(x,))

train(tf.zeros([8]))

# file: tasks.py
import tensorflow as tf

def a(x): return x
def b(x): return x
def c(x): return x
def d(x): return x
def e(x): return x
def f(x): return x
def g(x): return tf.strings.length(x)  # possible: TPU501
""",
    "a function that is given a strategy of GPUs": """
import sys
import tensorflow as tf
import loop

loop.train(tf.distribute.MirroredStrategy())

# file: loop.py
import tensorflow as tf

def train(d):
    def step(x):
        return tf.py_function(abs, [x], tf.float32)

    d.run(step, args=(1.0,))
""",
    "a step on a pipeline that two other modules make": TPU
    + """
from functools import reduce
import inputs
import steps

rows = inputs.load("gs://bucket/rows")
parts = []
for number in range(2):
    parts.append(rows.map(lambda x: tf.py_function(abs, [x], tf.int64)))  # possible: TPU607
joined = reduce(lambda first, second: first.concatenate(second), parts)
data = strategy.experimental_distribute_dataset(steps.prepare(joined))

# file: inputs.py
import tensorflow as tf

def load(name):
    return tf.data.TFRecordDataset(name).map(tf.io.decode_raw)
# file: steps.py
def prepare(data):
    return data.cache().shuffle(100).batch(8, drop_remainder=True)
""",
    "models of a table, whose ends a model of the scope takes": ARGUMENTS
    + "model = by_name(args.model, units=4)  # error: TPU702\nwith strategy.scope():"
    + ENDED.replace("[measure(name) for name in args.metrics]", "None")
    + NETS.replace("{in_measure}", ""),
    "metrics of a table, in a list": ARGUMENTS
    + "with strategy.scope():\n    model = by_name(args.model, units=4)"
    + ENDED
    + NETS.replace("{in_measure}", "  # error: TPU501"),
    "a false alarm: models of a table, made under the scope": ARGUMENTS
    + "with strategy.scope():\n    model = by_name(args.model, units=4)"
    + ENDED.replace("[measure(name) for name in args.metrics]", "None")
    + NETS.replace("{in_measure}", ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_takes_part_is_read(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


LOOPED_OVER = """
# file: data.py
import tensorflow as tf

def rows(size):
    data = tf.data.Dataset.from_tensor_slices((tf.zeros([64, 4]), tf.zeros([64])))
    return data.shuffle(64).batch(size, drop_remainder=True)
# file: train.py
import tensorflow as tf
import data

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.1)

@tf.function
def train_step(x, y):
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x) - y)) / 32
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    strategy.run(step, args=(x, y)){mark}

rows = data.rows(32)
for epoch in range(8):
    for x, y in {rows}:
        train_step(x, y)
"""


def test_data_of_a_module_without_a_tpu_that_reaches_run(tmp_path: Path) -> None:
    taken = LOOPED_OVER.replace("{rows}", "rows").replace("{mark}", "  # error: TPU714")
    assert_marked(taken, tmp_path / "given")
    distributed = "strategy.experimental_distribute_dataset(rows)"
    assert_marked(
        LOOPED_OVER.replace("{rows}", distributed).replace("{mark}", ""), tmp_path / "own"
    )
