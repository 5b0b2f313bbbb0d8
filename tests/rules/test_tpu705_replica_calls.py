"""Methods of the strategy on replicas: the receivers, the refusals, and the certainty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, findings, program, reported
from tests.rules.openings import SYSTEM

RUN = """
@tf.function
def train(x):
    return strategy.run(step, args=(x,))

train(tf.ones([4]))
"""
PROGRAMS = {
    "a merge_call's function, a method and a lambda": SYSTEM
    + """
class Adder:
    def total(self, everywhere, x):
        return everywhere.reduce("SUM", x, axis=None) + strategy.reduce("SUM", x, axis=None)

def step(x):
    context = tf.distribute.get_replica_context()
    context.merge_call(lambda everywhere, y: strategy.gather(y, axis=0), args=(x,))
    return context.merge_call(Adder().total, args=(x,))
"""
    + RUN,
    "the extended strategy, and the one in force": SYSTEM
    + """
def step(x):
    tf.distribute.get_strategy().reduce("SUM", x, axis=None)  # error: TPU705
    return strategy.extended.reduce_to("SUM", x, x)  # error: TPU705
"""
    + RUN,
    # A missed alarm: the error says that the batch is to be passed.
    "the next batch of all replicas": SYSTEM
    + """
batches = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True)))
numbers = iter([1.0, 2.0])
plain = iter(tf.data.Dataset.range(64).batch(8, True))

def step(x):
    y = next(batches)  # error: TPU705
    return x + tf.cast(y, tf.float32) + next(numbers)

@tf.function
def train_on_next():
    return strategy.run(step, args=(next(batches),))
"""
    + RUN,
    "missed alarms: loops over the batches of all replicas that call nothing": SYSTEM
    + """
dataset = tf.data.Dataset.range(64).batch(8, True)
batches = strategy.experimental_distribute_dataset(dataset)
plain = [1.0, 2.0]

def total(x):
    for y in batches:  # error: TPU705
        x += y
    for y in plain:
        x += y
    return x

def count(x):
    for _ in batches:  # error: TPU705
        x += 1.0
    return x

def step(x):
    listed = [y for y in batches]  # error: TPU705
    doubled = [y * 2 for y in batches]  # error: TPU705
    for number, y in enumerate(batches):  # error: TPU705
        x += y
    return total(x) + count(x)

for batch in batches:
    print(batch)
"""
    + RUN,
    "a missed alarm: a loop over the batches of all replicas": SYSTEM
    + """
import library
dataset = tf.data.Dataset.range(64).batch(8, True)
batches = strategy.experimental_distribute_dataset(dataset)
iterator = iter(batches)

def total(data, start):
    for y in data:  # error: TPU705
        start += tf.reduce_sum(y)
    return start

def step(x):
    for y in iterator:  # error: TPU705
        x += tf.cast(tf.reduce_sum(y), tf.float32)
    return total(batches, x), iterator.get_next(), x.get_next()  # error: TPU705

def sums(x, parts):
    for part in parts:
        x += tf.reduce_sum(part)
    for part in library.parts(batches):
        x += tf.reduce_sum(part)
    return tf.distribute.get_replica_context().merge_call(everywhere, args=(x,))

def everywhere(strategy, x):
    for y in batches:
        print(tf.shape(y))
    return x

@tf.function
def train_on_all():
    for y in batches:
        strategy.run(sums, args=(1.0, [1.0, 2.0]))
        strategy.run(lambda y: tf.reduce_sum(y), args=(y,))

train_on_all()
"""
    + RUN,
    "a loop over batches of the default strategy": """
import tensorflow as tf

strategy = tf.distribute.get_strategy()
batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True))

def step(x):
    for y in batches:
        x += tf.cast(tf.reduce_sum(y), tf.float32)
    return x
"""
    + RUN,
    "methods of others that have the name": SYSTEM
    + """
import functools
import library

def step(x):
    library.strategies.reduce("SUM", x)
    return functools.reduce(lambda left, right: left + right, [x, x])
"""
    + RUN,
    "graphs and pipelines of their own": SYSTEM
    + """
def step(x):
    with tf.init_scope():
        strategy.reduce("SUM", 1.0, axis=None)
    return x
"""
    + RUN,
    "tests that ask for the context": SYSTEM
    + """
def step(x):
    if not tf.distribute.in_cross_replica_context():
        return x
    return strategy.reduce("SUM", x, axis=None)
"""
    + RUN,
    "outside the step": SYSTEM
    + """
def step(x):
    return x

@tf.function
def train(x):
    return strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None)

for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(4)):
    train(batch)
""",
    "a strategy that is an attribute": """
class TpuTrainer:
    def __init__(self, strategy):
        self.strategy = strategy

    def step(self, x):
        self.strategy.extended.reduce_to("SUM", x, x)  # error: TPU705
        return self.other.reduce(x)

    def train(self, x):
        return self.strategy.run(self.step, args=(x,))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_reported_on_replicas_only(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, ["TPU705"]) == expected(text, ["TPU705"])


def test_the_trace_shows_the_calls_that_lead_there(tmp_path: Path) -> None:
    text = (
        SYSTEM
        + """
def total(x):
    return strategy.reduce("SUM", x, axis=None)

def step(x):
    return total(x)
"""
        + RUN
    )
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU705"
    ]
    assert actual.message == (
        "`reduce` cannot be called in the function given to `run`: sum with `all_reduce`"
        " of the replica context, or reduce what `run` returns"
    )
    assert [step.message for step in actual.trace] == [
        "`run` compiles `step`",
        "calls `total`",
        "calls `reduce` on a replica",
    ]
    assert actual.fix is None
