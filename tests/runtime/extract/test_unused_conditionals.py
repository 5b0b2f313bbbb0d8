"""Conditionals of TensorFlow 1 that are used only by control dependencies."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import control_flow

MODE = "graph, V1 control flow"


@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize(("value", "added"), [(5.0, 1.0), (1.0, 0.0)])
def test_an_effect_in_a_branch_is_kept_and_so_is_its_condition(
    value: float, added: float, on_host: bool
) -> None:
    """Was a KeyError: the condition is known to the branch by a control input alone."""
    with control_flow(MODE), tf.Graph().as_default(), tf.compat.v1.Session() as session:
        count = tf.Variable(0.0)

        def branches(x: Any) -> Any:
            def add() -> Any:
                with tf.control_dependencies([count.assign_add(1.0)]):
                    return tf.random.uniform([])

            return tf.cond(x > 3.0, add, lambda: tf.random.uniform([]))

        def computation(x: Any) -> Any:
            unused = tpu.outside_compilation(branches, x) if on_host else branches(x)
            with tf.control_dependencies([unused]):
                return tf.identity(x)

        result = tpu.rewrite(computation, [tf.constant(value)])
        session.run(tf.compat.v1.global_variables_initializer())
        assert session.run(result) == [value]
        assert session.run(count) == added


def test_a_random_number_in_a_branch_that_nobody_takes() -> None:
    with control_flow(MODE), tf.Graph().as_default(), tf.compat.v1.Session() as session:

        def computation(x: Any) -> Any:
            tf.cond(x > 3.0, lambda: tf.random.uniform([]), lambda: x)
            return x + 1.0

        result = tpu.rewrite(computation, [tf.constant(5.0)])
        assert session.run(result) == [6.0]
