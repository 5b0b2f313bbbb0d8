"""The errors of calls of `strategy.run` and of what they give lead to findings."""

from __future__ import annotations

from pathlib import Path

import pytest

import tpulint.runtime as tpu
from tests.runtime.run.test_raised_errors import STRATEGY, error_of, linked

# A call of `run` that TensorFlow or Python refuses, and the rule.
RUNS = [
    ("strategy.run(step, args=(x))", "TPU711"),
    ("strategy.run(step(x))", "TPU205"),
    ("strategy.run(step, (), x)", "TPU711"),
    ("strategy.run(step, kwargs={'z': x})", "TPU403"),
    ("strategy.gather(strategy.run(step, args=(x,)))", "TPU801"),
    ("strategy.reduce('SUM', strategy.run(step, args=(x,)))", "TPU801"),
    ("strategy.run(step, args=(x, x))", "TPU403"),
    ("strategy.run(lambda y, *, training: y, args=(x,))", "TPU403"),
    ("strategy.run(lambda y, z: y, args=(x,))", "TPU403"),
    ("strategy.run(lambda y: strategy.run(step, args=(y,)), args=(x,))", "TPU202"),
    ("strategy.run(lambda y: [size for size in tf.shape(y)], args=(x,))", "TPU507"),
]


@pytest.mark.parametrize(("call", "rule"), RUNS)
def test_what_run_refuses_leads_to_its_call(call: str, rule: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
def step(y):
    return 2.0 * y

@tf.function
def train(x):
    return {call}

train(tf.ones([4, 2]))
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [(rule, rule)], error


def test_a_signature_without_a_rank_leads_to_the_argument(tmp_path: Path) -> None:
    program = f"""{STRATEGY}
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
def train(x):
    return strategy.run(tf.reduce_sum, args=(x,))

train(tf.ones([4, 2]))
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU502", "TPU502")], error


def test_sizes_that_tensorflow_cannot_compare_belong_to_no_rule(tmp_path: Path) -> None:
    """As in `predict` of Keras 3 with a last batch that differs: no `maximum_shapes` is wrong."""
    program = f"""{STRATEGY}
@tf.function(reduce_retracing=True)
def step(x):
    return strategy.run(lambda x: 2.0 * x, args=(x,))

for last in (2, 1):
    rows = [tf.ones([2, 4]), tf.ones([last, 4])]
    step(strategy.experimental_distribute_values_from_function(
        lambda context: rows[context.replica_id_in_sync_group]
    ))
"""
    error = error_of(program, tmp_path)
    assert isinstance(error, TypeError)
    assert "'>' not supported between instances of 'int' and 'NoneType'" in str(error)
    assert not isinstance(error, tpu.RuntimeFault)
    assert linked(error, tmp_path) == []
