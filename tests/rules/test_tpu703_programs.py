"""Programs with TPU703, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import SYSTEM

PROGRAMS = {
    # A missed alarm: most steps get their strategy as a parameter.
    "a scope of a strategy that is a parameter": """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()

def evaluate(strategy, rows):
    def step(x):
        with strategy.scope():  # error: TPU703
            return x * 2.0

    @tf.function
    def run(rows):
        return strategy.run(step, args=(next(rows),))

    for _ in range(4):
        run(rows)
""",
    "a scope around an evaluation, which is called in a loop over checkpoints": SYSTEM
    + """
def evaluate(dataset):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

        @tf.function
        def predict(x):
            return strategy.run(lambda each: model(each), args=(x,))

        for batch in dataset:
            predict(batch)

def main(dataset, checkpoints):
    for _ in checkpoints:
        evaluate(dataset)
""",
    "the scope in a loop of a test without a TPU": """
import tensorflow as tf

def test_steps(strategy, dataset):
    for batch in strategy.experimental_distribute_dataset(dataset):
        with strategy.scope():
            strategy.run(lambda each: tf.reduce_mean(each), args=(batch,))
""",
    "a nested function is called in a loop or once": """
import tensorflow as tf

def start(workers, resolver):
    def wait(job=None):
        return tf.tpu.experimental.initialize_tpu_system(resolver)

    if len(workers) > 1:
        for worker in workers:
            wait(worker)
    else:
        wait(None)
""",
    "scopes that are no strategy's, or the host's": SYSTEM
    + """
import library

def on_host(x):
    with strategy.scope():
        return tf.math.lgamma(x)

def step(x):
    with library.builder.scope(), tf.name_scope("step"):
        return tf.compat.v1.tpu.outside_compilation(on_host, x)

@tf.function
def train(x):
    return strategy.run(step, args=(x,))  # error: TPU202

for _ in range(4):
    with tf.control_dependencies(None):
        train(tf.ones([4]))
    with tf.name_scope("train"):
        strategy.run(train, args=(tf.ones([4]),))
""",
    "a scope in a computation that is no strategy's": SYSTEM
    + """
def computation(x):
    with strategy.scope():
        return x * 2.0

def build(x):
    for _ in range(4):
        with strategy.scope():
            x = tf.compat.v1.tpu.rewrite(computation, [x])
    return x

build(tf.ones([4]))
""",
    "a scope of a strategy of some kind": """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()

@tf.function
def train(strategy, x):
    def step(y):
        with strategy.scope():  # error: TPU703
            return y * 2.0

    return strategy.run(step, args=(x,))
""",
    "a scope in a step of a known strategy": SYSTEM
    + """
def step(x):
    with strategy.scope():  # error: TPU703
        return x * 2.0

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
""",
    "a scope that may be another, or none": SYSTEM
    + """
import contextlib
import sys

mirrored = tf.distribute.MirroredStrategy()

def step(x):
    with mirrored.scope():  # error: TPU703
        return x * 2.0

@tf.function
def train(x):
    return strategy.run(step, args=(x,))

def main(x):
    for _ in range(4):
        scope = strategy.scope() if len(sys.argv) > 1 else contextlib.nullcontext()
        with scope:  # possible: TPU703
            train(x)

main(tf.ones([4]))
""",
    "a scope in a loop around the steps of a known strategy": SYSTEM
    + """
@tf.function
def train(x):
    return strategy.run(lambda y: y, args=(x,))

def main(x):
    for _ in range(4):
        with strategy.scope():  # error: TPU703
            train(x)

main(tf.ones([4]))
""",
    "a scope in a loop, around steps that are called elsewhere": SYSTEM
    + """
@tf.function
def train(x):
    return strategy.run(lambda y: y, args=(x,))

def epoch(x):
    with strategy.scope():
        train(x)

def main(x):
    for _ in range(4):
        epoch(x)

main(tf.ones([4]))
""",
    "a scope in a loop of a graph": SYSTEM
    + """
def main(x):
    with tf.Graph().as_default():
        for _ in range(4):
            with strategy.scope():
                strategy.run(lambda y: y, args=(x,))

main(tf.ones([4]))
""",
    "a scope of a strategy that may be a TPU's, by a string of its module": """
import tensorflow as tf

def train(strategy, rows):
    print("runs on a TPU")
    for x in rows:
        with strategy.scope():  # possible: TPU703
            strategy.run(lambda y: y, args=(x,))
""",
    "a scope of a strategy whose module names a TPU in a comment, and has outputs": """
import tensorflow as tf

def train(strategy, rows):
    output = []  # what a TPU makes
    for x in rows:
        with strategy.scope():
            strategy.run(lambda y: y, args=(x,))
""",
    # False positives in a project for Kaggle, which trains a model for each fold of its data.
    "a scope around the `fit` of each fold": SYSTEM
    + """
class Classifier(tf.keras.Model):
    def train_step(self, data):
        return {"loss": tf.reduce_mean(self(data))}

    def call(self, x):
        return x

for fold in range(5):
    with strategy.scope():
        model = Classifier()
        model.compile("adam", "mse")
        dataset = tf.data.Dataset.range(64).repeat().batch(8, drop_remainder=True)
        model.fit(dataset, steps_per_epoch=8)
""",
    "a scope of a strategy that is made for each fold": """
import tensorflow as tf

def connect():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)

def evaluate(strategy, x):
    def replica(x):
        return x * 2.0

    @tf.function
    def step(x):
        return strategy.run(replica, args=(x,))

    return step(x)

for fold in range(5):
    strategy = connect()
    with strategy.scope():
        evaluate(strategy, tf.ones([8]))
""",
    "a scope in a loop that may be around the step": SYSTEM
    + """
import sys

@tf.function
def train(x):
    return strategy.run(lambda y: y, args=(x,))

def epochs(x):
    for _ in range(4):
        with strategy.scope():  # possible: TPU703
            train(x)

def nothing(x):
    return x

{"train": epochs, "nothing": nothing}[sys.argv[1]](tf.ones([4]))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
