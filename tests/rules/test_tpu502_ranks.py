"""TPU502: an `input_signature` that leaves the rank of an argument of `run` open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import SYSTEM

# TensorFlow refuses an argument of unknown rank, whatever tensor is passed.
REFUSED = {
    "a position": ("tf.TensorSpec(None, tf.float32)", "x"),
    "a keyword": ("tf.TensorSpec(shape=None, dtype=tf.float32)", "x"),
}
TAKEN = {
    "dimensions that change": ("tf.TensorSpec([None, None], tf.float32)", "x"),
    "a scalar": ("tf.TensorSpec([], tf.float32)", "x"),
    "no shape in a specification of another kind": ("tf.RaggedTensorSpec(None, tf.float32)", "x"),
    "a tensor with a shape": ("tf.TensorSpec(None, tf.float32)", "tf.reshape(x, [-1, 2])"),
}


def found_with(tmp_path: Path, spec: str, argument: str) -> list[str]:
    program = f"""{SYSTEM}
class Trainer:
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), {spec}])
    def train(self, step, x):
        return strategy.run(tf.reduce_sum, args=({argument},))


Trainer().train(tf.constant(1), tf.ones([4, 2]))
"""
    return certainties(program, tmp_path, "TPU502")


def test_a_parameter_that_is_bound_again_is_silent(tmp_path: Path) -> None:
    """The tensor under its name has the rank that the program gives it."""
    program = f"""{SYSTEM}
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
def train(x):
    x = tf.reshape(x, [-1, 2])
    return strategy.run(tf.reduce_sum, args=(x,))


train(tf.ones([4, 2]))
"""
    assert certainties(program, tmp_path, "TPU502") == []


@pytest.mark.parametrize("case", REFUSED)
def test_an_argument_without_a_rank_is_found(case: str, tmp_path: Path) -> None:
    assert found_with(tmp_path, *REFUSED[case]) == ["definite"]


@pytest.mark.parametrize("case", TAKEN)
def test_an_argument_with_a_rank_is_silent(case: str, tmp_path: Path) -> None:
    assert found_with(tmp_path, *TAKEN[case]) == []
