"""Python functions of tpulint's own in a graph, beside the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import tensorflow as tf
from tensorflow.python.ops import script_ops

from tpulint.runtime import python_functions


def test_only_the_users_functions_count_as_those_that_hold_a_thread() -> None:
    noted: list[int] = []
    held: list[object] = []

    def run(call: Callable[..., Any], registry: Any, token: Any, *rest: Any) -> Any:
        held.append(token)
        return call(registry, token, *rest)

    @tf.function
    def step() -> Any:
        python_functions.own_operation(lambda value: noted.append(int(value)), [tf.constant(3)])
        return tf.numpy_function(lambda: 1.0, [], tf.float64)

    kind = script_ops.FuncRegistry
    with mock.patch.object(
        kind,
        "__call__",
        python_functions.intercept_user_functions(run, kind.__call__),
    ):
        assert float(step()) == 1.0
    assert noted == [3]
    assert len(held) == 1


@pytest.mark.parametrize("in_function", [True, False])
def test_what_it_raises_ends_the_step(in_function: bool) -> None:
    def fail() -> None:
        raise ValueError("no such thing")

    with pytest.raises(tf.errors.InvalidArgumentError, match="no such thing"):
        if in_function:
            tf.function(lambda: python_functions.own_operation(fail, []) and None)()
        else:
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                session.run(python_functions.own_operation(fail, []))
