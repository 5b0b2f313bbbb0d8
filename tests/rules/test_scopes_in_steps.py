"""Scopes entered in the step or again for each step, certain and possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import SYSTEM

FAMILIES = ["TPU701", "TPU703"]

PROGRAMS = {
    "scopes that are no strategy's, or the host's": SYSTEM
    + """
import library

def on_host(x):
    with strategy.scope():
        return tf.math.lgamma(x)

def step(x):
    with library.builder.scope(), tf.name_scope("step"):
        return tf.compat.v1.tpu.outside_compilation(on_host, x)

@tf.function
def train(x):
    return strategy.run(step, args=(x,))

for _ in range(4):
    with tf.control_dependencies(None):
        train(tf.ones([4]))
    with tf.name_scope("train"):
        strategy.run(train, args=(tf.ones([4]),))
""",
    "a scope in a computation that is no strategy's": SYSTEM
    + """
def computation(x):
    with strategy.scope():
        return x * 2.0

def build(x):
    for _ in range(4):
        with strategy.scope():
            x = tf.compat.v1.tpu.rewrite(computation, [x])
    return x

build(tf.ones([4]))
""",
    "a scope of a strategy of some kind": """
import tensorflow as tf

strategy = tf.distribute.get_strategy()
resolver = tf.distribute.cluster_resolver.TPUClusterResolver()

def step(y):
    with strategy.scope():  # possible: TPU703
        return y * 2.0

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
""",
    "a scope in a step of a known strategy": SYSTEM
    + """
def step(x):
    with strategy.scope():  # error: TPU703
        return x * 2.0

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
""",
    "a scope that may be another, or none": SYSTEM
    + """
import contextlib
import sys

mirrored = tf.distribute.MirroredStrategy()

def step(x):
    with mirrored.scope():  # possible: TPU703
        return x * 2.0

@tf.function
def train(x):
    return strategy.run(step, args=(x,))

def main(x):
    for _ in range(4):
        scope = strategy.scope() if len(sys.argv) > 1 else contextlib.nullcontext()
        with scope:  # possible: TPU703
            train(x)

main(tf.ones([4]))
""",
    "a scope in a loop around the steps of a known strategy": SYSTEM
    + """
@tf.function
def train(x):
    return strategy.run(lambda y: y, args=(x,))

def main(x):
    for _ in range(4):
        with strategy.scope():  # error: TPU703
            train(x)

main(tf.ones([4]))
""",
    "a scope in a loop, around steps that are called elsewhere": SYSTEM
    + """
@tf.function
def train(x):
    return strategy.run(lambda y: y, args=(x,))

def epoch(x):
    with strategy.scope():
        train(x)

def main(x):
    for _ in range(4):
        epoch(x)

main(tf.ones([4]))
""",
    "a scope in a loop of a graph": SYSTEM
    + """
def main(x):
    with tf.Graph().as_default():
        for _ in range(4):
            with strategy.scope():
                strategy.run(lambda y: y, args=(x,))

main(tf.ones([4]))
""",
    "steps that are run eagerly, by the old name and by the new": SYSTEM
    + """
def step(x):
    return x * 2.0

strategy.run(step, args=(tf.ones([4]),))  # error: TPU701
strategy.experimental_run_v2(step, args=(tf.ones([4]),))  # possible: TPU701
""",
    "a scope in a loop that may be around the step": SYSTEM
    + """
import sys

@tf.function
def train(x):
    return strategy.run(lambda y: y, args=(x,))

def epochs(x):
    for _ in range(4):
        with strategy.scope():  # possible: TPU703
            train(x)

def nothing(x):
    return x

{"train": epochs, "nothing": nothing}[sys.argv[1]](tf.ones([4]))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_what_is_sure_is_an_error(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
