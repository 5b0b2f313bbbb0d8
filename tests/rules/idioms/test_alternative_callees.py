"""Callees of which one is meant: where each that can be called runs the step, no doubt is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

PROGRAM = """
import sys
import library
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)
eager, evaluates = "--eager" in sys.argv, "--evaluate" in sys.argv

def step(x):
    return tf.py_function(abs, [x], tf.float32)

class Evaluator:
    @tf.function
    def evaluate(self, x):
        return strategy.run(step, args=(x,))

def train(x):
    return strategy.run(step, args=(x,))

def other(x):
    return x

x = tf.zeros([8])
{line}
"""
LINES = {
    "an object or None": (
        "evaluator = Evaluator() if evaluates else None\nif evaluator:\n    evaluator.evaluate(x)",
        "definite",
    ),
    "a function or None": (
        "run = tf.function(train) if evaluates else None\nrun(x)",
        "definite",
    ),
    "a function, traced by a flag": (
        "if not eager:\n    train = tf.function(train)\ntrain(x)",
        "definite",
    ),
    "one of several functions": (
        "run = tf.function(train) if evaluates else other\nrun(x)",
        "possible",
    ),
    "a function that is not seen": (
        "run = tf.function(train) if evaluates else library.run\nrun(x)",
        "possible",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_which_of_several_callees_runs_the_step(name: str, tmp_path: Path) -> None:
    line, certainty = LINES[name]
    text = PROGRAM.replace("{line}", line)
    if "Evaluator()" not in line:
        text = text.replace("strategy.run(step, args=(x,))\n\ndef train", "x\n\ndef train")
    else:
        text = text.replace("strategy.run(step, args=(x,))\n\ndef other", "x\n\ndef other")
    assert certainties(text, tmp_path, "TPU501") == [certainty]
