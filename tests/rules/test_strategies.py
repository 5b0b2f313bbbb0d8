"""What TPU7xx must not say, and must say, of strategies, their scopes and their `run`.

A mark in a program is what is said, and how sure. Names of programs tell what they stand for.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

TPU = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""

SILENT = {
    "a test that also runs its step eagerly, in a project without a TPU": """
import tensorflow as tf

def test_distribute(strategy, dataset):
    batches = strategy.experimental_distribute_dataset(dataset)
    for batch in batches:
        strategy.run(lambda each: tf.reduce_mean(each), args=(batch,))
""",
    "one of two functions is traced, a flag says which": TPU
    + """
def step(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))

def main(use_function):
    chosen = tf.function(step) if use_function else step
    chosen(tf.ones([4]))
""",
    "the step of a trainer whose callers are not seen": """
import tensorflow as tf

class Trainer:
    def __init__(self, tpu):
        self.strategy = tf.distribute.TPUStrategy(tpu)

    def train_step(self, x):
        self.strategy.run(lambda each: each * 2.0, args=(x,))
""",
    "run in a function of tf.data, which is traced": TPU
    + """
def doubled(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))

dataset = tf.data.Dataset.range(4).map(doubled)
""",
    "a variable of the host that the step is given and reads": TPU
    + """
@tf.function
def train_step(x, step):
    strategy.run(lambda each, now: each * now, args=(x, step))

def main():
    step = tf.Variable(0.0)
    for number in range(4):
        step.assign(number)
        train_step(tf.ones([4]), step)

main()
""",
    "a metric of the host in one dict with those of the step": TPU
    + """
with strategy.scope():
    metrics = {"train/loss": tf.keras.metrics.Mean(), "train/accuracy": tf.keras.metrics.Mean()}
metrics.update({"train/seconds": tf.keras.metrics.Mean()})

@tf.function
def train_step(x, names):
    def step_fn(each):
        for name in names:
            metrics[name].update_state(each)
    strategy.run(step_fn, args=(x,))
""",
    "a scope that is entered by hand": TPU
    + """
scope = strategy.scope()
scope.__enter__()
optimizer = tf.keras.optimizers.Adam()

@tf.function
def train_step(x, variables):
    def step_fn(each):
        optimizer.apply_gradients(zip([each], variables))
    strategy.run(step_fn, args=(x,))
""",
    "a scope in a context manager that is not seen": """
import tensorflow as tf
from library import distribution

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
with distribution.scope_of(strategy):
    optimizer = tf.keras.optimizers.Adam()

@tf.function
def train_step(x, variables):
    def step_fn(each):
        optimizer.apply_gradients(zip([each], variables))
    strategy.run(step_fn, args=(x,))
""",
    "a stop variable in the graph of an estimator": """
import tensorflow as tf

class Hook:
    def begin(self):
        stop = tf.compat.v1.get_variable("stop", initializer=0)
        strategy = tf.distribute.get_strategy()

        def stop_fn(variable):
            return variable.assign_add(tf.compat.v1.placeholder(tf.int32, []))

        self.stop = strategy.run(stop_fn, args=(stop,))
""",
    "an optimizer made by a function that another module calls under the scope": """
import tensorflow as tf

def train(strategy, model):
    optimizer = tf.keras.optimizers.Adam()

    @tf.function
    def train_step(x):
        def step_fn(each):
            optimizer.apply_gradients(zip([each], model.trainable_variables))
        strategy.run(step_fn, args=(x,))

    return train_step
""",
    "plain SGD has no slots": TPU
    + """
optimizer = tf.keras.optimizers.SGD(0.1)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

@tf.function
def train_step(x):
    def step_fn(each):
        optimizer.apply_gradients(zip([each], model.trainable_variables))
    strategy.run(step_fn, args=(x,))
""",
}

SILENT |= {
    "a decorator of a library may make a tf.function": TPU
    + """
import library

@library.compiled(reduce_retracing=True)
def train_step(x):
    strategy.run(lambda each: each * 2.0, args=(x,))

@library.compiled
def replica_step(x):
    return x * 2.0

train_step(tf.ones([4]))
strategy.run(replica_step, args=(tf.ones([4]),))
""",
    "a decorator of the project makes one, perhaps": TPU
    + """
