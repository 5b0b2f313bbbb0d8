"""TPUEstimator, in the releases of TensorFlow that still have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tpulint.runtime as tpu

tf1 = tf.compat.v1

if hasattr(tf1, "estimator"):

    def test_train_evaluate_and_predict_with_a_host_call(tmp_path: Path) -> None:
        shapes: list[tuple[int, ...]] = []

        def host_fn(losses: Any) -> Any:
            def look(values: Any) -> Any:
                shapes.append(values.shape)
                return np.float32(values.mean())

            return tf1.py_func(look, [losses], tf.float32)

        def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
            spec = tf1.estimator.tpu.TPUEstimatorSpec
            weight = tf1.get_variable("weight", [3, 1])
            y = tf.matmul(features["x"], weight)
            if mode == tf1.estimator.ModeKeys.PREDICT:
                return spec(mode, predictions={"y": y})
            loss = tf.reduce_mean((y - labels) ** 2)
            one = tf.reshape(loss, [1])
            if mode == tf1.estimator.ModeKeys.EVAL:
                metrics = (lambda values: {"mean": tf1.metrics.mean(values)}, [one])
                return spec(mode, loss=loss, eval_metrics=metrics)
            optimizer = tf1.tpu.CrossShardOptimizer(tf1.train.GradientDescentOptimizer(0.1))
            train = optimizer.minimize(loss, global_step=tf1.train.get_global_step())
            return spec(mode, loss=loss, train_op=train, host_call=(host_fn, [one]))

        def examples(params: Any) -> Any:
            pairs = tf.data.Dataset.from_tensors(({"x": tf.ones([3])}, tf.ones([1])))
            return pairs.repeat(64).batch(params["batch_size"], drop_remainder=True)

        def questions(params: Any) -> Any:
            return examples(params).map(lambda features, labels: features)

        with tpu.emulated_tpu(num_replicas=2):
            estimator = tf1.estimator.tpu.TPUEstimator(
                model_fn,
                config=tf1.estimator.tpu.RunConfig(
                    cluster=tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu"),
                    model_dir=str(tmp_path),
                    tpu_config=tf1.estimator.tpu.TPUConfig(iterations_per_loop=2, num_shards=2),
                ),
                train_batch_size=8,
                eval_batch_size=8,
                predict_batch_size=8,
            )
            estimator.train(examples, max_steps=4)
            assert estimator.get_variable_value("global_step") == 4
            assert shapes == [(2,)] * 4
            first = estimator.evaluate(examples, steps=2)
            estimator.train(examples, max_steps=8)
            second = estimator.evaluate(examples, steps=2)
            assert second["mean"] < first["mean"]
            assert len(list(estimator.predict(questions))) == 64
