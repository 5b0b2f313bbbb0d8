"""Loops and conditionals of TensorFlow 1, and their gradients, give what TensorFlow gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def old_control_flow() -> Iterator[None]:
    before = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    yield
    if before:
        v1.enable_control_flow_v2()


def gradient_of_a_branch(v, x):
    y = tf.cond(x > 0.0, lambda: x * x * v, lambda: x * 3.0)
    return tf.gradients(y * y, x)[0]


def gradient_inside_a_branch(v, x):
    """Take in a branch the gradient for what the branch is given: the other one gave zeros."""
    y = v.read_value()

    def gradient():
        return tf.gradients(tf.sin(x) * y * y, y)[0]

    taken = tf.cond(x > 0.0, lambda: x * 3.0, gradient)
    return taken + tf.cond(x > 2.0, gradient, lambda: x * 5.0)


def gradient_of_a_gradient_inside_a_branch(v, x):
    y = v.read_value()

    def gradient():
        return tf.gradients(tf.gradients(tf.sin(x) * y * y, y)[0], y)[0]

    return tf.cond(x > 0.0, gradient, lambda: x) + tf.cond(x > 2.0, lambda: x, gradient)


def gradient_of_a_variable_in_a_branch(v, x):
    y = tf.cond(x > 0.0, lambda: tf.sin(x) * v, lambda: x * 3.0)
    gradient = tf.gradients(y * y, v)[0]
    with tf.control_dependencies([v.assign_sub(gradient)]):
        return y * 1.0


def gradient_of_nested_branches(v, x):
    def inner():
        return tf.cond(x > 2.0, lambda: tf.sin(x) + 1.0, lambda: tf.cos(x) * 5.0)

    return tf.gradients(tf.cond(x > 0.0, inner, lambda: x) ** 2, x)[0]


def gradient_of_a_gradient_of_a_branch(v, x):
    y = tf.cond(x > 0.0, lambda: x * x * x * v, lambda: x * 3.0)
    return tf.gradients(tf.gradients(y, x)[0], x)[0]


def gradient_of_a_read_before_a_write(v, x):
    """Use in the gradient the value that the branch has read, not a later one."""
    y = tf.cond(x > 0.0, lambda: v.read_value() * x, lambda: x)
    with tf.control_dependencies([y]):
        written = v.assign_add(10.0)
    with tf.control_dependencies([written]):
        return tf.gradients(y, x)[0] * 1.0


def gradient_of_a_loop(v, x):
    y = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a * a * v), (0, x), maximum_iterations=5
    )[1]
    return tf.gradients(y, x)[0]


def operations_as_branches(v, x):
    done = tf.cond(x > 0.0, lambda: tf.group(v.assign_add(1.0)), tf.no_op)
    with tf.control_dependencies([done]):
        return x * 2.0


def operations_as_branches_in_a_loop(v, x):
    def body(i, a):
        done = tf.cond(a > 0.0, lambda: tf.group(v.assign_add(1.0)), tf.no_op)
        with tf.control_dependencies([done]):
            return i + 1, a + 1.0

    return tf.while_loop(lambda i, a: i < 3, body, (0, x))[1]


def operations_as_branches_in_a_branch(v, x):
    def inner():
        done = tf.cond(x > 2.0, lambda: tf.group(v.assign_add(1.0)), tf.no_op)
        with tf.control_dependencies([done]):
            return x * 2.0

    return tf.cond(x > 0.0, inner, lambda: x)


def two_of_one_predicate(v, x):
    positive = x > 0.0
    one = tf.cond(positive, lambda: v.assign_add(1.0), lambda: v.read_value())
    with tf.control_dependencies([one]):
        between = v.assign_add(10.0)
    with tf.control_dependencies([between]):
        two = tf.cond(positive, lambda: v.assign_add(100.0), lambda: v.read_value())
    return one + two


def a_loop_in_a_branch(v, x):
    def loop():
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + v), (0, x))[1]

    return tf.cond(x > 0.0, loop, lambda: x)


def a_branch_in_two_loops(v, x):
    def body(i, a):
        def inner(j, c):
            return j + 1, c + tf.cond(c > 3.0, lambda: c, lambda: a)

        return i + 1, tf.while_loop(lambda j, c: j < 2, inner, (0, a))[1]

    return tf.while_loop(lambda i, a: i < 2, body, (0, x))[1]


def gradient_of_a_read_in_nested_branches(v, x):
    def inner():
        return tf.cond(x > 2.0, lambda: v.read_value() * x, lambda: v.assign_add(1.0) * x)

    y = tf.cond(x > 0.0, lambda: inner() * 2.0, lambda: x)
    with tf.control_dependencies([y]):
        written = v.assign_add(10.0)
    with tf.control_dependencies([written]):
        return tf.gradients(y * y, x)[0] * 1.0


def dropout_in_a_branch(v, x):
    """Draw the same numbers forward and backward, or the gradient is of another function."""

    def random():
        return tf.random.uniform([], 1.0, 2.0) * x

    y = tf.cond(x > 0.0, random, lambda: x * 3.0)
    return y / x - tf.gradients(y, x)[0]


def what_a_branch_has_done_is_awaited_inside(v, x):
    def branch():
        with tf.control_dependencies([v.assign_add(1.0)]):
            return x + 1.0

    y = tf.cond(x > 0.0, branch, lambda: x)
    with tf.control_dependencies([y]):
        return v.read_value() + y


PROGRAMS = [
    gradient_of_a_branch,
    gradient_inside_a_branch,
    gradient_of_a_gradient_inside_a_branch,
    gradient_of_a_variable_in_a_branch,
    gradient_of_nested_branches,
    gradient_of_a_gradient_of_a_branch,
    gradient_of_a_read_before_a_write,
    gradient_of_a_read_in_nested_branches,
    gradient_of_a_loop,
    operations_as_branches,
    operations_as_branches_in_a_loop,
    operations_as_branches_in_a_branch,
    two_of_one_predicate,
    a_loop_in_a_branch,
    a_branch_in_two_loops,
    dropout_in_a_branch,
    what_a_branch_has_done_is_awaited_inside,
]


def values(program: Callable[..., Any], call: Callable[..., Any]) -> list[tuple[float, float]]:
    """Return the result of `program`, and the value left in its variable, for three arguments."""
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=1.5, use_resource=True)
        x = v1.placeholder(tf.float32, [])
        built = call(lambda a: program(v, a), [x])
        session.run(v.initializer)
        actual = []
        for value in (1.3, -0.7, 2.5):
            session.run(v.initializer)
            result = session.run(built, {x: value})
            actual.append((float(np.squeeze(result)), float(session.run(v))))
        return actual


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_are_tensorflows(program):
    plain = values(program, lambda computation, inputs: computation(*inputs))
    assert np.allclose(values(program, tpu.rewrite), plain, rtol=1e-5, atol=1e-5)


def on_the_host(program):
    """Return `program` with its branches' accesses of the variable in host clusters."""

    def lifted(v, x):
        class OnTheHost:
            def assign_add(self, value):
                return tpu.outside_compilation(lambda: v.assign_add(value))

        return program(OnTheHost(), x)

    lifted.__name__ = program.__name__
    return lifted


@pytest.mark.parametrize(
    "program",
    [
        operations_as_branches,
        operations_as_branches_in_a_loop,
        operations_as_branches_in_a_branch,
    ],
    ids=lambda program: program.__name__,
)
def test_host_clusters_in_branches_run_as_often(program):
    plain = values(program, lambda computation, inputs: computation(*inputs))
    assert np.allclose(values(on_the_host(program), tpu.rewrite), plain)
