"""The text that the fix of TPU702 writes, and where there is none."""

from __future__ import annotations

from pathlib import Path

from tests.rules.fixing import assert_fixed

MODEL = """\


def train(rows):
    {made}
    with strategy.scope():
        model.compile("sgd", "mse")
    model.fit(rows)


train(tf.data.Dataset.range(8).batch(8, drop_remainder=True))
"""


def test_a_model_is_made_under_the_scope(tmp_path: Path) -> None:
    model = "model = tf.keras.Sequential(\n        [tf.keras.layers.Dense(1)],  # small\n    )"
    fixed = (
        "with strategy.scope():\n        model = tf.keras.Sequential(\n"
        "            [tf.keras.layers.Dense(1)],  # small\n        )"
    )
    assert_fixed(MODEL.format(made=model), MODEL.format(made=fixed), "TPU702", tmp_path)


def test_rows_of_a_string_are_not_moved(tmp_path: Path) -> None:
    model = 'model = tf.keras.Sequential([tf.keras.layers.Dense(1)], name="""a\nb""")'
    text = MODEL.format(made=model)
    assert_fixed(text, text, "TPU702", tmp_path)
