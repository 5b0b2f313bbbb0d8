"""Accesses of a variable in a TensorFlow 1 conditional that nothing orders, and the warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import control_flow

v1 = tf.compat.v1
Tensor = Any
Body = Callable[[Any, Tensor], Tensor]


def read_beside_a_write(v: Any, x: Tensor) -> Tensor:
    seen = v.read_value()
    with tf.control_dependencies([v.assign(x, read_value=False)]):
        return seen * x


def writes_beside_each_other(v: Any, x: Tensor) -> Tensor:
    writes = [v.assign(x, read_value=False), v.assign_add(x, read_value=False)]
    with tf.control_dependencies(writes):
        return x * 2.0


def read_beside_two_additions(v: Any, x: Tensor) -> Tensor:
    """The read follows one of them."""
    first = v.assign_add(x, read_value=False)
    with tf.control_dependencies([v.assign_add(x, read_value=False)]):
        seen = v.read_value()
    with tf.control_dependencies([first]):
        return seen * x


def write_beside_inner_control_flow(v: Any, x: Tensor) -> Tensor:
    inner = v1.cond(x > 1.0, lambda: v.read_value() * x, lambda: x)
    with tf.control_dependencies([v.assign(x, read_value=False)]):
        return inner * 1.0


def read_before_a_write(v: Any, x: Tensor) -> Tensor:
    seen = v.read_value()
    with tf.control_dependencies([seen]), tf.control_dependencies([v.assign(x, read_value=False)]):
        return seen * x


def write_of_what_is_read(v: Any, x: Tensor) -> Tensor:
    with tf.control_dependencies([v.assign(v.read_value() + x, read_value=False)]):
        return x * 2.0


def additions(v: Any, x: Tensor) -> Tensor:
    with tf.control_dependencies([v.assign_add(x, read_value=False) for _ in range(2)]):
        return x * 2.0


def two_reads(v: Any, x: Tensor) -> Tensor:
    return v.read_value() * v.read_value()


def shape_beside_a_write(v: Any, x: Tensor) -> Tensor:
    size = tf.raw_ops.VariableShape(input=v.handle)
    with tf.control_dependencies([v.assign(x, read_value=False)]):
        return x * tf.cast(tf.size(size), tf.float32)


AMBIGUOUS = (
    read_beside_a_write,
    writes_beside_each_other,
    read_beside_two_additions,
    write_beside_inner_control_flow,
)
CLEAR = (read_before_a_write, write_of_what_is_read, additions, two_reads, shape_beside_a_write)


def in_a_branch(body: Body, v: Any, x: Tensor) -> Tensor:
    return v1.cond(x > 0.0, lambda: body(v, x), lambda: x)


def in_a_branch_in_a_loop(body: Body, v: Any, x: Tensor) -> Tensor:
    turns = v1.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, in_a_branch(body, v, a)), (0, x))
    return turns[1]


def in_a_loop(body: Body, v: Any, x: Tensor) -> Tensor:
    return v1.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, body(v, a)), (0, x))[1]


def straight(body: Body, v: Any, x: Tensor) -> Tensor:
    return body(v, x)


def warnings_of(place: Callable[..., Tensor], body: Body, mode: str) -> list[Any]:
    """Return the warnings of the program that has `body` at `place`."""
    with (
        control_flow(mode),
        tf.Graph().as_default(),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        v = v1.get_variable("weight", initializer=1.0, use_resource=True)
        tpu.rewrite(lambda x: place(body, v, x), [tf.constant(2.0)])
    return [warning.message for warning in caught if warning.category is tpu.UnorderedAccessWarning]


@pytest.mark.parametrize("place", [in_a_branch, in_a_branch_in_a_loop])
@pytest.mark.parametrize("body", AMBIGUOUS)
def test_the_user_reads_of_accesses_that_nothing_orders(
    body: Body, place: Callable[..., Tensor]
) -> None:
    (warning,) = warnings_of(place, body, "graph, V1 control flow")
    assert "variable 'weight'" in str(warning)
    assert "A control dependency" in str(warning)
    assert warning.place is not None
    assert "test_unordered.py" in warning.place


@pytest.mark.parametrize("body", CLEAR)
def test_accesses_in_an_order_are_no_matter(body: Body) -> None:
    assert not warnings_of(in_a_branch, body, "graph, V1 control flow")


@pytest.mark.parametrize("place", [straight, in_a_loop])
def test_outside_conditionals_every_session_has_one_order(place: Callable[..., Tensor]) -> None:
    assert not warnings_of(place, read_beside_a_write, "graph, V1 control flow")


def test_conditionals_of_tensorflow_2_order_their_accesses() -> None:
    assert not warnings_of(in_a_branch, read_beside_a_write, "graph, V2 control flow")
