"""Updates for all replicas at once, and the ways on which no strategy is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import STRATEGY

PROGRAM = (
    STRATEGY.replace("strategy =", "tpu =")
    + """
import contextlib
import sys

def chosen():
    if len(sys.argv) > 1:
        return tpu
    if len(sys.argv) > 2:
        return tf.distribute.MirroredStrategy()
    return None

def train(strategy):
    with strategy.scope() if strategy else contextlib.nullcontext():
        count = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.NONE,
        )

    @tf.function
    def step():
        count.assign(1.0)

    if {test}:
        step()

train(chosen())
"""
)


@pytest.mark.parametrize(
    ("test", "verdicts"),
    [
        ("not strategy", []),
        ("strategy is None", []),
        ("strategy", ["definite"]),
        ("strategy is not None", ["definite"]),
        ("len(sys.argv) < 5", ["definite"]),
    ],
)
def test_false_positive_where_no_strategy_is_used(
    test: str, verdicts: list[str], tmp_path: Path
) -> None:
    """NVIDIA's BERT calls its step itself where there is no strategy."""
    assert certainties(PROGRAM.format(test=test), tmp_path, "TPU712") == verdicts
