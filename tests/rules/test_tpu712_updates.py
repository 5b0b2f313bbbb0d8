"""Updates for all replicas at once, and the ways on which no strategy is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, certainties
from tests.rules.openings import STRATEGY, SYSTEM

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


STAND_IN = (
    STRATEGY.replace("strategy =", "tpu =")
    + """
import sys

class OneDevice:
    def __enter__(self): pass
    def __exit__(self, *failure): pass
    def scope(self): return self
    def {run}(self, function, args): return function(*args)

strategy = tpu if len(sys.argv) > 1 else OneDevice()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()

    def replica_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        optimizer.apply_gradients([(tape.gradient(loss, w), w) for w in model.trainable_variables])

    @tf.function
    def step(x):
        strategy.{called}(replica_step, args=(x,))

    step(tf.ones([8, 2]))
"""
)


def test_false_positive_where_a_class_stands_in_for_a_strategy(tmp_path: Path) -> None:
    """The step of a project is called by the strategy, or by its own class for one device."""
    run = "experimental_run_v2"
    assert certainties(STAND_IN.format(run=run, called=run), tmp_path, "TPU712") == []
    # Its own `train` is no strategy's, so it may well run under the scope.
    own = STAND_IN.format(run="train", called="train")
    assert certainties(own, tmp_path, "TPU712") == ["possible"]


def test_a_missed_alarm_methods_of_the_replica_context(tmp_path: Path) -> None:
    """Under the scope there is no replica context, and outside it is that of one device."""
    assert_marked(
        SYSTEM
        + """
def total(x):
    return tf.distribute.get_replica_context().all_reduce("SUM", x)

def guarded(x):
    context = tf.distribute.get_replica_context()
    if context:
        x = context.all_gather(x, axis=0)
    if context is None:
        return x
    return context.all_reduce("SUM", x)

def merged(x):
    context = tf.distribute.get_replica_context()
    return context.merge_call(lambda strategy, x: x, args=(x,))  # error: TPU712

def on_replicas(x):
    if tf.distribute.in_cross_replica_context():
        return x
    return tf.distribute.get_replica_context().all_reduce("SUM", x)

with strategy.scope():
    ones = tf.ones([2])
    tf.distribute.get_replica_context().all_reduce("SUM", ones)  # error: TPU712
    guarded(ones), merged(ones), on_replicas(ones)

@tf.function
def step(x):
    with strategy.scope():
        return strategy.run(total, args=(x,))

step(total(ones))
""",
        tmp_path,
    )
