"""The first and last lines of programs with Keras models, and the marks that they need."""

from __future__ import annotations

from tests.rules.openings import SYSTEM

FAMILIES = ["TPU5"]
OPENING = (
    SYSTEM
    + """
import sys

keras = tf.keras
layers = keras.layers


class Loud(layers.Layer):
    def call(self, x):
        tf.print(x)  # error: TPU501
        return x


class Quiet(layers.Layer):
    def call(self, x):
        return x * 2.0


def loud(x):
    tf.print(x)  # error: TPU501
    return x


def loss_of(y_true, y_pred):
    tf.print(y_pred)  # error: TPU501
    return tf.reduce_mean(tf.square(y_true - y_pred), axis=-1)


"""
)
RUN = """

@tf.function
def train(x):
    return strategy.run(lambda x: model(x, training=True), args=(x,))
"""
FIT = """

model.fit(tf.ones([8, 3]), tf.ones([8, 1]))
"""
COMPILED = """
    model.compile("sgd", "mse")
"""
MARK = "# error: TPU501"


def used(text: str) -> str:
    """Return the program with the marks of what it does not use taken away."""
    after = text.partition("return tf.reduce_mean(tf.square(y_true")[2]
    rows = []
    owner = ""
    for row in text.split("\n"):
        if row.startswith(("class ", "def ")):
            owner = row.split()[1].partition("(")[0]
        unused = owner in ("Loud", "loud", "loss_of") and owner not in after
        rows.append(row.replace(f"  {MARK}", "") if unused else row)
    return "\n".join(rows)
