"""The host part of a TPUEstimatorSpec: the pair, the tensors, and its model_fn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import found_marks, program
from tests.rules.openings import V1

MODEL = """
import sys
import library

flag = len(sys.argv) > 1

def one(a):
    return tf.no_op()

def two(a, b):
    return tf.no_op()

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    row = tf.reshape(loss, [1])
    rows = tf.get_variable("rows", [3])
    step = tf.train.get_global_step()
    some = [row]
    for each in sys.argv:
        some.append(row)
    spec = lambda **more: tf.estimator.tpu.TPUEstimatorSpec("train", loss=loss, **more)
    return {spec}
"""
RUN = """
tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
"""
BY_HAND = """
def body(x):
    spec = model_fn(x, None, tf.estimator.ModeKeys.TRAIN, {})
    return spec.loss

tf.tpu.rewrite(lambda x: tf.while_loop(lambda v: v < 1.0, body, [x]), [tf.zeros([])])
"""
# The specification, and the findings.
SPECS = [
    ("spec(host_call=(one, [row]))", []),
    ("spec(host_call=(two, [row]))", ["TPU602 definite"]),
    ("spec(host_call=(one, [row, row]))", ["TPU602 definite"]),
    ("spec(host_call=(one, (row,)))", []),
    ("spec(host_call=(one, {'a': row}))", []),
    ("spec(host_call=(one, {'b': row}))", ["TPU602 definite"]),
    ("spec(host_call=(two, {'a': row}))", ["TPU602 definite"]),
    ("spec(host_call=(two, some))", []),
    ("spec(host_call=(two, library.tensors()))", []),
    ("spec(host_call=library.host_call())", []),
    ("spec(host_call=None)", []),
    ("spec(host_call=(two, [row]) if flag else None)", ["TPU602 definite"]),
    ("spec(host_call=(two, [row]) if flag else (one, [row]))", ["TPU602 definite"]),
    ("spec(host_call=(two, [row], 3))", ["TPU608 definite"]),
    ("spec(eval_metrics=(two, [row]))", ["TPU602 definite"]),
    ("spec(host_call=(one, [loss]))", ["TPU603 definite"]),
    ("spec(host_call=(one, [step]))", ["TPU603 definite"]),
    ("spec(host_call=(one, [rows]))", []),
    # Missed: other modes have None in place of the pair's parts.
    ("spec(host_call=(two if flag else None, [row] if flag else None))", ["TPU602 definite"]),
    ("spec(host_call=(one if flag else None, [row] if flag else None))", []),
    ("spec(host_call=(one, [loss] if flag else None))", ["TPU603 definite"]),
    ("spec(host_call=(one, [loss if flag else None]))", ["TPU603 definite"]),
    ("spec(host_call=(one, [row if flag else None]))", []),
    ("spec(host_call=(two if flag else None, [row] if flag else [row, row]))", []),
    ("spec(host_call=(None, None))", []),
    ("spec(host_call=(one, {'a': loss}))", ["TPU603 definite"]),
    ("spec(host_call=(one, [loss if flag else row]))", ["TPU603 possible"]),
    ("spec(host_call=(lambda a: tf.summary.scalar('l', loss), [row]))", ["TPU601 definite"]),
    ("spec(host_call=(lambda a: tf.summary.scalar('l', a[0]), [row]))", []),
    (
        "tf.estimator.tpu.TPUEstimatorSpec('eval', None, loss, None, (two, [row]))",
        ["TPU602 definite"],
    ),
    (
        "tf.estimator.tpu.TPUEstimatorSpec('t', None, loss, None, None, None, None, (two, [row]))",
        ["TPU602 definite"],
    ),
    ("tf.estimator.EstimatorSpec('train', loss=loss, host_call=(two, [row]))", []),
]


def of_the_host(text: str, folder: Path) -> list[str]:
    actual = found_marks(program(text), folder)
    return [f"{item.code} {item.certainty}" for item in actual if item.code[:4] in ("TPU5", "TPU6")]


@pytest.mark.parametrize(("spec", "expected"), SPECS)
def test_the_tensors_of_the_host_call_are_reported(
    spec: str, expected: list[str], tmp_path: Path
) -> None:
    assert of_the_host(V1 + MODEL.replace("{spec}", spec) + RUN, tmp_path) == expected


def test_a_specification_in_a_loop_of_ones_own_sends_nothing(tmp_path: Path) -> None:
    text = V1 + MODEL.replace("{spec}", "spec(host_call=(two, [loss]))")
    assert of_the_host(text + BY_HAND, tmp_path) == []


@pytest.mark.parametrize(("mode", "rows"), [("TRAIN", []), ("EVAL", [5])])
def test_a_mode_that_is_given_decides(mode: str, rows: list[int], tmp_path: Path) -> None:
    text = V1 + (
        "def f(x, mode):\n    y = tf.as_string(x) if mode == tf.estimator.ModeKeys.EVAL else x\n"
        "    return x if mode != tf.estimator.ModeKeys.EVAL else y\n\n"
        f"tf.tpu.rewrite(lambda x: f(x, tf.estimator.ModeKeys.{mode}), [tf.zeros([])])\n"
    )
    assert [
        mark.row for mark in found_marks(program(text), tmp_path) if mark.code == "TPU501"
    ] == rows
