"""Initializations of the TPU system that invalidate something, and their certainty.

A mark in a program is what TPU704 says, and how sure.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rules.analysis import certainties, expected, reported
from tests.rules.openings import SYSTEM
from tpulint.check import driver
from tpulint.config import Config
from tpulint.finding import Certainty

AGAIN = """
tf.tpu.experimental.initialize_tpu_system(resolver){}
"""
SURE, PERHAPS, SILENT = (
    AGAIN.format(mark) for mark in ("  # error: TPU704", "  # possible: TPU704", "")
)
# Something is made in the scope of one of two resolvers; {} are what these are made with.
TWO = """
import sys
import tensorflow as tf
from library import found

first = {}
second = {}
tf.tpu.experimental.initialize_tpu_system(first)
strategy = tf.distribute.TPUStrategy(first)
with strategy.scope():
    kernel = tf.Variable(1.0)
"""
RESOLVER = "tf.distribute.cluster_resolver.TPUClusterResolver"

MADE = {
    "without the resolver, which may mean another TPU": SYSTEM
    + """
with strategy.scope():
    kernel = tf.Variable(1.0)
tf.tpu.experimental.initialize_tpu_system()  # possible: TPU704
""",
    "twice without a resolver": """
import tensorflow as tf

tf.tpu.experimental.initialize_tpu_system()
strategy = tf.distribute.TPUStrategy()
with strategy.scope():
    kernel = tf.Variable(1.0)
tf.tpu.experimental.initialize_tpu_system()  # error: TPU704
""",
    "weights that are loaded after the steps": SYSTEM
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
tf.tpu.experimental.initialize_tpu_system(resolver)  # error: TPU704
strategy.run(tf.function(lambda x: model(x)), args=(tf.ones([8, 4]),))
model.load_weights("best.h5")
""",
    "weights that are loaded before the steps": SYSTEM
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
tf.tpu.experimental.initialize_tpu_system(resolver)
model.load_weights("best.h5")
strategy.run(tf.function(lambda x: model(x)), args=(tf.ones([8, 4]),))
""",
    "in the scope": SYSTEM
    + """
with strategy.scope():
    kernel = tf.Variable(1.0)
"""
    + SURE,
    "by a strategy alone": SYSTEM + PERHAPS,
    # A false alarm in a notebook: each fold clears the TPU before it makes its own model.
    "by a strategy alone, before each scope": SYSTEM
    + """
for fold in range(5):
    tf.tpu.experimental.initialize_tpu_system(resolver)
    with strategy.scope():
        kernel = tf.Variable(1.0)
""",
    "a false alarm: in a function that trains a model each time": SYSTEM
    + """
def train(seed):
    tf.tpu.experimental.initialize_tpu_system(resolver)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
    model.fit(tf.ones([8, 2]), tf.ones([8, 1]))

train(1)
train(2)
""",
    "in a function whose first model is used after the second call": SYSTEM
    + """
def train(seed):
    tf.tpu.experimental.initialize_tpu_system(resolver)  # possible: TPU704
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
    return model

first = train(1)
second = train(2)
first.predict(tf.ones([8, 2]))
""",
    "in a function that asks whether there is one already": """
import sys
import tensorflow as tf

STRATEGY = None

def connected():
    global STRATEGY
    if STRATEGY is not None:
        return STRATEGY
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.tpu.experimental.initialize_tpu_system(resolver)
    STRATEGY = tf.distribute.TPUStrategy(resolver)
    return STRATEGY

def train():
    with connected().scope():
        return tf.Variable(1.0)

if len(sys.argv) > 1:
    train()
train()
""",
    "in a scope of GPUs": SYSTEM
    + """
mirrored = tf.distribute.MirroredStrategy()
with mirrored.scope():
    kernel = tf.Variable(1.0)
"""
    + PERHAPS,
    "in the scope of a strategy that is not a TPU's, perhaps": """
import tensorflow as tf

strategy = tf.distribute.get_strategy()
with strategy.scope():
    kernel = tf.Variable(1.0)
tf.tpu.experimental.initialize_tpu_system()
""",
    "in the scope of something else": """
import tensorflow as tf
from library import monitor

with monitor.scope():
    kernel = tf.Variable(1.0)
tf.tpu.experimental.initialize_tpu_system()
""",
    "before the system was shut down": SYSTEM
    + """
with strategy.scope():
    kernel = tf.Variable(1.0)
