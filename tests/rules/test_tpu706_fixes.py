"""The text that the fixes of TPU706 write."""

from __future__ import annotations

from pathlib import Path

from tests.rules.fixing import assert_fixed

EAGER = """\

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile({arguments})
model.fit(tf.zeros([8, 1]), tf.zeros([8, 1]), batch_size=8)
"""
STEP = """\


def step(x):
    return x


@tf.function
def train(x):
    return strategy.run(step, args=(x,))


train(tf.constant(1.0))
"""


def test_run_eagerly_is_dropped(tmp_path: Path) -> None:
    before = EAGER.format(arguments='"sgd", "mse", run_eagerly=True')
    assert_fixed(before, EAGER.format(arguments='"sgd", "mse"'), "TPU706", tmp_path)


def test_functions_are_not_run_eagerly(tmp_path: Path) -> None:
    before = "tf.config.run_functions_eagerly(True)\n" + STEP
    assert_fixed(before, before.replace("True", "False"), "TPU706", tmp_path)


def test_another_argument_is_left_alone(tmp_path: Path) -> None:
    arguments = 'tf.keras.optimizers.SGD(nesterov=True), "mse", None, None, None, {}'
    before, fixed = arguments.format("True"), arguments.format("False")
    assert_fixed(EAGER.format(arguments=before), EAGER.format(arguments=fixed), "TPU706", tmp_path)
