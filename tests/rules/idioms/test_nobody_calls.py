"""Steps in functions that nothing read calls: unseen code does, or they would not be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

HANDED_ON = """
import tensorflow as tf

def make_predict_function(model):
    if model.predict_function is not None:
        return model.predict_function

    def one_step(iterator):
        def run_step(data):
            return tf.py_function(abs, [data], tf.float32)  # possible: TPU501
        return model.distribute_strategy.run(run_step, args=(next(iterator),))

    def predict_function(iterator):
        return one_step(iterator)

    model.predict_function = tf.function(predict_function)
    return model.predict_function
"""
OF_A_KNOWN_STRATEGY = """
import library
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)

def register(settings):
    @tf.function
    def train(iterator):
        def step(data):
            return tf.py_function(abs, [data], tf.float32)  # error: TPU501
        return strategy.run(step, args=(next(iterator),))
    library.trainers[settings.name] = train
"""
# `train` is read, unseen, for what it sets `self.total` to: it stays a root all the same.
LOOKED_INTO = """
import tensorflow as tf

class Trainer:
    @tf.function
    def evaluate(self, batch):
        self.strategy.run(self.forward, args=(batch,))

    def forward(self, batch):
        return batch * self.total

    def train(self, dataset):
        self.total = 2.0
        for batch in dataset:
            self.distributed_step(batch)

    @tf.function
    def distributed_step(self, batch):
        self.strategy.run(self.step, args=(batch,))

    def step(self, batch):
        return tf.py_function(abs, [batch], tf.float32)  # possible: TPU501
"""
CALLED_BACK = """
# file: loop.py
import library
import tensorflow as tf

class Loop(library.Loop):
    def __init__(self, model, loss=None):
        self.strategy = tf.distribute.get_strategy()
        self.model, self.loss = model, loss

    def train_step(self, iterator):
        def step(x):
            self.model.evaluate(x)
            return self.loss(x)
        self.strategy.run(step, args=(next(iterator),))

class Unused(library.Loop):
    def train_step(self, iterator):
        def step(x):
            return self.loss(x)
        tf.distribute.TPUStrategy().run(step, args=(next(iterator),))
# file: model.py
import tensorflow as tf

class Model(tf.Module):
    def evaluate(self, x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501

class Other(tf.Module):
    def evaluate(self, x):
        return tf.py_function(abs, [x], tf.float32)

def loss(x):
    return tf.py_function(abs, [x], tf.float32)  # error: TPU501
# file: main_test.py
import loop
import tensorflow as tf
import model

with tf.distribute.TPUStrategy().scope():
    loop.Loop(model.Other())
# file: main.py
import library
import loop
import model
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    trainer = loop.Loop(model.Model(), loss=model.loss)
library.Controller(trainer=trainer).train(4)
"""
PROGRAMS = {
    "a method that an unseen base calls, with the object that is made": CALLED_BACK,
    "a closure that a factory hands on": HANDED_ON,
    "a closure of a known strategy": OF_A_KNOWN_STRATEGY,
    "a method that is read for what it sets": LOOKED_INTO,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_that_unseen_code_runs(name: str, tmp_path: Path) -> None:
    assert_marked(PROGRAMS[name], tmp_path)
