"""Programs with TPU606, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import NETWORK

PROGRAMS = {
    "params of a file that get their size by an item": NETWORK
    + """
import argparse
import collections
import json

def estimator_of(params):
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        params=params,  # error: TPU606
        train_batch_size=64,
        config=tf.estimator.tpu.RunConfig(),
    )

def read(path):
    with open(path) as file:
        return collections.defaultdict(lambda: None, json.load(file))

params = read("model.json")
params["batch_size"] = params["train_batch_size"]
estimator_of(params)
options = vars(argparse.ArgumentParser().parse_args())
options["context"] = "a"
estimator_of(options)
""",
    "innocent neighbors of items": NETWORK
    + """
import json

def estimator_of(params):
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        params=params,
        train_batch_size=64,
        config=tf.estimator.tpu.RunConfig(),
    )

def read(path):
    with open(path) as file:
        return json.load(file)

other = read("a.json")
other["use_tpu"] = True
estimator_of(other)
later = read("b.json")
estimator_of(later)
later["batch_size"] = 8
deleted = read("c.json")
deleted["batch_size"] = 8
del deleted["batch_size"]
estimator_of(deleted)
taken = read("d.json")
taken["batch_size"] = 8
print(taken.pop("batch_size"))
estimator_of(taken)
local = read("e.json")
if local["use_tpu"]:
    estimator_of(local)
else:
    local["batch_size"] = 8
    tf.estimator.Estimator(model_fn, params=local)
""",
    "params that get their size where no TPU is meant": NETWORK
    + """
def main(flags):
    params = dict(rate=0.1, mode=flags.mode)
    if flags.strategy == "mirrored":
        params["batch_size"] = flags.train_batch_size // flags.gpus
    elif flags.strategy == "tpu":
        return tf.estimator.tpu.TPUEstimator(
            model_fn,
            params=params,
            use_tpu=True,
            train_batch_size=64,
            config=tf.estimator.tpu.RunConfig(),
        )
    return tf.estimator.Estimator(model_fn, params=params)
""",
    # False alarms in Mask R-CNN of MLPerf.
    "a copy of params that get their size in another branch, by a call": NETWORK
    + """
def main(flags):
    params = dict(rate=0.1, mode=flags.mode)
    if flags.mode == "train":
        params["batch_size"] = flags.train_batch_size // flags.cores
    elif flags.mode == "eval":
        return tf.estimator.tpu.TPUEstimator(
            model_fn,
            params=dict(params, rate=0.2),
            use_tpu=True,
            train_batch_size=64,
            config=tf.estimator.tpu.RunConfig(),
        )
    return None
""",
    "a copy of params that get their size in another branch, by a display": NETWORK
    + """
def main(flags):
    params = dict(rate=0.1, mode=flags.mode)
    if flags.mode == "train":
        params["batch_size"] = flags.train_batch_size // flags.cores
    elif flags.mode == "eval":
        return tf.estimator.tpu.TPUEstimator(
            model_fn,
            params={**params, "rate": 0.2},
            use_tpu=True,
            train_batch_size=64,
            config=tf.estimator.tpu.RunConfig(),
        )
    return None
""",
    "a copy of params that have their size": NETWORK
    + """
def main(flags):
    params = dict(rate=0.1, mode=flags.mode)
    params["batch_size"] = flags.train_batch_size // flags.cores
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        params=dict(params, rate=0.2),  # error: TPU606
        use_tpu=True,
        train_batch_size=64,
        config=tf.estimator.tpu.RunConfig(),
    )
""",
    # A false alarm in NCF of MLPerf: an estimator that only evaluates needs a size for training.
    "a size that its caller never trains with": NETWORK
    + """
def build(size):
    config = tf.estimator.tpu.RunConfig(tpu_config=tf.estimator.tpu.TPUConfig(num_shards=8))
    return tf.estimator.tpu.TPUEstimator(
        model_fn, use_tpu=True, train_batch_size=1, eval_batch_size=size, config=config
    )

def main():
    build(64).evaluate(lambda params: tf.data.Dataset.range(64), steps=1)
""",
    "params from which the size is taken first": NETWORK
    + """
def main(rate):
    params = {"rate": rate, "batch_size": 64}
    if "batch_size" in params:
        del params["batch_size"]
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        params=params,
        use_tpu=True,
        train_batch_size=64,
        config=tf.estimator.tpu.RunConfig(),
    )
""",
    "params from which the size is taken where a TPU is meant": NETWORK
    + """
def main(flags, **given):
    params = dict(rate=0.1, batch_size=flags.size)
    config = tf.estimator.tpu.RunConfig()
    if flags.use_tpu:
        if "batch_size" in params:
            params.pop("batch_size")
        estimator = tf.estimator.tpu.TPUEstimator(model_fn, config=config, params=params)
    else:
        params["batch_size"] = flags.host_size
        estimator = tf.estimator.Estimator(model_fn, params=params)
    return estimator

def some(flags):
    params = dict(rate=0.1, batch_size=flags.size)
    if flags.is_large:
        params.pop("batch_size")
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        config=tf.estimator.tpu.RunConfig(),
        params=params,  # possible: TPU606
    )
""",
    "params that are built up step by step": NETWORK
    + """
def main(flags):
    params = flags.values()
    params = dict(params, rate=0.1)
    params["context"] = flags.context
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        config=tf.estimator.tpu.RunConfig(),
        params=params,  # error: TPU606
        train_batch_size=64,
    )
""",
    "copies that set the size which another branch may have set": NETWORK
    + """
def main(flags):
    params = dict(rate=0.1)
    if flags.low_level:
        params["batch_size"] = flags.train_batch_size // flags.cores
    tf.estimator.tpu.TPUEstimator(
        model_fn,
        config=tf.estimator.tpu.RunConfig(),
        params=dict(params, batch_size=8),  # error: TPU606
        train_batch_size=64,
    )
    tf.estimator.tpu.TPUEstimator(
        model_fn,
        config=tf.estimator.tpu.RunConfig(),
        params={**params, "batch_size": 8},  # error: TPU606
        train_batch_size=64,
    )
""",
    "hyperparameters of TensorFlow 1": """
import tensorflow as tf

from network import model_fn

hparams = tf.contrib.training.HParams(rate=0.1, batch_size=128)
estimator = tf.contrib.tpu.TPUEstimator(
    model_fn,
    params=hparams,  # error: TPU606
    use_tpu=True,
    train_batch_size=128,
    config=tf.contrib.tpu.RunConfig(),
)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