def maybe_function(function):
    return tf.function(function) if tf.config.list_logical_devices("TPU") else function

@maybe_function
def train_step(x):
    strategy.run(lambda each: each * 2.0, args=(x,))

train_step(tf.ones([4]))
""",
    "a method is wrapped where its object is made": TPU
    + """
class Trainer:
    def __init__(self):
        self.step = tf.function(self._step)

    def _step(self, x):
        strategy.run(lambda each: each * 2.0, args=(x,))

trainer = Trainer()
trainer.step(tf.ones([4]))
""",
    "a scope around an evaluation, which is called in a loop over checkpoints": TPU
    + """
def evaluate(dataset):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

        @tf.function
        def predict(x):
            return strategy.run(lambda each: model(each), args=(x,))

        for batch in dataset:
            predict(batch)

def main(dataset, checkpoints):
    for _ in checkpoints:
        evaluate(dataset)
""",
    "the scope in a loop of a test without a TPU": """
import tensorflow as tf

def test_steps(strategy, dataset):
    for batch in strategy.experimental_distribute_dataset(dataset):
        with strategy.scope():
            strategy.run(lambda each: tf.reduce_mean(each), args=(batch,))
""",
    "a strategy is returned by one branch, and the system initialized in the other": """
import tensorflow as tf

def build(kind, resolver):
    if kind == "partitioned":
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)
""",
    "a nested function is called in a loop or once": """
import tensorflow as tf

def start(workers, resolver):
    def wait(job=None):
        return tf.tpu.experimental.initialize_tpu_system(resolver)

    if len(workers) > 1:
        for worker in workers:
            wait(worker)
    else:
        wait(None)
""",
}

REPORTED = {
    "decorators that trace nothing": TPU
    + """
import gin

@gin.configurable("step")
def train_step(x):
    strategy.run(lambda each: each * 2.0, args=(x,))  # error: TPU701

@gin.configurable
def main():
    train_step(tf.ones([4]))

main()
""",
    "a function without a tf.function in the loop of a script, another one with": TPU
    + """
@tf.function
def traced(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))

def plain(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))  # error: TPU701

for batch in range(4):
    traced(batch)
    plain(batch)
""",
    "before Keras 3 an optimizer took the strategy of its first use": """
# file: requirements.txt
tensorflow==2.8.0
# file: train.py
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
optimizer = tf.keras.optimizers.Adam()  # possible: TPU702
total = tf.keras.metrics.Mean()  # error: TPU702

@tf.function
def train_step(x, variables):
    def step_fn(each):
        optimizer.apply_gradients(zip([each], variables))
        total.update_state(each)
    strategy.run(step_fn, args=(x,))
""",
    "a model of another module, which knows no strategy": """
# file: models.py
import tensorflow as tf

def linear(features):
    inputs = tf.keras.layers.Input([features])
    return tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
# file: train.py
import models
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
model = models.linear(4)  # error: TPU702
with strategy.scope():
    optimizer = tf.keras.optimizers.SGD(0.1)

@tf.function
def train_step(x):
    def step_fn(each):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(each))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    strategy.run(step_fn, args=(x,))
""",
    "functools.partial of a tf.function is no tf.function": TPU
    + """
import functools

@tf.function
def step(x, scale):
    return x * scale

strategy.run(functools.partial(step, scale=2.0), args=(tf.ones([4]),))  # error: TPU701
""",
    "names of TensorFlow 1 with version 2 behavior": """
import tensorflow.compat.v1 as tf

tf.enable_v2_behavior()
resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
strategy = tf.distribute.experimental.TPUStrategy(resolver)
strategy.run(lambda: tf.ones([4]))  # error: TPU701
""",
    "an optimizer of either kind is made outside": TPU
    + """
def make(name):
    if name == "adam":
        return tf.keras.optimizers.Adam()
    return tf.keras.optimizers.RMSprop()

def main(name):
    optimizer = make(name)  # possible: TPU702

    @tf.function
    def train_step(x, variables):
        def step_fn(each):
            optimizer.apply_gradients(zip([each], variables))
        strategy.run(step_fn, args=(x,))

    train_step(tf.ones([4]), [])
""",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU7"]) == []


@pytest.mark.parametrize("text", REPORTED.values(), ids=REPORTED)
def test_what_is_marked_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU7"]) == expected(text, ["TPU7"])
