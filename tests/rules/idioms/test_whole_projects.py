"""False alarms that real code has shown, about what a whole project does."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import expected, reported

SUMMARY_REMOVED_BY_ANOTHER_METHOD = """
# file: models/model.py
import tensorflow.compat.v1 as tf


class Model:
    @classmethod
    def model_fn(cls, features, labels, mode, params):
        loss = tf.reduce_mean(tf.layers.dense(features, 1))
        tf.summary.scalar("loss", loss)
        return params["model"].spec(mode, loss)

    def spec(self, mode, loss):
        remove_summaries()
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)


def remove_summaries():
    graph = tf.get_default_graph()
    del graph.get_collection_ref(tf.GraphKeys.SUMMARIES)[:]


def build(config):
    return tf.estimator.tpu.TPUEstimator(
        Model.model_fn, config=config, use_tpu=True, train_batch_size=64
    )
"""
SUMMARY_OUTSIDE_ALL_REWRITES = """
import mesh_tensorflow as mtf
import tensorflow.compat.v1 as tf


def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    with mtf.utils.outside_all_rewrites():
        tf.summary.scalar("rate", 0.1 * tf.to_float(tf.train.get_global_step()))
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)


def build(config):
    return tf.estimator.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=True, train_batch_size=64
    )
"""
REMOVES = "        remove_summaries()\n"
OUTSIDE = "mtf.utils.outside_all_rewrites()"


def test_a_summary_that_the_model_takes_away_again(tmp_path: Path) -> None:
    assert reported(SUMMARY_REMOVED_BY_ANOTHER_METHOD, tmp_path, ["TPU5"]) == []


def test_the_same_summary_where_nothing_takes_it_away(tmp_path: Path) -> None:
    fixed = SUMMARY_REMOVED_BY_ANOTHER_METHOD.replace(REMOVES, "")
    fixed = fixed.replace('scalar("loss", loss)', 'scalar("loss", loss)  # error: TPU501')
    assert reported(fixed, tmp_path, ["TPU5"]) == expected(fixed, ["TPU5"])


def test_a_summary_outside_all_rewrites(tmp_path: Path) -> None:
    assert reported(SUMMARY_OUTSIDE_ALL_REWRITES, tmp_path, ["TPU5"]) == []


def test_the_same_summary_under_a_name_scope(tmp_path: Path) -> None:
    inside = SUMMARY_OUTSIDE_ALL_REWRITES.replace(OUTSIDE, 'tf.name_scope("rate")')
    inside = inside.replace("get_global_step()))", "get_global_step()))  # error: TPU501")
    assert reported(inside, tmp_path, ["TPU5"]) == expected(inside, ["TPU5"])


def test_modules_of_the_wheel_beside_the_public_names(tmp_path: Path) -> None:
    text = """
import tensorflow.distribute.experimental.rpc.kernels.gen_rpc_ops as gen_rpc_ops
from tensorflow.distribute.experimental.rpc.proto import tf_rpc_service_pb2 as rpc_pb2
"""
    assert reported(text, tmp_path, ["TPU8"]) == []
    wrong = "import tensorflow.distribute.experimental.rpcs  # error: TPU801\n"
    assert reported(wrong, tmp_path, ["TPU8"]) == expected(wrong, ["TPU8"])


ESTIMATOR_WITHOUT_TPU = """
# file: models/vae.py
import tensorflow.compat.v1 as tf


class Vae:
    def model_fn(self, features, labels, mode, params):
        loss = tf.reduce_mean(tf.layers.dense(features, 1))
        tf.summary.scalar("loss", loss)
        hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=100)
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[hook])
# file: models/train.py
import tensorflow.compat.v1 as tf


def train(model, config):
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn=model.model_fn, config=config, use_tpu=False, train_batch_size=64
    )
    estimator.train(model.input_fn, steps=100)
"""


def test_a_model_fn_of_a_project_whose_estimators_use_no_tpu(tmp_path: Path) -> None:
    assert reported(ESTIMATOR_WITHOUT_TPU, tmp_path, ["TPU"]) == []


def test_the_same_model_fn_where_one_may_use_it(tmp_path: Path) -> None:
    used = ESTIMATOR_WITHOUT_TPU.replace("use_tpu=False", "use_tpu=config.use_tpu")
    used = used.replace('scalar("loss", loss)', 'scalar("loss", loss)  # error: TPU501')
    used = used.replace("every_n_iter=100)", "every_n_iter=100)  # error: TPU406")
    assert reported(used, tmp_path, ["TPU"]) == expected(used, ["TPU"])
