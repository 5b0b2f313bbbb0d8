"""Faults behind indirections that real programs have: each cause has its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import ESTIMATOR, V1

V2 = """
import tensorflow as tf
"""
FAMILIES = ("TPU1", "TPU5", "TPU604", "TPU605", "TPU7")

PROGRAMS = {
    "model code in a module that names no seam": V1
    + """
import loss

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss.loss_of(features))
"""
    + ESTIMATOR
    + """
# file: loss.py
import tensorflow.compat.v1 as tf

def loss_of(features):
    return tf.reduce_mean(tf.py_func(abs, [features], tf.float32))  # error: TPU501
""",
    "a class made after TPUEstimator": V1
    + """
def loss_of(features):
    return tf.reduce_mean(tf.py_func(abs, [features], tf.float32))  # error: TPU501

class Estimator(tf.estimator.tpu.TPUEstimator):
    def __init__(self, head, config, use_tpu=True):
        def model_fn(features, labels, mode, params):
            return head(mode, loss_of(features))

        super().__init__(model_fn=model_fn, config=config, use_tpu=use_tpu, train_batch_size=64)
""",
    "a class made after TPUEstimator, for no TPU": V1
    + """
def loss_of(features):
    return tf.reduce_mean(tf.py_func(abs, [features], tf.float32))

class Estimator(tf.estimator.tpu.TPUEstimator):
    def __init__(self, head, config):
        def model_fn(features, labels, mode, params):
            return head(mode, loss_of(features))

        super().__init__(model_fn=model_fn, config=config, use_tpu=False, train_batch_size=64)
""",
    "a root with an __init__": """
# file: __init__.py
# file: train.py
import tensorflow as tf
from network import layers

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

@tf.function
def train(x):
    return strategy.run(layers.step, args=(x,))
# file: network/layers.py
import tensorflow as tf

def step(x):
    return tf.py_function(abs, [x], tf.float32)  # error: TPU501
""",
    "a module below src": """
# file: scripts/train.py
import tensorflow as tf
from network.layers import step

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
# file: src/network/layers.py
import tensorflow as tf

def step(x):
    return tf.py_function(abs, [x], tf.float32)  # error: TPU501
""",
    "a strategy of a named tuple of another module": V2
    + """
import setup

context = setup.make()

@tf.function
def train(x):
    def step(x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501
    return context.strategy.run(step, args=(x,))
# file: setup.py
import tensorflow as tf
from kinds import Context

def make():
    return Context(tf.distribute.TPUStrategy(), 8)
# file: kinds.py
import collections

Context = collections.namedtuple("Context", ["strategy", "replicas"])
""",
    "a strategy unpacked from a typing.NamedTuple": V2
    + """
from kinds import Context

strategy, replicas = Context(tf.distribute.TPUStrategy(), replicas=8)

@tf.function
def train(x):
    def step(x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501
    return strategy.run(step, args=(x,))
# file: kinds.py
from typing import NamedTuple

class Context(NamedTuple):
    strategy: object
    replicas: int
""",
    "a strategy of a factory that a flag decides": V2
    + """
import distribute

strategy = distribute.get_distribution_strategy("tpu")

@tf.function
def train(x):
    def step(x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501
    return strategy.run(step, args=(x,))
# file: distribute.py
import tensorflow as tf

def get_distribution_strategy(name, tpu_address=None):
    if name == "off":
        return None
    if name == "tpu":
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=tpu_address)
        return tf.distribute.TPUStrategy(resolver)
    return tf.distribute.MirroredStrategy()
""",
    "a default that setattr overwrites": V2
    + """
class Config:
    use_tpu = False
    def __init__(self, **kwargs):
        self.on_host = False
        for key, value in kwargs.items():
            setattr(self, key, value)

def train(config, resolver):
    if config.use_tpu:
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        with strategy.scope():
            pass

        @tf.function
        def steps(x):
            def step(x):
                return tf.py_function(abs, [x], tf.float32)  # error: TPU501
            return strategy.run(step, args=(x,))
        steps(1.0)

train(Config(use_tpu=True), None)
""",
    "a default that __dict__ overwrites": V2
    + """
class Config:
    def __init__(self, kwargs):
        self.use_tpu = False
        for key, value in kwargs.items():
            self.__dict__[key] = value

def train(config, resolver):
    if config.use_tpu:
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)

        @tf.function
        def steps(x):
            def step(x):
                return tf.py_function(abs, [x], tf.float32)  # error: TPU501
            return strategy.run(step, args=(x,))
        steps(1.0)

train(Config(load()), None)
""",
    "a variable behind a test that is outside the step": V2
    + """
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

def train(dataset, limit=None):
    if limit is None:
        limit = 10

    @tf.function
    def steps(x):
        def step(x):
            return tf.Variable(x)  # error: TPU104
        return strategy.run(step, args=(x,))

    if dataset is not None:
        steps(dataset)

def main(dataset=None):
    if dataset is not None:
        @tf.function
        def steps(x):
            def step(x):
                return tf.Variable(x)  # error: TPU104
            return strategy.run(step, args=(x,))
        steps(dataset)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fault_is_reported(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
