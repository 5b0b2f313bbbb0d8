"""The message of TPU202 where a place is reached in several ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        (["strategy.run(step, args=(x,))", "tpu.rewrite(step, [x])", "tpu.shard(step, [x])"], 1),
        (["strategy.run(step, args=(x,))", "strategy.experimental_run_v2(step, args=(x,))"], 0),
    ],
    ids=["the first of the definite ones", "the first of the possible ones"],
)
def test_of_several_call_paths_one_is_reported(
    calls: list[str], shown: int, tmp_path: Path
) -> None:
    text = f"""
import tensorflow as tf

inner = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
tpu = tf.compat.v1.tpu

def step(x):
    return inner.run(tf.sin, args=(x,))

@tf.function
def train(strategy, x):
    {"; ".join(calls)}
"""
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU202"
    ]
    name = calls[shown].partition("(")[0].rpartition(".")[2]
    assert f"inside the one that `{name}` builds" in actual.message
