"""TPUEstimator, in the releases of TensorFlow that still have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime.execute import waiting
from tpulint.runtime.run_statistics import running

tf1 = tf.compat.v1

if hasattr(tf1, "estimator"):
    from tensorflow.python.tpu import tpu_embedding
    from tensorflow_estimator.python.estimator.tpu import error_handling

    tpu1 = tf1.estimator.tpu

    def model(host_fn: Any) -> Any:
        """Return a linear model, whose losses go to `host_fn`."""

        def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
            weight = tf1.get_variable("weight", [3, 1])
            y = tf.matmul(features["x"], weight)
            if mode == tf1.estimator.ModeKeys.PREDICT:
                text = tf1.tpu.outside_compilation(tf.strings.as_string, y)
                served = {
                    "serving_default": tf1.estimator.export.PredictOutput({"y": y}),
                    "texts": tf1.estimator.export.PredictOutput({"text": text}),
                }
                return tpu1.TPUEstimatorSpec(mode, predictions={"y": y}, export_outputs=served)
            loss = tf.reduce_mean((y - labels) ** 2)
            one = tf.reshape(loss, [1])
            if mode == tf1.estimator.ModeKeys.EVAL:
                metrics = (lambda values: {"mean": tf1.metrics.mean(values)}, [one])
                return tpu1.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
            optimizer = tf1.tpu.CrossShardOptimizer(tf1.train.GradientDescentOptimizer(0.1))
            train = optimizer.minimize(loss, global_step=tf1.train.get_global_step())
            host_call = (host_fn, [one])
            return tpu1.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=host_call)

        return model_fn

    def ignored(losses: Any) -> Any:
        return tf.identity(losses)

    def examples(params: Any) -> Any:
        pairs = tf.data.Dataset.from_tensors(({"x": tf.ones([3])}, tf.ones([1])))
        return pairs.repeat(64).batch(params["batch_size"], drop_remainder=True)

    def questions(params: Any) -> Any:
        return examples(params).map(lambda features, labels: features)

    def estimator(folder: Path, host_fn: Any = ignored, model_fn: Any = None, **config: Any) -> Any:
        return tpu1.TPUEstimator(
            model_fn or model(host_fn),
            config=tpu1.RunConfig(
                cluster=tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu"),
                model_dir=str(folder),
                session_config=tf1.ConfigProto(),
                tpu_config=tpu1.TPUConfig(iterations_per_loop=2, **config),
            ),
            train_batch_size=8,
            eval_batch_size=8,
            predict_batch_size=8,
            export_to_tpu=True,
        )

    def test_train_evaluate_and_predict_with_a_host_call(tmp_path: Path) -> None:
        shapes: list[tuple[int, ...]] = []

        def host_fn(losses: Any) -> Any:
            def look(values: Any) -> Any:
                shapes.append(values.shape)
                return np.float32(values.mean())

            return tf1.py_func(look, [losses], tf.float32)

        with running(2, None) as watch:
            trained = estimator(tmp_path, host_fn, num_shards=2)
            trained.train(examples, max_steps=4)
            assert trained.get_variable_value("global_step") == 4
            assert shapes == [(2,)] * 4
            first = trained.evaluate(examples, steps=2)
            trained.train(examples, max_steps=8)
            second = trained.evaluate(examples, steps=2)
            assert second["mean"] < first["mean"]
            assert len(list(trained.predict(questions))) == 64
        training, evaluation, *_ = watch.computations.values()
        assert training.lanes["infeed"].bytes_to_device == 4 * 8 * 4 * (3 + 1)
        assert training.lanes["outfeed"].bytes_to_host == 4 * 2 * 4
        assert evaluation.lanes["outfeed"].bytes_to_host == 2 * 2 * 4

    def test_an_evaluation_whose_metrics_are_no_metrics_ends(
        tmp_path: Path, monkeypatch: Any
    ) -> None:
        """Its last run takes from the outfeed once more than the device fills it."""

        def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
            spec = model(ignored)(features, labels, mode, params)
            if mode == tf1.estimator.ModeKeys.EVAL:
                _, tensors = spec.eval_metrics
                metrics = (lambda values: {"negative": -values}, tensors)
                return spec._replace(eval_metrics=metrics)
            return spec

        monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 1.0)
        with tpu.emulated_tpu(num_replicas=2):
            trained = estimator(tmp_path, model_fn=model_fn, num_shards=2)
            trained.train(examples, max_steps=2)
            with pytest.raises(tpu.DeadlockError, match="waits for the outfeed of core"):
                trained.evaluate(examples, steps=2)

    @pytest.mark.parametrize("form", ["PER_SHARD_V1", "PER_HOST_V1", "PER_HOST_V2", "BROADCAST"])
    def test_inputs_for_each_shard_or_host(tmp_path: Path, form: str) -> None:
        sizes: list[int] = []

        def input_fn(params: Any) -> Any:
            sizes.append(params["batch_size"])
            if "V1" in form:
                return tf1.data.make_one_shot_iterator(examples(params)).get_next()
            return examples(params)

        with tpu.emulated_tpu(num_replicas=2):
            per_host = getattr(tpu1.InputPipelineConfig, form)
            trained = estimator(tmp_path, num_shards=2, per_host_input_for_training=per_host)
            trained.train(input_fn, max_steps=2)
            assert trained.get_variable_value("global_step") == 2
        batches = {"PER_SHARD_V1": [4, 4], "PER_HOST_V1": [8], "PER_HOST_V2": [4], "BROADCAST": [8]}
        assert sizes == batches[form]

    def test_cores_of_one_replica_count_as_one_and_split_its_input(tmp_path: Path) -> None:
        with tpu.emulated_tpu(num_replicas=2, cores_per_replica=2):
            trained = estimator(
                tmp_path,
                num_shards=2,
                num_cores_per_replica=2,
                input_partition_dims=[{"x": [2, 1]}, None],
                per_host_input_for_training=tpu1.InputPipelineConfig.PER_HOST_V2,
            )
            trained.train(examples, max_steps=2)
            assert trained.get_variable_value("global_step") == 2

    def test_a_fault_comes_before_what_the_other_threads_raise() -> None:
        def host(a: Any) -> Any:
            with tf.control_dependencies([a]):
                return a + weight.read_value()

        met = error_handling.ErrorRendezvous(2)
        with met.catch_errors("outfeed"):
            raise tf.errors.CancelledError(None, None, "The session has been closed.")
        with tf.Graph().as_default(), tf1.Session() as session, tpu.emulated_tpu(num_replicas=2):
            weight = tf1.get_variable("weight", initializer=1.0, use_resource=True)
            step = tpu.rewrite(
                lambda: weight.assign_add(
                    tpu.outside_compilation(host, weight.read_value() * 2.0), read_value=False
                )
            )
            session.run(weight.initializer)
            with met.catch_errors("training_loop"):
                session.run(step)
        with pytest.raises(tpu.DeadlockError, match="weight"):
            met.raise_errors()

    def test_train_and_evaluate_then_serve_the_export(tmp_path: Path) -> None:
        def receive() -> Any:
            x = tf1.placeholder(tf.float32, [None, 3], name="x")
            return tf1.estimator.export.ServingInputReceiver({"x": x}, x)

        with tpu.emulated_tpu(num_replicas=2):
            trained = estimator(tmp_path / "model", num_shards=2)
            tf1.estimator.train_and_evaluate(
                trained,
                tf1.estimator.TrainSpec(examples, max_steps=4),
                tf1.estimator.EvalSpec(examples, steps=2, start_delay_secs=0, throttle_secs=0),
            )
            expected = trained.get_variable_value("weight").sum()
            folder = trained.export_saved_model(str(tmp_path / "export"), receive)
            for tags in (["serve"], ["serve", "tpu"]):
                with tf.Graph().as_default(), tf1.Session() as session:
                    loaded = tf1.saved_model.load(session, tags, folder)
                    session.run(tf1.tpu.initialize_system())
                    feeds = {
                        loaded.signature_def["serving_default"].inputs["input"].name: [[1.0] * 3]
                    }
                    y = loaded.signature_def["serving_default"].outputs["y"].name
                    text = loaded.signature_def["texts"].outputs["text"].name
                    y, text = session.run([y, text], feeds)
                    np.testing.assert_allclose(y, [[expected]], rtol=1e-5)
                    np.testing.assert_allclose(float(text[0, 0]), expected, rtol=1e-5)

    def test_the_embedding_hardware_is_refused_in_one_sentence() -> None:
        table = tpu_embedding.TableConfig(vocabulary_size=8, dimension=4)
        features = {"x": tpu_embedding.FeatureConfig("table")}
        refused = pytest.raises(NotImplementedError, match="the emulated TPU has no embedding")
        with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default(), refused:
            tpu_embedding.TPUEmbedding({"table": table}, features, 8, "training")
