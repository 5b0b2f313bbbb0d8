"""Functions that a builder returns: its caller runs them, though nothing here calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

BUILDER = """
import tensorflow as tf
from helper import on_every_replica

def build(number):
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("grpc://10.0.0.2:8470")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
    {before}
    def inner(x):
        return tf.strings.as_string(x)  # error: TPU501

    @tf.function
    def step(x):
        return on_every_replica(strategy, inner, x)

    return {returned}
# file: helper.py
def on_every_replica(s, fn, *args):
    return s.run(fn, args=args)
"""
RETURNED = ["step", "step, number", "{'train': step}", "[step]", "step if number else None"]
SOFT = "tf.config.set_soft_device_placement(True)\n"


@pytest.mark.parametrize("returned", RETURNED)
def test_the_returned_step_is_read(returned: str, tmp_path: Path) -> None:
    text = BUILDER.replace("{returned}", returned).replace("{before}", "")
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])


def test_the_builder_turns_soft_placement_on(tmp_path: Path) -> None:
    text = BUILDER.replace("{returned}", "step").replace("{before}", SOFT)
    assert reported(text, tmp_path, ["TPU501"]) == []


def test_the_strategy_is_a_parameter(tmp_path: Path) -> None:
    text = """
import tensorflow as tf

def on_every_replica(strategy, fn, *args):
    return strategy.run(fn, args=args)

def make_step(distribution, sampler):
    def inner(x):
        return tf.py_function(sampler, [x], tf.float32)  # possible: TPU501

    @tf.function
    def step(x):
        return on_every_replica(distribution, inner, x)

    return step
"""
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])
