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


TRAINS_ALONE = (
    STRATEGY
    + """
import sys

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam(0.1)

host_model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
host_optimizer = tf.keras.optimizers.Adam(0.1)

def update(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables)){mark}

def on_replica(x):
    update(model, optimizer, x)

def never_called(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

@tf.function
def train(x):
    {call}

train(tf.ones([4, 4]))
"""
)
ERROR = "  # error: TPU712"


@pytest.mark.parametrize(
    ("call", "mark"),
    [
        ("update(model, optimizer, x)", ERROR),
        ("update(model=model, optimizer=optimizer, x=x)", ERROR),
        ("[update(model, optimizer, part) for part in tf.split(x, 2)]", ERROR),
        ("update(*[model, optimizer, x])", ERROR),
        ("strategy.run(on_replica, args=(x,))", ""),
        ("update(host_model, host_optimizer, x)", ""),
        ("strategy.run(on_replica, args=(x,)) if len(sys.argv) > 1 else x", ""),
    ],
)
def test_a_missed_alarm_a_step_that_no_run_is_given(call: str, mark: str, tmp_path: Path) -> None:
    """A loop of its own that only has the scope: one device, or an error of Keras."""
    assert_marked(TRAINS_ALONE.format(call=call, mark=mark), tmp_path)


@pytest.mark.parametrize("test", ["use_tpu", "strategy is not None", "strategy"])
def test_an_update_without_run_where_no_strategy_is_used(test: str, tmp_path: Path) -> None:
    program = TRAINS_ALONE.replace(
        "    {call}", "    if {test}:\n        {run}\n    else:\n        {call}"
    )
    text = program.format(
        test=test,
        run="strategy.run(on_replica, args=(x,))",
        call="update(model, optimizer, x)",
        mark="",
    ).replace("import sys\n", "import sys\n\nuse_tpu = len(sys.argv) > 1\n")
    assert_marked(text, tmp_path)
