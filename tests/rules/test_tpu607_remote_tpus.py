"""TPUs on another machine than the pipeline that feeds them, and the certainty of it.

The pipelines hold a `py_function`, which runs on this machine only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

STRATEGY = """
import sys
import tensorflow as tf
from tensorflow.contrib.cluster_resolver import TPUClusterResolver as OldResolver
import library

NAME = library.read("tpu")
Resolver = tf.distribute.cluster_resolver.TPUClusterResolver
resolver = {}
strategy = tf.distribute.TPUStrategy(resolver)

def decode(x):
    return tf.py_function(lambda v: v, [x], tf.int64)

dataset = tf.data.Dataset.range(64).map(decode).batch(8, drop_remainder=True)
strategy.experimental_distribute_dataset(dataset)
"""
# The strategy's resolver, and the certainty of the finding.
RESOLVERS = {
    'Resolver("node-1")': "definite",
    'Resolver(tpu="node-1")': "definite",
    'Resolver("grpc://" + NAME)': "definite",
    'Resolver("node-" + NAME)': "possible",
    'Resolver("node-1" if len(sys.argv) > 1 else "node-2")': "possible",
    'Resolver("node-1") if len(sys.argv) > 1 else Resolver("node-2")': "definite",
    'Resolver("node-1") if len(sys.argv) > 1 else Resolver("local")': "possible",
    'Resolver("node-1") if len(sys.argv) > 1 else None': "definite",
    'Resolver("")': "possible",
    'Resolver("local")': None,
    # A false alarm in a notebook for TPU VMs.
    'Resolver("/device:TPU_SYSTEM:0")': None,
    'Resolver(f"grpc://{NAME}")': "definite",
    'Resolver(f"{NAME}:8470")': "possible",
    "Resolver(NAME)": "possible",
    "Resolver(None)": "possible",
    "Resolver()": "possible",
    'Resolver(zone="europe-west4-a")': "definite",
    'Resolver(project="vision")': "definite",
    'Resolver("", zone=None)': "possible",
    "Resolver(NAME, zone=NAME)": "possible",
    "OldResolver(NAME)": "definite",
    "library.resolver()": "possible",
    'tf.distribute.cluster_resolver.SlurmClusterResolver("node-1")': "possible",
    "None": "possible",
}
ESTIMATOR = """
import tensorflow.compat.v1 as tf
from tensorflow.contrib.tpu import RunConfig as OldConfig
import library
from network import model_fn

NAME = library.read("tpu")
Config = tf.estimator.tpu.RunConfig
Resolver = tf.distribute.cluster_resolver.TPUClusterResolver

def input_fn(params):
    def decode(x):
        return tf.py_function(lambda v: v, [x], tf.int64)

    return tf.data.Dataset.range(64).map(decode).batch(8, drop_remainder=True)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config={})
estimator.train(input_fn)
"""
# The estimator's configuration, and what is said.
CONFIGS = {
    'Config(cluster=Resolver("node-1"))': "definite",
    "Config(cluster=Resolver(NAME))": "possible",
    'Config(cluster=Resolver("local"))': None,
    'Config(master="grpc://10.240.1.2:8470")': "definite",
    'Config(master="")': None,
    "Config(master=NAME)": "possible",
    "Config(master=7)": "possible",
    "Config(cluster=None)": None,
    "Config()": None,
    'Config(cluster=Resolver(NAME), master="grpc://10.240.1.2:8470")': "definite",
    "OldConfig(cluster=Resolver(NAME))": "definite",
    "OldConfig(master=NAME)": "possible",
    "library.config()": "possible",
}
# Pipelines, and how often they lead for certain to a step that calls Python.
PIPELINES = {
    "decoded.batch(8)": 1,
    "tf.data.Dataset.zip((plain, decoded))": 1,
    'tf.data.Dataset.zip({"x": plain, "y": decoded})': 1,
    "plain.concatenate(decoded)": 1,
    "plain.interleave(lambda n: decoded)": 1,
    "decoded if len(sys.argv) > 1 else other": 2,
    "decoded if len(sys.argv) > 1 else None": 1,
    # Two programs made their examples in Python for GPUs, and read files for TPUs.
    "decoded if len(sys.argv) > 1 else plain": 0,
    "(decoded.map(tf.abs) if len(sys.argv) > 1 else plain).batch(8)": 0,
}


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_local_files_are_reported_through_a_pipeline(pipeline: str, tmp_path: Path) -> None:
    text = f"""
import sys
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("node-1")
strategy = tf.distribute.TPUStrategy(resolver)

def read():
    yield 1

plain = tf.data.Dataset.range(8)
decoded = tf.data.Dataset.from_generator(read, tf.int64)
other = tf.data.Dataset.from_generator(read, tf.int32)
strategy.experimental_distribute_dataset({pipeline})
"""
    assert certainties(text, tmp_path, "TPU607") == ["definite"] * PIPELINES[pipeline]


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_the_resolver_of_a_strategy(resolver: str, tmp_path: Path) -> None:
    actual = certainties(STRATEGY.format(resolver), tmp_path, "TPU607")
    assert actual == ([RESOLVERS[resolver]] if RESOLVERS[resolver] else [])


@pytest.mark.parametrize("config", CONFIGS)
def test_the_configuration_of_an_estimator(config: str, tmp_path: Path) -> None:
    actual = certainties(ESTIMATOR.format(config), tmp_path, "TPU607")
    assert actual == ([CONFIGS[config]] if CONFIGS[config] else [])


def test_an_estimator_of_a_library_that_is_not_seen(tmp_path: Path) -> None:
    text = """
import tensorflow.compat.v1 as tf
from library import estimators, model_fn

maker = estimators.of_rate(tf.constant(0.1))
maker.TPUEstimator(model_fn, use_tpu=True, model_dir="/kaggle/working/model")
"""
    assert certainties(text, tmp_path, "TPU607") == ["possible"]


# What programs ask a resolver without a name, and the certainty: a local TPU has no workers.
ASKED = {
    'print(resolver.cluster_spec().as_dict()["worker"])': "definite",
    'hosts = resolver.cluster_spec().as_dict()\nprint(len(hosts["worker"]))': "definite",
    "print(resolver.cluster_spec().as_dict())": "possible",
    'print(resolver.cluster_spec().as_dict().get("worker"))': "possible",
    'if NAME:\n    print(resolver.cluster_spec().as_dict()["worker"])': "possible",
    'def show():\n    print(resolver.cluster_spec().as_dict()["worker"])': "possible",
    'try:\n    print(resolver.cluster_spec().as_dict()["worker"])\n'
    "except KeyError:\n    print(NAME)": "possible",
    "print(resolver.master())": "possible",
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_resolver_that_has_workers_is_remote(asked: str, tmp_path: Path) -> None:
    text = STRATEGY.format(f"Resolver()\n{asked}")
    assert certainties(text, tmp_path, "TPU607") == [ASKED[asked]]


def test_workers_of_a_resolver_that_is_tried(tmp_path: Path) -> None:
    asked = 'print(resolver.cluster_spec().as_dict()["worker"])'
    tried = f"Resolver(NAME)\n    {asked}\nexcept ValueError:\n    sys.exit()"
    text = STRATEGY.replace("resolver = {}", f"try:\n    resolver = {tried}")
    assert certainties(text, tmp_path, "TPU607") == ["definite"]
