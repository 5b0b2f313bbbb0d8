"""Alarms and silence of TPU702 for models whose creation is not seen, where no scope is entered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import SYSTEM

NET = "tf.keras.Sequential([tf.keras.layers.Dense(1)])"
UNSEEN_MODEL = (
    SYSTEM
    + """
import json
import nets

model = nets.Net(10)
model.compile("adam", "mse")  # possible: TPU702
model.fit(tf.ones([8, 4]), tf.ones([8]))
"""
)
BUILT = "model = nets.Net(10)"
COMPILED = 'model.compile("adam", "mse")'


@pytest.mark.parametrize(
    "build",
    [
        BUILT,
        "model = getattr(nets, nets.NAME)()",
        "class Own(nets.Base):\n    def call(self, x):\n        return x\n\nmodel = Own()",
        "model = tf.keras.utils.deserialize_keras_object(json.load(open('net.json')))",
        "model = tf.keras.layers.deserialize(json.load(open('net.json')))",
    ],
)
def test_missed_alarm_of_a_model_whose_creation_is_not_seen(tmp_path: Path, build: str) -> None:
    """No scope at all: `fit` trains on the host, unless the unseen code enters one."""
    text = UNSEEN_MODEL.replace(BUILT, build)
    assert reported(text, tmp_path, ["TPU702"]) == expected(text, ["TPU702"])


@pytest.mark.parametrize(
    "edits",
    [
        {BUILT: f"tf.distribute.experimental_set_strategy(strategy)\n{BUILT}"},
        {BUILT: f"strategy.scope().__enter__()\n{BUILT}"},
        {BUILT: f"with strategy.scope():\n    {BUILT}"},
        {BUILT: "model = nets.Net(10, strategy)"},
        {BUILT: 'model = nets.Net({"strategy": strategy})'},
        {BUILT: "trainer = nets.Trainer()\ntrainer.strategy = strategy\nmodel = trainer.make()"},
        {BUILT: f"def scope():\n    return strategy\n\n{BUILT}", COMPILED: "nets.run(scope)"},
        {COMPILED: "model.compile()"},
        {COMPILED: "import re\nre.compile('a', 0)"},
        {"model.fit": "model.predict"},
        {"model.fit": "nets.Net(5).fit"},
    ],
)
def test_silence_about_a_model_whose_creation_is_not_seen(
    tmp_path: Path, edits: dict[str, str]
) -> None:
    """The strategy may be current where it is made, or this is no model of Keras."""
    text = UNSEEN_MODEL.replace("  # possible: TPU702", "")
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    assert not reported(text, tmp_path, ["TPU702"])


def test_silence_about_a_model_of_a_caller(tmp_path: Path) -> None:
    text = f"{SYSTEM}\ndef train(model):\n    model.compile('adam', 'mse')\n    model.fit([1])\n"
    assert not reported(text, tmp_path, ["TPU702"])


@pytest.mark.parametrize("net", [NET, "nets.Net(10)"])
def test_false_alarm_of_a_strategy_that_nothing_makes(tmp_path: Path, net: str) -> None:
    """A function that others may call makes and returns it: no TPU is asked for here."""
    text = f"""
import nets
import tensorflow as tf

def connect():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    return tf.distribute.TPUStrategy(resolver)

model = {net}
model.compile("adam", "mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
"""
    assert not reported(text, tmp_path, ["TPU702"])


@pytest.mark.parametrize("after", ["", f"model = {NET}\n"])
def test_false_alarm_of_a_model_that_a_cell_given_as_text_makes(tmp_path: Path, after: str) -> None:
    """`nbconvert` writes the cell of a `%%time` as text, and the scope is in there."""
    cell = "with strategy.scope():\\n    model = nets.Net(10)\\n"
    magic = f"{after}get_ipython().run_cell_magic('time', '', '{cell}')"
    text = UNSEEN_MODEL.replace("  # possible: TPU702", "").replace(BUILT, magic)
    assert not reported(text, tmp_path, ["TPU702"])
