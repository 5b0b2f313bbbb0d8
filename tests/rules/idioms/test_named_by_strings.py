"""Functions that only a string names: a flag chooses the loss or the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, STRATEGY, V1

NETWORKS = (
    V1
    + """
FLAGS = tf.app.flags.FLAGS

def total(features):
    return tf.reduce_mean(tf.strings.to_number(tf.as_string(features)))  # {in_total}

def small(features):
    return tf.reduce_mean(features)

def large(features):
    return float(tf.reduce_sum(features))  # {in_large}

def model_fn(features, labels, mode, params):
    loss = {chosen}(features)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + ESTIMATOR
)
NOTHING, POSSIBLE, SURE = "nothing is reported", "possible: TPU507", "error: TPU507"
CHOSEN = {
    "eval(FLAGS.network)": POSSIBLE,
    'eval("large")': SURE,
    'eval("small")': NOTHING,
    'globals()["large"]': SURE,
    'globals()["small"]': NOTHING,
    'globals().get("large")': SURE,
}


@pytest.mark.parametrize("chosen", CHOSEN)
def test_the_functions_that_a_string_may_name_are_read(chosen: str, tmp_path: Path) -> None:
    in_total = "possible: TPU501" if CHOSEN[chosen] == POSSIBLE else NOTHING
    text = NETWORKS.format(chosen=chosen, in_total=in_total, in_large=CHOSEN[chosen])
    assert_marked(text, tmp_path)


def test_a_function_that_code_names_is_not_one_of_them(tmp_path: Path) -> None:
    text = NETWORKS.format(chosen="eval(FLAGS.network)", in_total=NOTHING, in_large=NOTHING)
    assert_marked(f"{text}\nprint(total, large)\n", tmp_path)


AROUND = (
    STRATEGY
    + """
import sys

def plain(x):
    return x

@tf.function
def train(x, name):
    return strategy.run(globals()[name], args=(x,))

train(tf.zeros([8]), sys.argv[1])
"""
)


def test_a_function_is_not_the_one_that_it_finds_by_a_name(tmp_path: Path) -> None:
    assert_marked(AROUND, tmp_path)
