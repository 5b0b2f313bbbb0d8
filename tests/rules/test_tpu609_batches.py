"""Sizes of batches that input functions choose, and what TPUEstimator asks of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

PROGRAM = """
import sys
import tensorflow.compat.v1 as tf
import library

tpu = tf.estimator.tpu
Input = tpu.InputPipelineConfig
per_core = tpu.TPUConfig(per_host_input_for_training=Input.PER_HOST_V2)
more = len(sys.argv) > 1

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    update = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()).minimize(loss)
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update)

def input_fn(params):
    dataset = tf.data.Dataset.range(4096).repeat()
    return dataset.{batch}

config = tpu.RunConfig(tpu_config={config})
estimator = tpu.TPUEstimator(
    model_fn, config=config, train_batch_size=256, eval_batch_size=64, params={{"mine": 256}}
)
estimator.{use}
"""
BATCH = "batch(256, drop_remainder=True)"
TRAIN = "train(input_fn, max_steps=10)"
ONE_HOST = "tpu.TPUConfig(num_shards=8)"
POD = "tpu.TPUConfig(num_shards=64)"
CASES = {
    "each core": ("per_core", BATCH, TRAIN, True),
    "each core, by a parameter of one's own": (
        "per_core",
        'batch(params["mine"], drop_remainder=True)',
        TRAIN,
        True,
    ),
    "each core, by the size that is given": (
        "per_core",
        'batch(params["batch_size"], drop_remainder=True)',
        TRAIN,
        False,
    ),
    "each core of a shard": (
        "tpu.TPUConfig(per_host_input_for_training=False)",
        BATCH,
        TRAIN,
        True,
    ),
    "a batch that is mapped": (
        "per_core",
        "apply(tf.data.experimental.map_and_batch(tf.identity, 256, drop_remainder=True))",
        TRAIN,
        True,
    ),
    "one host": (ONE_HOST, BATCH, TRAIN, False),
    "one host, of another size": (ONE_HOST, "batch(32, drop_remainder=True)", TRAIN, True),
    "several hosts": (POD, BATCH, TRAIN, True),
    "the part of a host": (POD, "batch(32, drop_remainder=True)", TRAIN, False),
    "hosts that are not counted": ("tpu.TPUConfig()", BATCH, TRAIN, False),
    "more than there is": ("tpu.TPUConfig()", "batch(512, drop_remainder=True)", TRAIN, True),
    "an evaluation of a shard's core": (
        "tpu.TPUConfig(per_host_input_for_training=False)",
        "batch(64, drop_remainder=True)",
        "evaluate(input_fn, steps=1)",
        False,
    ),
    "one replica": (
        "tpu.TPUConfig(num_shards=1, per_host_input_for_training=Input.PER_HOST_V2)",
        BATCH,
        TRAIN,
        False,
    ),
    "the same for each core": (
        "tpu.TPUConfig(per_host_input_for_training=Input.BROADCAST)",
        BATCH,
        TRAIN,
        False,
    ),
    "a configuration that is not seen": ("library.config()", BATCH, TRAIN, False),
    "a size that is not seen": ("per_core", "batch(library.size())", TRAIN, False),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes_of_batches(name: str, tmp_path: Path) -> None:
    config, batch, use, finding = CASES[name]
    text = PROGRAM.format(config=config, batch=batch, use=use)
    assert certainties(text, tmp_path, "TPU609") == ["definite"] * finding


OF_FLAGS = """
import argparse
import library
import tensorflow.compat.v1 as tf
from absl import flags

more = library.more
options = argparse.ArgumentParser().parse_args()
size = {whole}

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    update = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()).minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update)

def input_fn(params):
    return tf.data.Dataset.range(4096).repeat().batch({size}, drop_remainder=True)

tpu_config = tf.estimator.tpu.TPUConfig({config})
config = tf.estimator.tpu.RunConfig(tpu_config=tpu_config)
estimator = tf.estimator.tpu.TPUEstimator(model_fn, config=config, train_batch_size=size)
estimator.train(input_fn, max_steps=10)
"""
EACH_CORE = "per_host_input_for_training=tf.estimator.tpu.InputPipelineConfig.PER_HOST_V2"


@pytest.mark.parametrize(
    ("whole", "size", "config", "verdicts"),
    [
        ("flags.FLAGS.size", "tf.flags.FLAGS.size", EACH_CORE, ["definite"]),
        ("flags.FLAGS.size", "tf.flags.FLAGS.eval_size", EACH_CORE, []),
        ("flags.FLAGS.size", "32", EACH_CORE, ["possible"]),
        ("flags.FLAGS.size", "32", "num_shards=8", ["possible"]),
        ("flags.FLAGS.size", 'params["batch_size"]', "num_shards=8", []),
        ("flags.FLAGS.size", "tf.flags.FLAGS.batch", "num_shards=8", ["possible"]),
        ("256", "flags.FLAGS.size", "num_shards=8", ["possible"]),
        ("256", "flags.FLAGS.size", "num_shards=64", []),
        ("library.size", "flags.FLAGS.size", "num_shards=8", []),
        # The branch of evaluation, as the input_fn of both modes has it.
        ("flags.FLAGS.size", "flags.FLAGS.batch if more else size", "num_shards=8", []),
        ("options.size", "options.size", EACH_CORE, ["definite"]),
        ("options.size", "options.eval_size", EACH_CORE, []),
        ("options.size", "32", "num_shards=8", ["possible"]),
    ],
)
def test_sizes_that_flags_say(
    whole: str, size: str, config: str, verdicts: list[str], tmp_path: Path
) -> None:
    text = OF_FLAGS.format(whole=whole, size=size, config=config)
    assert certainties(text, tmp_path, "TPU609") == verdicts


@pytest.mark.parametrize(
    ("default", "config", "verdict"),
    [
        ("32", "num_shards=8", "unlikely"),
        ("64", "num_shards=8", "possible"),
        ("32", EACH_CORE, "possible"),  # each core gets what all get together
    ],
)
def test_false_positive_at_the_default_of_the_flag(
    default: str, config: str, verdict: str, tmp_path: Path
) -> None:
    """The size is written twice, and both agree as long as nobody sets the flag."""
    text = OF_FLAGS.format(whole="flags.FLAGS.size", size="32", config=config)
    text = text.replace(
        "\ndef input_fn", f'\nflags.DEFINE_integer("size", {default}, "of all")\n\ndef input_fn'
    )
    assert certainties(text, tmp_path, "TPU609") == [verdict]
