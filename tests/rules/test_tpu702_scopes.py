"""Alarms and silence of TPU702 for objects made outside a strategy's scope.

A mark in a program is the finding that is expected there, with its certainty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, expected, reported
from tests.rules.openings import SYSTEM

STEP_OF_BOTH = """
@tf.function
def train_step(x, variables):
    def step_fn(each):
        optimizer.apply_gradients(zip([each], variables))
        total.update_state(each)
    strategy.run(step_fn, args=(x,))
"""

SILENT = {
    "a variable of the host that the step is given and reads": SYSTEM
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
    "a metric of the host in one dict with those of the step": SYSTEM
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
    "a scope that is entered by hand": SYSTEM
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
    "plain SGD has no slots": SYSTEM
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

REPORTED = {
    "before Keras 3 an optimizer took the strategy of its first use": """
# file: requirements.txt
tensorflow==2.8.0
# file: train.py
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
optimizer = tf.keras.optimizers.Adam()
total = tf.keras.metrics.Mean()  # error: TPU702
"""
    + STEP_OF_BOTH,
    "either Keras may be installed": """
# file: requirements.txt
tensorflow>=2.8
# file: train.py
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
optimizer = tf.keras.optimizers.Adam()  # possible: TPU702
total = tf.keras.metrics.Mean()  # error: TPU702
"""
    + STEP_OF_BOTH,
    "a missed alarm: a metric that is called": SYSTEM
    + """
total = tf.keras.metrics.Mean()  # error: TPU702
told = tf.keras.metrics.Mean()
with strategy.scope():
    inside = tf.keras.metrics.Mean()

@tf.function
def train_step(x):
    def step_fn(x):
        total(x)
        inside(x)
    strategy.run(step_fn, args=(x,))

train_step(tf.ones([4]))
told(total.result() + inside(1.0))
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
            loss = tf.reduce_mean(model(each)) / strategy.num_replicas_in_sync
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    strategy.run(step_fn, args=(x,))
""",
    "an optimizer of either kind is made outside": SYSTEM
    + """
def make(name):
    if name == "adam":
        return tf.keras.optimizers.Adam()
    return tf.keras.optimizers.RMSprop()

def main(name):
    optimizer = make(name)  # error: TPU702

    @tf.function
    def train_step(x, variables):
        def step_fn(each):
            optimizer.apply_gradients(zip([each], variables))
        strategy.run(step_fn, args=(x,))

    train_step(tf.ones([4]), [])
""",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_a_sound_program_is_silent(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU7"]) == []


@pytest.mark.parametrize("text", REPORTED.values(), ids=REPORTED)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU7"]) == expected(text, ["TPU7"])


COMPILED_UNDER = (
    SYSTEM
    + """
mirrored = tf.distribute.MirroredStrategy()

def loss(y, p):
    return tf.reduce_mean(y.numpy() - p){read}

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)]){made}
with {scope}:
    model.compile("adam", loss)
model.fit(tf.ones([64, 4]), tf.ones([64, 1]), batch_size=32)
"""
)


@pytest.mark.parametrize(
    ("scope", "made", "read"),
    [
        ("strategy.scope()", "  # error: TPU702", "  # error: TPU507"),
        ("mirrored.scope()", "  # error: TPU702", ""),
    ],
)
def test_what_else_is_wrong_with_a_model_compiled_under_the_scope(
    scope: str, made: str, read: str, tmp_path: Path
) -> None:
    """The steps are the TPU's once the model is made under the scope, too."""
    assert_marked(COMPILED_UNDER.format(scope=scope, made=made, read=read), tmp_path)
