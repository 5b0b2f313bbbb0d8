"""Faults behind values that real programs hand on: each cause has its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import ESTIMATOR, SYSTEM, V1

V2 = """
import tensorflow as tf
"""
FAMILIES = ("TPU1", "TPU5", "TPU601", "TPU604", "TPU605", "TPU7", "TPU8")

PROGRAMS = {
    "metrics put into a dict in a loop": V2
    + """
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
metrics = {}
metrics["loss"] = tf.keras.metrics.Mean()  # error: TPU702
for name in ("one", "other"):
    metrics.update({f"{name}": tf.keras.metrics.Mean()})

@tf.function
def train(x):
    def step(x):
        metrics["loss"].update_state(x)
    strategy.run(step, args=(x,))
""",
    "an optimizer of a helper that is not seen": V1
    + """
from toolbox import clip_gradients_by_norm

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.train.AdamOptimizer(1e-3)
    optimizer = clip_gradients_by_norm(optimizer, 1.0)
    train_op = optimizer.minimize(loss, tf.train.get_global_step())  # possible: TPU604
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR,
    "a helper that runs on every replica": V2
    + """
from helpers import on_every_replica

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

@tf.function
def train(x):
    def step(x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501
    return on_every_replica(strategy, step, x)
# file: helpers.py
def on_every_replica(strategy, fn, *args):
    return strategy.run(fn, args=args)
""",
    "tf.app.run with an argument": V1
    + """
def main(argv):
    def step(x):
        return tf.py_func(abs, [x], tf.float32)  # error: TPU501
    tf.tpu.replicate(step, [[1.0]])

if __name__ == "__main__":
    tf.app.run(main)
""",
    "tf.app.run with a keyword, of a function of another name": V1
    + """
def start(argv):
    def step(x):
        return tf.py_func(abs, [x], tf.float32)  # error: TPU501
    tf.tpu.replicate(step, [[1.0]])

if __name__ == "__main__":
    tf.app.run(main=start)
""",
    "both branches of a model_fn wait": V1
    + """
def model_fn(features, labels, mode, params):
    steps = tf.get_variable("steps", [])

    def on_host(x):
        return steps + x  # error: TPU101

    steps.assign_add(1.0)
    loss = tf.reduce_mean(features)
    seen = tf.tpu.outside_compilation(on_host, loss)
    if mode == tf.estimator.ModeKeys.TRAIN:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss + seen, train_op=tf.no_op())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss + seen)
"""
    + ESTIMATOR,
    "one branch of a model_fn waits": V1
    + """
def model_fn(features, labels, mode, params):
    steps = tf.get_variable("steps", [])

    def on_host(x):
        return steps + x  # possible: TPU101

    steps.assign_add(1.0)
    loss = tf.reduce_mean(features)
    seen = tf.tpu.outside_compilation(on_host, loss)
    if mode == tf.estimator.ModeKeys.TRAIN:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss + seen, train_op=tf.no_op())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + ESTIMATOR,
    "a step from a registry with literal keys": V2
    + """
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())
STEPS = {}

def register(name):
    def put(function):
        STEPS[name] = function
        return function
    return put

@register("plain")
def plain(x):
    return tf.py_function(abs, [x], tf.float32)  # error: TPU501

@tf.function
def train(x):
    return strategy.run(STEPS["plain"], args=(x,))
""",
    "a class passed as a value": V2
    + """
import functools

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

class Trainer:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501

def train_with(kind, x):
    step = kind(0.1)

    @tf.function
    def steps(x):
        return strategy.run(step, args=(x,))
    return steps(x)

train_with(functools.partial(Trainer), 1.0)
""",
    "a forked TPUEstimator": V1
    + """
from forked import TPUEstimator

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.py_func(abs, [features], tf.float32))  # error: TPU501
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

estimator = TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, train_cache_fn=None)
# file: forked.py
import tensorflow.compat.v1 as tf

class TPUEstimator(tf.estimator.Estimator):
    def __init__(self, model_fn=None, model_dir=None, config=None, params=None, use_tpu=True,
                 train_batch_size=None, train_cache_fn=None):
        self._model_fn = model_fn
        super().__init__(model_fn=self._wrap(model_fn), model_dir=model_dir)

    def _wrap(self, model_fn):
        def wrapped(features, labels, mode, config, params):
            return unseen(model_fn)
        return wrapped
""",
    "a forked TPUEstimatorSpec": V1
    + """
from forked import TPUEstimatorSpec

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    metric_fn = lambda rows: {"rows": tf.metrics.mean(loss + rows)}  # error: TPU601
    rows = tf.reduce_mean(features, axis=-1)
    return TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [rows]), more=1)
"""
    + ESTIMATOR
    + """
# file: forked.py
import collections

FIELDS = ["mode", "predictions", "loss", "train_op", "eval_metrics", "more"]

class TPUEstimatorSpec(collections.namedtuple("TPUEstimatorSpec", FIELDS)):
    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metrics=None,
                more=None):
        return super(TPUEstimatorSpec, cls).__new__(cls, mode=mode)
""",
    "a strategy as a parameter with a default of None": V2
    + """
def train(x, strategy=None):
    strategy = strategy or tf.distribute.get_strategy()

    @tf.function
    def steps(x):
        def step(x):
            return tf.py_function(abs, [x], tf.float32)  # error: TPU501
        return strategy.run(step, args=(x,))
    return steps(x)

train(1.0, tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect()))
""",
    "an input function of a callable object of another module": V1
    + """
import readers

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))
"""
    + ESTIMATOR
    + """
estimator.train(readers.Reader(training=True))
# file: readers.py
import tensorflow.compat.v1 as tf

