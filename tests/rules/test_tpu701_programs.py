"""Programs with TPU701, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import SYSTEM

PROGRAMS = {
    "a test that also runs its step eagerly, in a project without a TPU": """
import tensorflow as tf

def test_distribute(strategy, dataset):
    batches = strategy.experimental_distribute_dataset(dataset)
    for batch in batches:
        strategy.run(lambda each: tf.reduce_mean(each), args=(batch,))
""",
    "one of two functions is traced, a flag says which": SYSTEM
    + """
def step(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))

def main(use_function):
    chosen = tf.function(step) if use_function else step
    chosen(tf.ones([4]))
""",
    "the step of a trainer whose callers are not seen": """
import tensorflow as tf

class Trainer:
    def __init__(self, tpu):
        self.strategy = tf.distribute.TPUStrategy(tpu)

    def train_step(self, x):
        self.strategy.run(lambda each: each * 2.0, args=(x,))
""",
    "run in a function of tf.data, which is traced": SYSTEM
    + """
def doubled(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))

dataset = tf.data.Dataset.range(4).map(doubled)
""",
    "a decorator of a library may make a tf.function": SYSTEM
    + """
import library

@library.compiled(reduce_retracing=True)
def train_step(x):
    strategy.run(lambda each: each * 2.0, args=(x,))

@library.compiled
def replica_step(x):
    return x * 2.0

train_step(tf.ones([4]))
strategy.run(replica_step, args=(tf.ones([4]),))
""",
    "a decorator of the project makes one, perhaps": SYSTEM
    + """
def maybe_function(function):
    return tf.function(function) if tf.config.list_logical_devices("TPU") else function

@maybe_function
def train_step(x):
    strategy.run(lambda each: each * 2.0, args=(x,))

train_step(tf.ones([4]))
""",
    "a method is wrapped where its object is made": SYSTEM
    + """
class Trainer:
    def __init__(self):
        self.step = tf.function(self._step)

    def _step(self, x):
        strategy.run(lambda each: each * 2.0, args=(x,))

trainer = Trainer()
trainer.step(tf.ones([4]))
""",
    "decorators that trace nothing": SYSTEM
    + """
import gin

@gin.configurable("step")
def train_step(x):
    strategy.run(lambda each: each * 2.0, args=(x,))  # error: TPU701

@gin.configurable
def main():
    train_step(tf.ones([4]))

main()
""",
    "a function without a tf.function in the loop of a script, another one with": SYSTEM
    + """
@tf.function
def traced(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))

def plain(x):
    return strategy.run(lambda each: each * 2.0, args=(x,))  # error: TPU701

for batch in range(4):
    traced(batch)
    plain(batch)
""",
    "functools.partial of a tf.function is no tf.function": SYSTEM
    + """
import functools

@tf.function
def step(x, scale):
    return x * scale

strategy.run(functools.partial(step, scale=2.0), args=(tf.ones([4]),))  # error: TPU701
""",
    "a false alarm: tf.function of a method, of a class that an unseen package gives": SYSTEM
    + """
import normalizers

def update_with(normalizer):
    strategy.run(tf.function(normalizer.update), args=(tf.ones([4]),))

update_with(normalizers.Mean())
""",
    "names of TensorFlow 1 with version 2 behavior": """
import tensorflow.compat.v1 as tf

tf.enable_v2_behavior()
resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.experimental.TPUStrategy(resolver)
strategy.run(lambda: tf.ones([4]))  # error: TPU701
""",
    "steps that are run eagerly, by the old name and by the new": SYSTEM
    + """
def step(x):
    return x * 2.0

strategy.run(step, args=(tf.ones([4]),))  # error: TPU701
strategy.experimental_run_v2(step, args=(tf.ones([4]),))  # possible: TPU701
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
