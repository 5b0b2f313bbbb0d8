"""Losses, metrics and schedules given to `compile`, and parts of steps, are device code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.idioms.keras_programs import FAMILIES, FIT, MARK, OPENING, used

MODEL = """
with strategy.scope():
    model = keras.Sequential([layers.Dense(1)])
"""
# The end of a class `Classifier`, and its training.
COMPILED = """
    def call(self, x):
        return x


with strategy.scope():
    model = Classifier()
    model.compile("sgd", loss_of)
model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
"""
GIVEN = {
    "a loss": ('    model.compile("sgd", loss_of)', True),
    "a loss in a dict": ('    model.compile("sgd", loss={"y": loss_of})', True),
    "a metric": ('    model.compile("sgd", "mse", metrics=["mae", loss_of])', True),
    "a lambda": (
        '    model.compile("sgd", loss=lambda y, p: tf.reduce_mean(loud(p)))',
        True,
    ),
    "a loss of a class": (
        """
    class Loss(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return loud(y_pred)

    model.compile("sgd", loss=Loss())
""",
        True,
    ),
    "a metric of a class": (
        """
    class Metric(keras.metrics.Metric):
        def __init__(self):
            super().__init__()
            self.total = self.add_weight(name="total")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.total.assign_add(tf.reduce_sum(loud(y_pred)))

        def result(self):
            return self.total

    model.compile("sgd", "mse", metrics=[Metric()])
""",
        True,
    ),
    "a schedule": (
        """
    class Schedule(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return loud(step)

    model.compile(keras.optimizers.SGD(Schedule()), "mse")
""",
        True,
    ),
    "a callback": (
        """
    class Callback(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            tf.print(epoch)

    model.compile("sgd", "mse")
    model.fit(tf.ones([8, 3]), tf.ones([8, 1]), callbacks=[Callback()])
""",
        False,
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_compile_is_given_is_device_code(name: str, tmp_path: Path) -> None:
    arguments, on_device = GIVEN[name]
    text = used(OPENING + MODEL + arguments + FIT)
    assert (MARK in text) is on_device
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


STEPS = {
    "the compiled loss in a custom training step": """
class Classifier(keras.Model):
    def train_step(self, data):
        x, y = data
        return {"loss": self.compiled_loss(y, self(x))}
"""
    + COMPILED,
    "the step of Keras in a custom training step": """
class Classifier(keras.Model):
    def train_step(self, data):
        return super().train_step(data)
"""
    + COMPILED,
    "the compiled loss, by the model's attribute, in a loop of one's own": """
with strategy.scope():
    model = keras.Sequential([layers.Dense(1)])
    model.compile(model.optimizer, loss_of)


@tf.function
def train(x):
    return strategy.run(lambda x: model.loss(x, model(x)), args=(x,))


train(tf.ones([8, 3]))
""",
    "compile of one's own": """
class Classifier(keras.Model):
    def compile(self, optimizer, loss_fn):
        super().compile(optimizer)
        self.loss_fn = loss_fn

    def train_step(self, data):
        x, y = data
        return {"loss": self.loss_fn(y, x)}


with strategy.scope():
    model = Classifier()
    model.compile("sgd", loss_fn=loss_of)
model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
""",
    "a loss of one's own model": """
class Classifier(keras.Model):
    def call(self, x):
        return x

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return tf.reduce_mean(loud(y_pred))


with strategy.scope():
    model = Classifier()
    model.compile("sgd")
model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
""",
}


@pytest.mark.parametrize("name", STEPS)
def test_parts_of_a_step_are_device_code(name: str, tmp_path: Path) -> None:
    text = used(OPENING + STEPS[name])
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES) != []