tf.tpu.experimental.shutdown_tpu_system(resolver)
"""
    + SILENT,
    "where a flag says so": SYSTEM
    + """
import sys

if len(sys.argv) > 1:
    with strategy.scope():
        kernel = tf.Variable(1.0)
"""
    + PERHAPS,
    "in a function that has ended": SYSTEM
    + """
def make():
    with strategy.scope():
        return tf.Variable(1.0)

make()
"""
    + PERHAPS,
    "in a function that has ended, and here": SYSTEM
    + """
def make():
    with strategy.scope():
        return tf.Variable(1.0)

make()
with strategy.scope():
    kernel = tf.Variable(1.0)
"""
    + SURE,
    "in one of two functions": SYSTEM
    + """
import sys

def make():
    with strategy.scope():
        kernel = tf.Variable(1.0)
    tf.tpu.experimental.initialize_tpu_system(resolver)  # possible: TPU704
    return kernel

{"make": make, "none": tf.no_op, "two": lambda: None}[sys.argv[1]]()
""",
}
# Two resolvers: True where they certainly mean one TPU.
RESOLVERS = {
    "by one name": (f'{RESOLVER}("a")', f'{RESOLVER}("a")', True),
    "by two names": (f'{RESOLVER}("a")', f'{RESOLVER}("b")', False),
    "by one name and one that is not seen": (f'{RESOLVER}("a")', f"{RESOLVER}(*sys.argv)", False),
    "by names that are not seen": (
        f"{RESOLVER}(sys.argv[1])",
        f"{RESOLVER}(sys.argv[2])",
        False,
    ),
    "by one variable": (f"{RESOLVER}(sys.argv[1])", "first", True),
    "by a library, twice": ("found.first", "found.second", False),
    "by a function of a library, twice": ('found("a")', 'found("b")', False),
    "by no name": ("None", "None", True),
}


@pytest.mark.parametrize("text", MADE.values(), ids=MADE)
def test_an_initialization_invalidates_what_was_made_before(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU704"]) == expected(text, ["TPU704"])


@pytest.mark.parametrize(("first", "second", "is_same"), RESOLVERS.values(), ids=RESOLVERS)
def test_one_tpu_or_two(first: str, second: str, is_same: bool, tmp_path: Path) -> None:
    text = TWO.format(first, second) + "tf.tpu.experimental.initialize_tpu_system(second)\n"
    actual = certainties(text, tmp_path, "TPU704")
    assert actual == (["definite"] if is_same else [])


def test_without_a_resolver_it_is_the_tpu_of_this_machine(tmp_path: Path) -> None:
    text = TWO.format("None", "None").replace("_system(first)", "_system()")
    text += "tf.tpu.experimental.initialize_tpu_system()\n"
    assert certainties(text, tmp_path, "TPU704") == ["definite"]


AGAIN_CELL = "tf.tpu.experimental.initialize_tpu_system(resolver)\n"
NEW = "strategy = tf.distribute.TPUStrategy(resolver)\nwith strategy.scope():\n    b = 1\n"
MODEL = "    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n    model.compile('sgd')\n"
NEW_MODEL = NEW + MODEL
MADE = "with strategy.scope():\n" + MODEL
FIT = "model.fit(tf.ones([8, 4]), tf.ones([8, 1]))\n"
SECTIONS = {
    "a section with a strategy of its own": ([AGAIN_CELL + NEW], 0),
    "one that trains the old model": ([MADE + FIT, AGAIN_CELL + NEW, FIT], 1),
    "one that trains a model of its own": ([MADE + FIT, AGAIN_CELL + NEW_MODEL, FIT], 0),
    "one that goes on with the old strategy": ([AGAIN_CELL, "kernel.assign(2.0)\n"], 1),
}


@pytest.mark.parametrize(("cells", "count"), SECTIONS.values(), ids=SECTIONS)
def test_sections_of_a_notebook_stand_for_themselves(
    cells: list[str], count: int, tmp_path: Path
) -> None:
    first = SYSTEM + "with strategy.scope():\n    kernel = tf.Variable(1.0)\n"
    code = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": source, "id": str(number)}
        for number, source in enumerate([first, *cells])
    ]
    notebook = {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook))
    config = Config(root=str(tmp_path), certainty=Certainty.POSSIBLE, jobs=1)
    request = driver.Request(config, frozenset(["TPU704"]), (str(tmp_path),))
    assert len(driver.check(driver.discover(request)).findings) == count
