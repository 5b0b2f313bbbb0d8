"""TPU201 where a test may keep the two clusters apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, V1

NESTED = {
    "a test around both tells nothing": V1
    + """
from library import state

def computation(x):
    if state.is_fast():
        twice = lambda v: tf.tpu.outside_compilation(tf.sin, v)  # error: TPU201
        return tf.tpu.outside_compilation(twice, x)
    return x
"""
    + REWRITTEN,
    "a test between the two": V1
    + """
from library import state

def host(v):
    if state.is_open():
        return v
    return tf.tpu.outside_compilation(tf.sin, v)  # possible: TPU201

def computation(x):
    return tf.tpu.outside_compilation(host, x)
"""
    + REWRITTEN,
    "the test of one wrapper, asked twice": V1
    + """
from library import state

def on_host(function, *args):
    if state.is_open():
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)

def computation(x):
    return on_host(lambda v: on_host(tf.sin, v), x)  # possible: TPU201
"""
    + REWRITTEN,
    "one wrapper without a test": V1
    + """
def on_host(function, *args):
    return tf.tpu.outside_compilation(function, *args)

def computation(x):
    return on_host(lambda v: on_host(tf.sin, v), x)  # error: TPU201
"""
    + REWRITTEN,
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_a_test_between_the_clusters_makes_it_possible(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
