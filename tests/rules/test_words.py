"""Whole messages of rules that choose their words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import ESTIMATOR, SYSTEM, V1

ENTRIES = (
    V1
    + """
import functools
import sys

def two(a, b):
    return a

def many(a, b, *rest):
    return a

def some(a, b=1.0, c=2.0):
    return a

def named(a, *, b):
    return a

class Model:
    def step(self, a):
        return a

    def steps(self, *several):
        return several

x = tf.placeholder(tf.float32)
more = len(sys.argv) > 1
"""
)
CALLS = {
    "tf.tpu.rewrite(two, [x])": "the computation is given 1 inputs but takes 2",
    "tf.tpu.rewrite(many, [x])": "the computation is given 1 inputs but takes at least 2",
    "tf.tpu.rewrite(some, [x] * 4)": "the computation is given 4 inputs but takes 1 to 3",
    "tf.tpu.rewrite(named, [x])": "the computation has a keyword-only argument, but TensorFlow"
    " passes none by keyword",
    "tf.tpu.rewrite(functools.partial(named, x), [])": "the computation has a keyword-only"
    " argument, but TensorFlow passes none by keyword",
    "tf.tpu.rewrite(Model().step, [x])": "a bound method is always refused, as TensorFlow"
    " counts `self`: wrap it in a lambda",
    "tf.tpu.rewrite(functools.partial(Model().step), [x])": "a bound method is always"
    " refused, as TensorFlow counts `self`: wrap it in a lambda",
    "tf.tpu.rewrite(Model().steps, [])": "the computation is given 0 inputs but takes at least 1",
    "tf.tpu.rewrite(functools.partial(two, 1, 2, 3), [])": "the computation is given 0 inputs"
    " but takes another number",
    "tf.tpu.rewrite(two if more else many, [x])": "the computation is given 1 inputs but takes"
    " another number",
    "tf.tpu.replicate(some, [[x], [x]] if more else [[x], [x, x]])": "the replicas get different"
    " inputs: replica 0 and replica 1 differ in number",
    "tf.tpu.replicate(some, [[x], [x]], maximum_shapes=[tf.TensorShape([8])]"
    " if more else [tf.TensorShape([8]), tf.TensorShape([8])])": "`maximum_shapes` differs from"
    " `inputs[0]` in structure",
    "tf.tpu.replicate(some, [[x], [x]], padding_spec=1)": "`padding_spec` has no effect without"
    " `maximum_shapes`",
    "tf.tpu.rewrite(lambda: tf.fill([tf.reduce_max(tf.cast(tf.random.uniform([2]), tf.int32))],"
    " 1.0))": "`dims` of `fill` must be known when the computation is compiled, but depends on"
    " data",
    "tf.tpu.rewrite(lambda n: tf.range(tf.reduce_max(n)), [x])": "`limit` of `range` must be"
    " known when the computation is compiled, but depends on data",
    "tf.tpu.rewrite(lambda n: tf.range(tf.reduce_max(n), 4), [x])": "`start` of `range` must be"
    " known when the computation is compiled, but depends on data",
    "tf.tpu.rewrite(lambda: tf.zeros([2], tf.string))": "`zeros` makes a string on the device,"
    " which no TPU supports",
    "tf.tpu.rewrite(lambda: tf.zeros([2], tf.float16))": "`zeros` makes a float16 on the device:"
    " float16 on a TPU has neither the range nor the hardware units of `bfloat16`",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_told_what_is_wrong(call: str, tmp_path: Path) -> None:
    (found,) = findings(program(ENTRIES + call), tmp_path)
    assert found.message == CALLS[call]


PAIRS = {
    "(lambda: tf.no_op(), [rows])": "the lambda does not accept the tensors of `host_call`: it"
    " has 0 parameters for 1 tensor",
    "(lambda a: tf.no_op(), [rows, rows])": "the lambda does not accept the tensors of"
    " `host_call`: it has 1 parameter for 2 tensors",
    "(lambda a: tf.no_op(), [loss])": "`loss` is a scalar, but what `host_call` receives is"
    " concatenated over the replicas along its first dimension: pass `tf.reshape(loss, [1])`",
    '(lambda a: tf.no_op(), {"a": loss * 2.0})': "`a` is a scalar, but what `host_call` receives"
    " is concatenated over the replicas along its first dimension: pass `tf.reshape(a, [1])`",
    '(lambda a: tf.no_op(), [rows if params["rows"] else loss])': "this may be a scalar, but what"
    " `host_call` receives is concatenated over the replicas along its first dimension: pass"
    " `tf.reshape(x, [1])`",
}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_host_call_is_told_what_is_wrong(pair: str, tmp_path: Path) -> None:
    model_fn = f"""
def model_fn(features, labels, mode, params):
    loss, rows = tf.reduce_mean(features), tf.reduce_mean(features, axis=-1)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call={pair})
"""
    (found,) = findings(program(V1 + model_fn + ESTIMATOR), tmp_path)
    assert found.message == PAIRS[pair]


CLEARED = "initializing the TPU system clears the TPU: "
SYSTEMS = {
    "with strategy.scope():\n    tf.tpu.experimental.initialize_tpu_system(resolver)": (
        "the variables of the strategy that was built on it are lost",
        "enters the scope of a strategy on the system",
    ),
    "tf.tpu.experimental.initialize_tpu_system(resolver)": (
        "a strategy was built on it already",
        "calls `TPUStrategy`",
    ),
}


@pytest.mark.parametrize("again", SYSTEMS)
def test_a_system_that_is_cleared_is_told_what_is_lost(again: str, tmp_path: Path) -> None:
    (found,) = findings(program(f"{SYSTEM}\n{again}\n"), tmp_path)
    said, before = SYSTEMS[again]
    assert (found.message, found.trace[0].message) == (CLEARED + said, before)


def test_a_system_that_is_initialized_twice_is_told_so(tmp_path: Path) -> None:
    text = SYSTEM.replace("strategy =", "tf.tpu.experimental.initialize_tpu_system(resolver)\nit =")
    (found,) = findings(program(text), tmp_path)
    assert found.message == CLEARED + "it was initialized already, and what was made on it is lost"
