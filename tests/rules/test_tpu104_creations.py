"""Objects that own variables, and guards that create them once (TPU104)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, certainties, expected, reported
from tests.rules.openings import STRATEGY

STEP = """
import keras as alone
import library
import tensorflow_models as tfm

def train(keras):
    @tf.function
    def train_step(x):
        strategy.run(lambda each: {}, args=(x,))

    train_step(tf.ones([4]))
"""
# The statement of a step: True where it creates an object that should be created once.
MADE = {
    "tf.Variable(each)": True,
    "tf.keras.layers.Dense(4)(each)": True,
    "tf.keras.layers.Dense(4)": False,
    'tf.keras.layers.experimental.EinsumDense("ab,bc->ac", 4)(each)': True,
    "alone.layers.Dense(4)(each)": True,
    "alone.Sequential([])(each)": False,
    "tf.keras.layers.Flatten()(each)": False,
    "tf.keras.optimizers.Adam()": True,
    'tf.keras.optimizers.get("adam")': False,
    "tf.keras.metrics.Mean()": True,
    "tf.random.Generator.from_seed(1)": True,
    "tf.random.experimental.Generator.from_non_deterministic_state()": True,
    'tf.random.Generator([1], alg="philox")': True,
    "tf.random.get_global_generator().normal([4])": False,
    "tf.random.create_rng_state(1, 1)": False,
    "library.random.Generator.from_seed(1)": False,
    "tf.keras.metrics.mean_squared_error(each, each)": False,
    "tf.keras.losses.MeanSquaredError()(each, each)": False,
    "tf.compat.v1.layers.Dense(4)(each)": False,
    "tf.compat.v1.train.AdamOptimizer()": False,
    "tfm.optimizers.LAMB()": False,
    "library.layers.Dense(4)(each)": False,
    "keras.layers.Dense(4)(each)": False,
    "keras.optimizers.Adam()": False,
    "Dense(4)(each)": False,
    "tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, -1, -2)": False,
    "tf.queue.FIFOQueue(8, [tf.float32])": False,
}
NET = """
@tf.function
def train_step(net, x):
    strategy.run(net.step, args=(x,))

train_step(Net(), tf.ones([4]))
"""
ONCE = {
    "under a test of what it is kept in": STRATEGY
    + """
class Net:
    kernel = None

    def step(self, x):
        if self.kernel is None:
            self.kernel = tf.Variable(1.0)
        return x * self.kernel
"""
    + NET,
    "under a test of what a caller gives": STRATEGY
    + """
def step(x, state):
    if not state.built:
        state.kernel = tf.Variable(1.0)
    return x

def train(x, state):
    @tf.function
    def train_step(x):
        strategy.run(step, args=(x, state))

    train_step(x)
""",
    "in a helper of `build`": STRATEGY
    + """
class Net:
    def build(self):
        self.make()

    def make(self):
        self.kernel = tf.Variable(1.0)

    def step(self, x):
        self.build()
        return x * self.kernel
"""
    + NET,
    "in a helper that is not of `build`": STRATEGY
    + """
class Net:
    def make(self):
        self.kernel = tf.Variable(1.0)  # error: TPU104

    def step(self, x):
        self.make()
        return x * self.kernel
"""
    + NET,
    "in a step that `build` runs": STRATEGY
    + """
class Net:
    @tf.function
    def build(self, x):
        strategy.run(lambda each: tf.Variable(each), args=(x,))  # error: TPU104

Net().build(tf.ones([4]))
""",
    "in a step that is run eagerly, by nobody's tf.function": STRATEGY
    + """
strategy.run(lambda each: tf.Variable(each), args=(tf.ones([4]),))
""",
    "in a step that somebody's tf.function may be around": STRATEGY
    + """
def train_step(x):
    strategy.run(lambda each: tf.Variable(each), args=(x,))  # possible: TPU104
""",
    "in a step by the name that was TensorFlow 1's": STRATEGY
    + """
def train_step(x):
    strategy.experimental_run_v2(lambda each: tf.Variable(each), args=(x,))
""",
}


@pytest.mark.parametrize("creation", MADE)
def test_objects_that_own_variables_are_reported(creation: str, tmp_path: Path) -> None:
    assert certainties(STRATEGY + STEP.format(creation), tmp_path, "TPU104") == (
        ["definite"] if MADE[creation] else []
    )


@pytest.mark.parametrize("text", ONCE.values(), ids=ONCE)
def test_a_variable_that_is_created_once_is_silent(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU104"]) == expected(text, ["TPU104"])


# What is there is asked for with `is not None` and `in`: only the other answer is the first time's.
EACH_TIME = """
class Net(tf.Module):
    def __init__(self, units, parts):
        self.units = units
        self.parts = parts
        self.kept = None
        self.cache = {}

    def step(self, x):
        if self.units is None:
            raise ValueError("no units")
        if self.units is not None:
            x = tf.keras.layers.Dense(self.units)(x)  # error: TPU104
        if "head" in self.parts:
            x = tf.keras.layers.Dense(4)(x)  # possible: TPU104
        if "kernel" not in self.cache:
            self.cache["kernel"] = tf.Variable(1.0)
        if self.kept is not None:
            return self.kept(x)
        self.kept = tf.keras.layers.Dense(4)
        return self.kept(x)

def main(units, parts):
    @tf.function
    def train_step(net, x):
        strategy.run(net.step, args=(x,))

    train_step(Net(units, parts), tf.ones([4]))

main(tf.io.read_file("a"), tf.io.read_file("b"))
"""


def test_the_answer_that_is_not_the_first_times_guards_nothing(tmp_path: Path) -> None:
    assert_marked(STRATEGY + EACH_TIME, tmp_path)
