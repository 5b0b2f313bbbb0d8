"""The certainty that an object was made under no scope and that device code needs one.

A mark in a program is what TPU702 says, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties, expected, reported
from tests.rules.openings import SYSTEM

# The device applies gradients to `kernel`; a variable or an optimizer of the scope beside it.
TRAIN = """
@tf.function
def train_step(x):
    strategy.run(lambda each: optimizer.apply_gradients([(each, kernel)]), args=(x,))
"""
KERNEL = """
with strategy.scope():
    kernel = tf.Variable(1.0)
"""
ADD = """
@tf.function
def train_step(x):
    strategy.run(lambda each: total.assign_add(each), args=(x,))
"""
READ = """
@tf.function
def train_step(x):
    strategy.run(lambda each: total * each, args=(x,))
"""
IN_A_FUNCTION = """
    @tf.function
    def train_step(x):
        strategy.run(lambda each: optimizer.apply_gradients([(each, kernel)]), args=(x,))

    train_step(x)
"""

OPTIMIZERS = {
    "the strategy is made in a function that nothing calls": """
import tensorflow as tf

def train(x):
    strategy = tf.distribute.TPUStrategy()
    optimizer = tf.keras.optimizers.Adam()  # error: TPU702
    with strategy.scope():
        kernel = tf.Variable(1.0)
"""
    + IN_A_FUNCTION,
    "the caller's strategy: its scope may be open": """
import tensorflow as tf

def train(x):
    strategy = tf.distribute.get_strategy()
    optimizer = tf.keras.optimizers.Adam()
    kernel = tf.Variable(1.0)
"""
    + IN_A_FUNCTION,
    "the default strategy of a module, found in notebooks of Tweet-Sentiment-Extraction": """
import tensorflow as tf

strategy = tf.distribute.get_strategy()
kernel = tf.Variable(1.0)

@tf.function
def train_step(x):
    strategy.run(lambda each: optimizer.apply_gradients([(each, kernel)]), args=(x,))

optimizer = tf.keras.optimizers.Adam()
train_step(tf.zeros([8]))
""",
    "the module's strategy: a caller may have entered its scope": SYSTEM
    + """
def train(x):
    optimizer = tf.keras.optimizers.Adam()
    kernel = tf.Variable(1.0)
"""
    + IN_A_FUNCTION,
    "the function enters the scope itself, so that its caller hardly has": SYSTEM
    + """
def train(x):
    optimizer = tf.keras.optimizers.Adam()  # possible: TPU702
    with strategy.scope():
        kernel = tf.Variable(1.0)
"""
    + IN_A_FUNCTION,
    "a helper enters the scope": SYSTEM
    + """
def make():
    with strategy.scope():
        return tf.Variable(1.0)

def train(x):
    optimizer = tf.keras.optimizers.Adam()
    kernel = make()
"""
    + IN_A_FUNCTION,
    "a constructor that nothing calls": SYSTEM
    + """
class Trainer:
    def __init__(self):
        self.optimizer = tf.keras.optimizers.Adam()
        with strategy.scope():
            self.kernel = tf.Variable(1.0)

    @tf.function
    def train_step(self, x):
        strategy.run(self.step, args=(x,))

    def step(self, x):
        self.optimizer.apply_gradients([(x, self.kernel)])
""",
    "one of two functions makes it": SYSTEM
    + KERNEL
    + """
import sys

def under_the_scope():
    with strategy.scope():
        return tf.keras.optimizers.Adam()

def alone():
    return tf.keras.optimizers.Adam()

optimizer = {"scope": under_the_scope, "alone": alone}[sys.argv[1]]()
"""
    + TRAIN,
    "what makes it enters the scope itself, later": SYSTEM
    + """
def make():
    optimizer = tf.keras.optimizers.Adam()  # error: TPU702
    with strategy.scope():
        return optimizer, tf.Variable(1.0)

optimizer, kernel = make()
with strategy.scope():
    total = tf.Variable(0.0)
"""
    + TRAIN,
    "what makes it never enters the scope": SYSTEM
    + KERNEL
    + """
def make():
    return tf.keras.optimizers.Adam()

optimizer = make()  # error: TPU702
"""
    + TRAIN,
    "it is only asked for its settings": SYSTEM
    + """
optimizer = tf.keras.optimizers.Adam()

@tf.function
def train_step(x):
    strategy.run(lambda each: optimizer.get_config(), args=(x,))
""",
    "the host applies it": SYSTEM
    + """
optimizer = tf.keras.optimizers.Adam()
kernel = tf.Variable(1.0)

def step(x):
    tf.tpu.outside_compilation(lambda v: optimizer.apply_gradients([(v, kernel)]), x)

@tf.function
def train_step(x):
    strategy.run(step, args=(x,))
""",
    "a graph of TensorFlow 1": SYSTEM
    + """
with tf.Graph().as_default():
    optimizer = tf.keras.optimizers.Adam()
    kernel = tf.Variable(1.0)
    strategy.run(lambda each: optimizer.apply_gradients([(each, kernel)]), args=(x,))
""",
    "a stack enters the scope": SYSTEM
    + """
import contextlib

stack = contextlib.ExitStack()
stack.enter_context(strategy.scope())
optimizer = tf.keras.optimizers.Adam()
kernel = tf.Variable(1.0)
"""
    + TRAIN,
    "a class that TensorFlow repeats": SYSTEM
    + KERNEL
    + """
