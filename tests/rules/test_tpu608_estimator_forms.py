"""Forms that TPUEstimator refuses: pairs, parameters and specifications."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, findings, program, reported
from tests.rules.openings import ESTIMATOR, V1

SPEC = (
    V1
    + """
import functools
import library

def model_fn(features, labels, mode, params):
    loss, rows = tf.reduce_mean(features), tf.reduce_mean(features, axis=-1)
    def record(rows):
        return {}
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, {})
"""
    + ESTIMATOR
)
PAIRS = {
    "host_call=record": "is a function without its tensors",
    "host_call=functools.partial(record)": "is a function without its tensors",
    "host_call=(functools.partial(record), [rows])": None,
    "host_call=functools.partial(record)(rows)": "is a dict",
    "host_call=(record, rows)": "has neither a list nor a dict as its second element",
    "host_call=(record, tf.tile(rows, [2]))": "has neither a list nor a dict as its second element",
    "host_call=(record, rows if mode else loss)": (
        "has neither a list nor a dict as its second element"
    ),
    "host_call=(record, rows if mode else [loss])": None,
    "eval_metrics=(record, features)": None,
    "host_call=(record, [rows], 1)": "has 3 elements",
    "host_call=([rows], record)": "does not begin with a function",
    "host_call=rows": "is a tensor",
    "eval_metrics={'mean': record}": "is a dict",
    "eval_metrics=(record, [rows])": None,
    "eval_metrics=(record, [rows, 10])": "sends the Python value `10`, which has no dtype",
    "eval_metrics=(record, {'rows': rows, 'k': None})": (
        "sends the Python value `None`, which has no dtype"
    ),
    "eval_metrics=(record, [rows, [loss, rows]])": (
        "sends a list or a dict among the tensors, which has no dtype"
    ),
    "eval_metrics=(record, [rows, loss if mode else 10])": None,
    "eval_metrics=(record, [rows, library.classes])": None,
    "eval_metrics=[record, {'rows': rows}]": None,
    "eval_metrics=None": None,
    "eval_metrics=(record, tf.nest.flatten([rows]))": None,
    "eval_metrics=mode.eval_metrics": None,
    "eval_metrics=library.spec(rows).eval_metrics": None,
    "eval_metrics=(record, tf.unstack(rows))": None,
    "eval_metrics=(record, library.sent(rows))": None,
    "eval_metrics=library.metrics(rows)": None,
    # What is not known is no tensor, whatever else is not known either.
    "host_call=(library.squeeze(), library.sent(rows))": None,
    "predictions=library.squeeze()": None,
    "eval_metrics=(record, [rows]) if params['x'] else record": None,
}
MODEL_FN = """
def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))
"""
PREDICTS = """
estimator = tf.estimator.tpu.TPUEstimator(model_fn, train_batch_size=8, predict_batch_size=8)
estimator.predict(lambda params: tf.data.Dataset.range(8))
"""
PROGRAMS = {
    "a missed alarm: metrics of one mode that are a dict": """
def model_fn(features, labels, mode, params):
    eval_metrics = None
    if mode == tf.estimator.ModeKeys.EVAL:
        eval_metrics = {"mean": tf.metrics.mean(features)}
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(features), eval_metrics=eval_metrics  # error: TPU608
    )
""",
    "a missed alarm: metrics that are a dict where nothing is predicted": """
def model_fn(features, labels, mode, params):
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions={"x": features})
    eval_metrics = None
    if mode == tf.estimator.ModeKeys.EVAL:
        eval_metrics = {"mean": tf.metrics.mean(features)}
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(features), eval_metrics=eval_metrics  # error: TPU608
    )
""",
    "innocent neighbors: metrics of evaluations where the specification trains": """
def model_fn(features, labels, mode, params):
    eval_metrics = None
    loss = tf.reduce_mean(features)
    if mode == tf.estimator.ModeKeys.EVAL:
        eval_metrics = {"mean": tf.metrics.mean(features)}
    if mode == tf.estimator.ModeKeys.TRAIN:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=eval_metrics)
    return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=eval_metrics)
""",
    "innocent neighbors: metrics that are None, or a pair": """
def model_fn(features, labels, mode, params):
    eval_metrics = None
    if mode == tf.estimator.ModeKeys.EVAL:
        def metric_fn(rows):
            return {"mean": tf.metrics.mean(rows)}
        eval_metrics = (metric_fn, [features])
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(features), eval_metrics=eval_metrics, host_call=None
    )
""",
    "innocent neighbors: metrics of a mode whose specification is another one": """
