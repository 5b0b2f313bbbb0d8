"""The replicas that the configuration of a TPUEstimator gives, and what it leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties, reported

MODEL_FN = """
import sys
import tensorflow.compat.v1 as tf
import library

tpu = tf.estimator.tpu
Input = tpu.InputPipelineConfig

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    update = tf.train.AdamOptimizer().minimize(loss)
    record = lambda value: tf.summary.scalar("loss", value[0])
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=update, host_call=(record, [loss]))

estimator = tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=64, config={})
"""
# A scalar goes through the outfeed (TPU603): each core has one, or one core for all.
FEEDING = {
    "tpu.RunConfig()": "definite",
    "tpu.RunConfig(tpu_config=tpu.TPUConfig())": "definite",
    "tpu.RunConfig(tpu_config=None)": "definite",
    "tpu.RunConfig(tpu_config=library.tpu_config())": "possible",
    "library.config()": "possible",
    **{
        f"tpu.RunConfig(tpu_config=tpu.TPUConfig(per_host_input_for_training={mode}))": sure
        for mode, sure in {
            "True": "definite",
            "Input.PER_HOST_V2": "definite",
            "Input.PER_HOST_V1 if len(sys.argv) > 1 else Input.PER_HOST_V2": "definite",
            "Input.PER_HOST_V2 if len(sys.argv) > 1 else library.FEEDING": "possible",
            "library.feeding()": "possible",
            "Input.BROADCAST": None,
            "Input.PER_HOST_V2 if len(sys.argv) > 1 else Input.BROADCAST": None,
        }.items()
    },
}
# Nothing sums the gradients of the replicas (TPU604): there are several, or one.
REPLICAS = {
    "library.config()": True,
    "tpu.RunConfig()": True,
    **{
        f"tpu.RunConfig(tpu_config=tpu.TPUConfig({settings}))": several
        for settings, several in {
            "num_shards=8": True,
            "num_shards=1": False,
            "num_shards=1 if len(sys.argv) > 1 else 8": False,
            "num_cores_per_replica=None": True,
            "num_cores_per_replica=8": False,
            "100, 8": True,
            "100, 1": False,
            "100, 8, 8": False,
        }.items()
    },
}


@pytest.mark.parametrize("config", FEEDING)
def test_whether_each_core_is_fed(config: str, tmp_path: Path) -> None:
    found = certainties(MODEL_FN.format(config), tmp_path, "TPU603")
    assert found == ([FEEDING[config]] if FEEDING[config] else [])


@pytest.mark.parametrize("config", REPLICAS)
def test_whether_there_are_several_replicas(config: str, tmp_path: Path) -> None:
    assert bool(reported(MODEL_FN.format(config), tmp_path, ["TPU604"])) == REPLICAS[config]