schedule = tf.optimizers.schedules.ExponentialDecay(0.1, 100, 0.5)
optimizer = tf.optimizers.Adam(schedule)  # error: TPU702
"""
    + TRAIN,
    "a class that TensorFlow repeats, under the scope": SYSTEM
    + KERNEL
    + """
    optimizer = tf.optimizers.Adam(0.1)
unused = tf.optimizers.Adam(0.1)
"""
    + TRAIN,
    "a stack enters something else": SYSTEM
    + KERNEL
    + """
import contextlib

stack = contextlib.ExitStack()
stack.enter_context(open("log"))
optimizer = tf.keras.optimizers.Adam()  # error: TPU702
"""
    + TRAIN,
    "the strategy is set for the whole process": SYSTEM
    + """
tf.distribute.experimental_set_strategy(strategy)
optimizer = tf.keras.optimizers.Adam()
kernel = tf.Variable(1.0)
"""
    + TRAIN,
    "a library is given the scope": SYSTEM
    + KERNEL
    + """
import library

library.describe(strategy.scope())
optimizer = tf.keras.optimizers.Adam()  # error: TPU702
"""
    + TRAIN,
}
VARIABLES = {
    "the device updates it": SYSTEM
    + """
kernel = tf.Variable(1.0)  # error: TPU702
with strategy.scope():
    optimizer = tf.keras.optimizers.Adam()
"""
    + TRAIN,
    "the host has it, too": SYSTEM
    + """
total = tf.Variable(1.0)

def step(x):
    total.assign_add(x)
    tf.tpu.outside_compilation(lambda v: total.assign(v), x)

@tf.function
def train_step(x):
    strategy.run(step, args=(x,))
""",
    "the device writes it": SYSTEM + "total = tf.Variable(1.0)  # possible: TPU702\n" + ADD,
    "a manager of a library may enter the scope": SYSTEM
    + """
from library import distribution

with distribution.scope_of(strategy):
    total = tf.Variable(1.0)
"""
    + ADD,
    "the device reads it": SYSTEM + "total = tf.Variable(1.0)\n" + READ,
    "the device reads it from a CPU": SYSTEM
    + """
with tf.device("/cpu:0"):
    total = tf.Variable(1.0)  # possible: TPU702
"""
    + READ,
    "the device reads it from a TPU": SYSTEM
    + """
with tf.device("/TPU:0"):
    total = tf.Variable(1.0)
"""
    + READ,
    "the device reads it from a device that is not seen": SYSTEM
    + """
with tf.device(tf.config.list_logical_devices("CPU")[0]):
    total = tf.Variable(1.0)
"""
    + READ,
    "the device reads the global step": SYSTEM
    + """
total = tf.compat.v1.train.get_or_create_global_step()
"""
    + READ,
}

MODEL_OF_SEVERAL = (
    SYSTEM
    + """
import argparse

args = argparse.ArgumentParser().parse_args()
model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])

class Untrained:
    def apply_gradients(self, pairs):
        return None

with strategy.scope():
    optimizer = {optimizer}
    if args.half:
        optimizer = {wrapped}

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8, 4]))
"""
)
SCALED = "tf.keras.mixed_precision.LossScaleOptimizer(optimizer)"
TABLE = '{"a": tf.keras.optimizers.Adam, "b": tf.keras.optimizers.SGD}[args.name](0.1)'
# The optimizer, what a setting puts in its place, and the certainty of the finding.
UPDATED_BY = [
    ("tf.keras.optimizers.Adam(0.1)", SCALED, "definite"),
    (TABLE, SCALED, "definite"),
    (TABLE, "Untrained()", ""),
]


@pytest.mark.parametrize(("optimizer", "wrapped", "certainty"), UPDATED_BY)
def test_the_model_that_one_of_several_optimizers_updates(
    optimizer: str, wrapped: str, certainty: str, tmp_path: Path
) -> None:
    text = MODEL_OF_SEVERAL.replace("{optimizer}", optimizer).replace("{wrapped}", wrapped)
    assert certainties(text, tmp_path, "TPU702") == [it for it in [certainty] if it]


# What the step updates of the model, and the certainty of the finding.
UPDATED = {
    "list(set(model.trainable_variables))": "definite",
    "frozenset(model.trainable_variables)": "definite",
    "sorted(set(model.trainable_variables), key=str)": "definite",
    "list(set([kernel]))": "",
    "set(model.trainable_variables) and [kernel]": "",
}


@pytest.mark.parametrize("weights", UPDATED)
def test_the_variables_that_a_set_holds(weights: str, tmp_path: Path) -> None:
    text = MODEL_OF_SEVERAL.replace("{wrapped}", SCALED)
    optimizer = "tf.keras.optimizers.Adam(0.1)\n    kernel = tf.Variable(1.0)"
    text = text.replace("{optimizer}", optimizer)
    text = text.replace("weights = model.trainable_variables", f"weights = {weights}")
    assert certainties(text, tmp_path, "TPU702") == [it for it in [UPDATED[weights]] if it]


@pytest.mark.parametrize("text", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_optimizer_of_a_step(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU702"]) == expected(text, ["TPU702"])


@pytest.mark.parametrize("text", VARIABLES.values(), ids=VARIABLES)
def test_a_variable_of_a_step(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU702"]) == expected(text, ["TPU702"])