class Reader:
    def __init__(self, training):
        self.training = training

    def __call__(self, params):
        rows = tf.data.Dataset.range(10)
        return rows.batch(params["batch_size"])  # error: TPU605
""",
    "a registry of what modules register that are imported for that alone": V2
    + """
import layers.dense
from layers import registry

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())
layer = registry.LAYERS.find("dense")()

@tf.function
def train(x):
    return strategy.run(layer.run, args=(x,))
# file: layers/registry.py
class Registry:
    def __init__(self):
        self._known = {}

    def register(self, name):
        def put(item):
            self._known[name] = item
            return item
        return put

    def find(self, name):
        if name not in self._known:
            raise KeyError(name)
        return self._known[name]

LAYERS = Registry()
# file: layers/dense.py
import tensorflow as tf
from layers import registry

@registry.LAYERS.register("dense")
class Dense:
    def run(self, x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501

@registry.LAYERS.register("other")
class Other:
    def run(self, x):
        return tf.py_function(max, [x], tf.float32)

class Unused:
    def run(self, x):
        return tf.py_function(min, [x], tf.float32)
""",
    "a property that is read often": V2
    + """
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

class Holder:
    def __init__(self, function):
        self._function = function

    @property
    def function(self):
        return self._function

plain, python = Holder(tf.abs), Holder(tf.py_function)

@tf.function
def train(x):
    def step(x):
"""
    + "        x = plain.function(x)\n" * 24
    + """
        return python.function(abs, [x], tf.float32)  # error: TPU501
    return strategy.run(step, args=(x,))
""",
    "a function that a Keras model makes for `fit`": V2
    + """
class Model(tf.keras.Model):
    def train_step(self, data):
        return {"loss": tf.reduce_mean(data).numpy()}  # error: TPU507

    def _make(self, step):
        def one_step(data):
            return self.distribute_strategy.run(step, args=(data,))
        if not self.run_eagerly:
            one_step = tf.function(one_step)
        def steps(iterator):
            return one_step(next(iterator))
        return steps

    def make_train_function(self, force=False):
        self.train_function = self._make(self.train_step)
        return self.train_function
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fault_is_reported(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


SHOWN_LOOPS = {
    "from tqdm import tqdm": "tqdm(batches)",
    "from tqdm.notebook import tqdm": "tqdm(batches, total=8)",
    "import tqdm": "tqdm.tqdm(iterable=batches)",
}


@pytest.mark.parametrize("line", SHOWN_LOOPS)
def test_a_loop_that_a_bar_shows(line: str, tmp_path: Path) -> None:
    """A missed alarm: what such a loop gives was not known."""
    text = f"""{SYSTEM}{line}

rows = tf.data.Dataset.from_tensor_slices(tf.ones([64, 4])).batch(8, drop_remainder=True)
batches = strategy.experimental_distribute_dataset(rows)
for batch in {SHOWN_LOOPS[line]}:
    print(tf.reduce_mean(batch))  # error: TPU711
"""
    assert reported(text, tmp_path, ["TPU711"]) == expected(text, ["TPU711"])


CONFIGURED = """
# file: gin/__init__.py
# file: train.py
import gin
import tensorflow as tf

@gin.configurable
def make(model=gin.REQUIRED):
    return model

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = make()

@tf.function
def train(x):
    def step(x):
        losses = model(x, training=True)
        return x * losses["total"].numpy()  # error: TPU507
    return strategy.run(step, args=(x,))
train(tf.ones([8]))
"""


def test_what_a_configuration_gives(tmp_path: Path) -> None:
    """A missed alarm: the placeholder, in a folder of the project, was taken for the model."""
    assert reported(CONFIGURED, tmp_path, ["TPU507"]) == expected(CONFIGURED, ["TPU507"])


ITERATED = f"""{SYSTEM}
rows = tf.data.Dataset.from_tensor_slices(tf.ones([64, 4])).batch(8, drop_remainder=True)
batches = strategy.experimental_distribute_dataset(rows)

class Of:
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        return iter(self.data)

class Own:
    def __init__(self, data):
        self.data = iter(data)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.data)

class Generated:
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        for batch in self.data:
            yield batch

class Local(Of):
    def __iter__(self):
        for batch in self.data:
            yield strategy.experimental_local_results(batch)[0]

class Endless:
    def __iter__(self):
        return self

for batch in Of(batches):
    print(tf.reduce_mean(batch))  # error: TPU711
for batch in Own(batches):
    print(tf.reduce_mean(batch))  # error: TPU711
for batch in Generated(batches):
    print(tf.reduce_mean(batch))  # error: TPU711
for batch in Local(batches):
    print(tf.reduce_mean(batch))
for batch in Endless():
    print(tf.reduce_mean(batch))
"""


def test_a_loop_over_an_object_of_the_project(tmp_path: Path) -> None:
    """A missed alarm: what `__iter__` and `__next__` of such classes give was not known."""
    assert reported(ITERATED, tmp_path, ["TPU711"]) == expected(ITERATED, ["TPU711"])


DESCRIBED = f"""{SYSTEM}
total = tf.keras.metrics.Mean.from_config({{"name": "total"}})  # error: TPU702
with strategy.scope():
    inner = tf.keras.metrics.Mean.from_config({{"name": "inner"}})
    turned = tf.keras.layers.RandomRotation.from_config({{"factor": 0.1}})
    model = tf.keras.Sequential([tf.keras.Input([8, 8, 3]), turned])

def step(x):
    total.update_state(model(x, training=True))  # error: TPU501
    inner.update_state(x)

@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.ones([4, 8, 8, 3]))
"""


def test_an_object_of_keras_that_a_configuration_describes(tmp_path: Path) -> None:
    assert reported(DESCRIBED, tmp_path, FAMILIES) == expected(DESCRIBED, FAMILIES)