def model_fn(features, labels, mode, params):
    eval_metrics = None
    loss = tf.reduce_mean(features)
    if mode == tf.estimator.ModeKeys.EVAL:
        eval_metrics = {"mean": tf.metrics.mean(features)}
    if mode != tf.estimator.ModeKeys.EVAL:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=eval_metrics)
    return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=eval_metrics)
""",
    "innocent neighbors: metrics that a setting asks for": """
def model_fn(features, labels, mode, params):
    eval_metrics = None
    if params["on_host"]:
        eval_metrics = {"mean": tf.metrics.mean(features)}
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=tf.reduce_mean(features), eval_metrics=eval_metrics
    )
""",
    "a missed alarm: a prediction by a plain specification": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"x": features})  # error: TPU608
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
"""
    + PREDICTS,
    "a false positive: predictions of no mode": """
def model_fn(features, labels, mode, params):
    if mode == tf.estimator.ModeKeys.TRAIN:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions={"x": features})
    return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions=tf.nn.softmax(features))
"""
    + PREDICTS,
    "a false negative: predictions that are one tensor": """
def model_fn(features, labels, mode, params):
    if mode == tf.estimator.ModeKeys.TRAIN:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode,
        predictions=tf.nn.softmax(features),  # error: TPU608
    )
"""
    + PREDICTS,
    "input functions in every call": MODEL_FN
    + ESTIMATOR
    + """
class Reader:
    def __call__(self):
        return tf.data.Dataset.range(8)

    def read(self, params):
        return tf.data.Dataset.range(8)

estimator.train(input_fn=Reader())  # error: TPU608
estimator.train(Reader().read)
estimator.predict(lambda: tf.data.Dataset.range(8))  # error: TPU608
estimator.evaluate(lambda **given: tf.data.Dataset.range(8))
train = tf.estimator.TrainSpec(lambda: tf.data.Dataset.range(8))
tf.estimator.train_and_evaluate(estimator, train, None)  # error: TPU608
""",
    "a model_fn without params": """
def model_fn(features, labels, mode):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn,  # error: TPU608
    train_batch_size=64,
)
""",
    "no TPU": """
def model_fn(features, labels, mode):
    return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_mean(features))

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=False)
estimator.train(lambda: tf.data.Dataset.range(8))
""",
    "decorators and partials that are not seen": MODEL_FN
    + ESTIMATOR
    + """
import functools
import library

@library.configured
def input_fn():
    return tf.data.Dataset.range(8)

def read(path):
    return tf.data.Dataset.range(8)

def batched(path, params):
    return tf.data.Dataset.range(8).batch(params["batch_size"], True).repeat()

def any_of(path, **settings):
    return tf.data.Dataset.range(8)

estimator.train(input_fn)
estimator.train(functools.partial(read, path="x"))  # error: TPU608
estimator.train(functools.partial(batched, "x"))
estimator.train(functools.partial(any_of, "x"))
estimator.train(functools.partial(library.read, "x"))
""",
    "modes of plain specifications": """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if mode != tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    if params["use_tpu"]:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, train_batch_size=8, eval_batch_size=8)
estimator.evaluate(lambda params: tf.data.Dataset.range(8))
""",
    "false alarm found in mlperf's BERT: the other input function is the other estimator's": """
from absl import flags

FLAGS = flags.FLAGS

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

def input_fn(params, context=None):
    return tf.data.Dataset.range(8)

if FLAGS.use_tpu:
    estimator = tf.estimator.tpu.TPUEstimator(model_fn, train_batch_size=8)
else:
    estimator = tf.estimator.Estimator(model_fn)
if FLAGS.use_tpu:
    estimator.train(input_fn)
else:
    estimator.train(lambda context=None: input_fn(None, context))
""",
}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_is_a_function_and_its_tensors(pair: str, tmp_path: Path) -> None:
    text = SPEC.replace("loss=loss, {}", f"loss=loss, {pair}")
    actual = [finding for finding in findings(program(text), tmp_path) if finding.code == "TPU608"]
    kind, fault = pair.split("=")[0], PAIRS[pair]
    output = (
        "TPUEstimator expects a pair of a function and the list or dict of its tensors; pass"
        " `(fn, [tensor])`"
    )
    wanted = [] if fault is None else [f"`{kind}` {fault}: {output}"]
    assert [item.message for item in actual] == wanted
    assert all(item.trace and item.certainty.value == "definite" for item in actual)


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_take_params_and_evaluations_take_their_specification(
    name: str, tmp_path: Path
) -> None:
    text = V1 + PROGRAMS[name]
    assert reported(text, tmp_path, ["TPU608"]) == expected(text, ["TPU608"])
