"""TPUEstimator on a pod, in the releases of TensorFlow that still have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

tf1 = tf.compat.v1

if hasattr(tf1, "estimator"):
    tpu1 = tf1.estimator.tpu
    PER_HOST = tpu1.InputPipelineConfig.PER_HOST_V1
    OWN = tpu1.InputPipelineConfig.PER_HOST_V2

    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        weight = tf1.get_variable("weight", [1, 1], initializer=tf1.zeros_initializer())
        loss = tf.reduce_mean((tf.matmul(features, weight) - labels) ** 2)
        if mode == tf1.estimator.ModeKeys.EVAL:
            metrics = (lambda values: {"mean": tf1.metrics.mean(values)}, [tf.reshape(loss, [1])])
            return tpu1.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
        optimizer = tf1.tpu.CrossShardOptimizer(tf1.train.GradientDescentOptimizer(0.01))
        train = optimizer.minimize(loss, global_step=tf1.train.get_global_step())
        host_call = (lambda losses: tf.identity(losses), [tf.reshape(loss, [1])])
        return tpu1.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=host_call)

    class Inputs:
        """An input function, and the deployments that it was called with."""

        def __init__(self) -> None:
            self.calls: list[tuple[str, int, int]] = []

        def __call__(self, params: Any) -> Any:
            device, number, hosts, _ = params["context"].current_input_fn_deployment()
            self.calls.append((device, number, params["batch_size"]))
            return self.examples(number, hosts).batch(params["batch_size"], drop_remainder=True)

        def examples(self, number: int, hosts: int) -> Any:
            rows = tf.data.Dataset.range(64, output_type=tf.float32).repeat().shard(hosts, number)
            return rows.map(lambda x: (tf.reshape(x / 64.0, [1]), tf.ones([1])))

    class InputsInPython(Inputs):
        def examples(self, number: int, hosts: int) -> Any:
            rows = super().examples(number, hosts)

            def same(label: Any) -> Any:
                return tf.ensure_shape(tf1.py_func(np.copy, [label], tf.float32), [1])

            return rows.map(lambda x, label: (x, same(label)))

    def estimator(folder: Path, kind: Any) -> Any:
        return tpu1.TPUEstimator(
            model_fn,
            config=tpu1.RunConfig(
                cluster=tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu"),
                model_dir=str(folder),
                tpu_config=tpu1.TPUConfig(iterations_per_loop=2, per_host_input_for_training=kind),
            ),
            train_batch_size=16,
            eval_batch_size=8,
        )

    @pytest.mark.parametrize("kind", [PER_HOST, OWN])
    def test_the_input_function_is_called_once_a_host(tmp_path: Path, kind: Any) -> None:
        weights = []
        for hosts in (1, 2, 4):
            inputs = Inputs()
            with tpu.emulated_tpu(4, hosts=hosts):
                trained = estimator(tmp_path / str(hosts), kind)
                trained.train(inputs, max_steps=4)
            job = "/job:worker" if hosts > 1 else "/replica:0"
            size = 4 if kind == OWN else 16 // hosts
            assert inputs.calls == [
                (f"{job}/task:{number}/device:CPU:0", number, size) for number in range(hosts)
            ]
            weights.append(trained.get_variable_value("weight").item())
        assert weights[0] > 0
        assert weights == pytest.approx([weights[0]] * 3, rel=1e-5)

    def test_each_host_evaluates_its_own_batches(tmp_path: Path) -> None:
        inputs = Inputs()
        with tpu.emulated_tpu(4, hosts=2):
            trained = estimator(tmp_path, OWN)
            trained.train(inputs, max_steps=2)
            actual = trained.evaluate(inputs, steps=2)
        weight = trained.get_variable_value("weight").item()
        rows = np.arange(16) / 64.0  # of both hosts: with those of one, twice, it is another mean
        assert actual["mean"] == pytest.approx(np.mean((weight * rows - 1.0) ** 2), rel=1e-5)
        assert [size for _, _, size in inputs.calls] == [4, 4, 2, 2]

    def test_evaluation_without_batches_of_their_own_is_refused(tmp_path: Path) -> None:
        with tpu.emulated_tpu(4, hosts=2):
            trained = estimator(tmp_path, PER_HOST)
            with pytest.raises(ValueError, match="only supported under three conditions"):
                trained.evaluate(Inputs(), steps=2)

    def test_python_in_the_input_function_is_the_rules_error(tmp_path: Path) -> None:
        with tpu.emulated_tpu(4, hosts=2), pytest.raises(tpu.HostOnlyInputError) as caught:
            estimator(tmp_path, OWN).train(InputsInPython(), max_steps=2)
        assert caught.value.rule == "TPU607"
        assert (caught.value.place or "").rpartition(":")[0] == __file__
        with tpu.emulated_tpu(4):
            estimator(tmp_path / "one", OWN).train(InputsInPython(), max_steps=2)
