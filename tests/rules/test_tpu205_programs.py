"""Programs with TPU205, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, STRATEGY, TRAINED_ESTIMATOR, V1

PROGRAMS = {
    "a function that is meant for the host has no fault of the device": V1
    + """
def logged(x):
    tf.print(x)
    return tf.py_function(lambda y: y, [x], tf.float32)

def computation(x):
    x += tf.tpu.outside_compilation(tf.numpy_function(len, [x], tf.int64))  # error: TPU205
    x += tf.tpu.outside_compilation(logged(x))  # error: TPU205
    return x + tf.py_function(len, [x], tf.float32)  # error: TPU501
"""
    + REWRITTEN,
    "a function of a library returns the host function": V1
    + """
import factory

def computation(x):
    return tf.tpu.outside_compilation(factory.make(x), x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a method that is there to be overridden": V1
    + """
class Model:
    def make(self):
        pass

    def step(self, x):
        return tf.tpu.outside_compilation(self.make(), x * 2.0)  # possible: TPU205

    def build(self):
        return tf.tpu.rewrite(self.step, [tf.zeros([4])])  # error: TPU403
""",
    "a builder that may return None": V1
    + """
def make(flag):
    if flag:
        return tf.floor
    return None

def build(flag):
    host = make(flag)
    return tf.tpu.rewrite(lambda x: tf.tpu.outside_compilation(host, x * 2.0), [tf.zeros([4])])
""",
    "called, not passed, with keywords, in a lambda's body": V1
    + """
def halve(x, by=2.0):
    return x / by

def computation(x):
    return (lambda v: tf.tpu.outside_compilation(halve(v, by=4.0)))(x)  # error: TPU205

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a function that returns what it is given, called, not passed": V1
    + """
def keep(x):
    return x

def computation(x):
    return tf.tpu.outside_compilation(keep(x)) + 1.0  # error: TPU205

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a host function that is filled in later, or is no function": V1
    + """
class Summaries:
    hook = None

    def computation(self, x):
        tf.tpu.outside_compilation(self.hook, x)
        return x

class Images(Summaries):
    pass

images = Images()
tf.tpu.rewrite(lambda x: images.computation(x), [tf.zeros([4])])
""",
    "no host function, or one that is not seen": V1
    + """
def computation(x, arguments):
    tf.tpu.outside_compilation()
    tf.tpu.outside_compilation(*arguments)
    return x

def build(x, arguments):
    return tf.tpu.rewrite(lambda v: computation(v, arguments), [x])
""",
    "a call that may give a function": V1
    + """
import sys

def chosen(x):
    if len(sys.argv) > 1:
        return tf.sin(x)
    return tf.sin

def computation(x):
    return tf.tpu.outside_compilation(chosen(x * 2.0), x)
"""
    + REWRITTEN,
    "the mode of a spec is called for, and no host function": V1
    + """
def mode_of(params):
    return "train"

def record(loss):
    return tf.summary.scalar("loss", loss[0])

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode_of(params), loss=loss, host_call=(record, [tf.reshape(loss, [1])])
    )
"""
    + TRAINED_ESTIMATOR,
    "TensorFlow loads, chooses or makes a host function": V1
    + """
def computation(x):
    x += tf.tpu.outside_compilation(tf.saved_model.load("gs://models/1"), x)
    x += tf.tpu.outside_compilation(tf.keras.losses.get("mse"), x, x)
    return tf.tpu.outside_compilation(tf.glorot_uniform_initializer(), x)
"""
    + REWRITTEN,
    "a step is called before run": STRATEGY
    + """
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
total = tf.Variable(0.0)

def double(x, by=2.0):
    return x * by

def log(x):
    tf.summary.scalar("x", x)

def losses(x):
    return {"loss": double(x)}

@tf.function
def step(x):
    strategy.run(double(x))  # error: TPU205
    strategy.run(fn=double(x, by=3.0))  # error: TPU205
    strategy.run(losses(x))  # error: TPU205
    strategy.run(tf.reduce_mean(x))  # error: TPU205
    strategy.run(total.assign_add(x))  # error: TPU205
    strategy.run(log(x))  # error: TPU205
    try:
        strategy.run(model(x))  # possible: TPU205
    except TypeError:
        pass

step(tf.zeros([]))
""",
    "a strategy that may be another one": """
import tensorflow as tf
import tpu_helpers

strategy = tpu_helpers.get_strategy()

def double(x):
    return x * 2.0

@tf.function
def step(x):
    return strategy.run(double(x))  # possible: TPU205

step(tf.zeros([]))
""",
    "a call gives the function that run calls": STRATEGY
    + """
import functools
import library

class Trainer:
    def train_step(self, x):
        return x

    def step_of(self, mode):
        return self.train_step if mode else library.eval_step

    def overridden(self):
        raise NotImplementedError

class Doubled:
    def __call__(self, x):
        return x * 2.0

def traced(function):
    return tf.function(function)

def make_step(factor):
    return lambda x: x * factor

def chosen(x):
    return tf.sin if library.flag else tf.sin(x)

trainer = Trainer()

@tf.function
def step(x):
    strategy.run(make_step(2.0), args=(x,))
    strategy.run(chosen(x), args=(x,))
    strategy.run(functools.partial(make_step, x))
    strategy.run(trainer.step_of("train"), args=(x,))
    strategy.run(trainer.overridden(), args=(x,))
    strategy.run(traced(trainer.train_step), args=(x,))
    strategy.run(tf.function(trainer.train_step).get_concrete_function(x), args=(x,))
    strategy.run(Doubled(), args=(x,))
    strategy.run(dict(train=trainer.train_step).get("train"), args=(x,))
    strategy.run(library.make(x), args=(x,))
    strategy.run(tf.saved_model.load("gs://models/1"), args=(x,))
    strategy.run(tf.keras.models.load_model("gs://models/1"), args=(x,))
    strategy.run(tf.keras.activations.get("relu"), args=(x,))
    strategy.run(tf.keras.regularizers.l2(0.1), args=(x,))
    strategy.run(tf.keras.backend.function([x], [x]), args=(x,))

step(tf.zeros([2]))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
