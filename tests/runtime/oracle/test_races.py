"""A read that nothing orders sees what it sees in a program that TensorFlow has compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import control_flow
from tests.runtime.oracle.effects import tensorflows_sessions
from tests.runtime.oracle.races import value_and_variables

v1 = tf.compat.v1
OLD = "graph, V1 control flow"
MODES = (OLD, "graph, V2 control flow")
Tensor = Any


def read_and_write(v: Any, x: Tensor) -> Tensor:
    """By their names the write comes first."""
    read = v.read_value()
    with tf.control_dependencies([v.assign_add(1.0, read_value=False)]):
        return read * x


def write_and_read(v: Any, x: Tensor) -> Tensor:
    write = v.assign_add(1.0, read_value=False)
    read = v.read_value()
    with tf.control_dependencies([write]):
        return read * x


def write_and_read_of_a_smaller_name(v: Any, x: Tensor) -> Tensor:
    write = v.assign_add(1.0, read_value=False)
    with v1.name_scope("Aa"):
        read = v.read_value()
    with tf.control_dependencies([write]):
        return read * x


def write_of_what_is_computed_and_read(v: Any, x: Tensor) -> Tensor:
    """Write as a model's step does; the read, a summary's, needs nothing but the variable."""
    with v1.name_scope("model"):
        loss = tf.sin(x) + tf.random.stateless_uniform([], [1, 2])
    with v1.name_scope("Train"), tf.control_dependencies([loss]):
        write = v.assign_add(1.0, read_value=False)
    with v1.name_scope("Cast"):
        read = v.read_value()
    with tf.control_dependencies([write]):
        return read * x


BODIES = (
    read_and_write,
    write_and_read,
    write_and_read_of_a_smaller_name,
    write_of_what_is_computed_and_read,
)


def straight(body: Callable[..., Tensor], v: Any, x: Tensor) -> Tensor:
    return body(v, x)


def in_a_loop(body: Callable[..., Tensor], v: Any, x: Tensor) -> Tensor:
    return v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + body(v, x)), (0, x))[1]


def in_a_branch(body: Callable[..., Tensor], v: Any, x: Tensor) -> Tensor:
    return v1.cond(x > 0.0, lambda: body(v, x), lambda: x)


def _value(program: Callable[..., Tensor], call: Callable[..., Any]) -> tuple[float, float]:
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=10.0, use_resource=True)
        x = v1.placeholder(tf.float32, [], "input0")
        built = call(lambda a: program(v, a), [x])
        session.run(v.initializer)
        return float(np.squeeze(session.run(built, {x: 1.5}))), float(session.run(v))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("where", [straight, in_a_loop, in_a_branch])
@pytest.mark.parametrize("body", BODIES)
def test_a_read_beside_a_write(
    body: Callable[..., Tensor], where: Callable[..., Tensor], mode: str
) -> None:
    def with_a_cluster(v: Any, a: Tensor) -> Tensor:
        with v1.name_scope("lifted"):
            tpu.outside_compilation(tf.identity, a)
        return body(v, a)

    with control_flow(mode):
        with tensorflows_sessions():
            theirs = _value(lambda v, x: where(body, v, x), tf.xla.experimental.compile)
        for function in (body, with_a_cluster):
            ours = _value(lambda v, x, function=function: where(function, v, x), tpu.rewrite)
            assert np.allclose(ours, theirs), (function, ours, theirs)


GENERATED = [(seed, OLD) for seed in (*range(14), 27, 82, 117, 132, 321)]
GENERATED += [(seed, MODES[1]) for seed in (1, 4, 7, 9, 11)]


@pytest.mark.parametrize(("seed", "mode"), GENERATED)
def test_programs_full_of_them(seed: int, mode: str) -> None:
    with control_flow(mode):
        theirs = value_and_variables(seed, "tensorflow")
        for crosses in (False, True):
            ours = value_and_variables(seed, "ours", crosses)
            assert np.allclose(ours, theirs, rtol=1e-4), crosses
