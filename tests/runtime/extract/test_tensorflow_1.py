"""Conditionals and loops as TensorFlow 1 builds them, with clusters in them or not."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tests.runtime.execute.tensorflows_marks import outside_compilation, ran
from tpulint.runtime.errors import DeadlockError


@pytest.fixture(autouse=True)
def _control_flow_of_tensorflow_1():
    tf.compat.v1.disable_control_flow_v2()
    yield
    tf.compat.v1.enable_control_flow_v2()


def on_host(function, *args):
    """Return `function` through strings, which no device has."""
    return outside_compilation(
        lambda *arguments: tf.strings.to_number(tf.strings.as_string(function(*arguments))), *args
    )


def values_of(computation, inputs, before=()):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(value)] for value in inputs])
        kinds = {op.type for op in graph.get_operations()}
        assert kinds & {"Merge", "Switch"}, "the marked graph is of TensorFlow 1"
        session.run(tf.compat.v1.global_variables_initializer())
        return [part[0] for part in session.run(built.outputs)]


def plain(computation, inputs):
    """Return the same with plain calls, one by one."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run([computation(tf.constant(value)) for value in inputs])


def loop(host):
    return lambda x: tf.while_loop(
        lambda i, v: i < 5, lambda i, v: (i + 1, host(lambda a: a + 1.0, v * 2.0) - x), (0, x)
    )[1]


def conditional(host):
    return lambda x: tf.cond(x > 2.0, lambda: host(lambda a: a + 1.0, x), lambda: x * 3.0)


def conditional_in_a_loop(host):
    def body(i, v):
        return i + 1, tf.cond(v > 10.0, lambda: host(lambda a: a - 7.0, v) + x0[0], lambda: v * 3.0)

    x0 = []

    def computation(x):
        x0[:] = [x]
        return tf.while_loop(lambda i, v: i < 6, body, (0, x))[1] + 1.0

    return computation


def loop_in_a_conditional(host):
    return lambda x: tf.cond(x > 2.0, lambda: loop(host)(x * 2.0), lambda: x) * 2.0


def loop_in_a_loop(host):
    def computation(x):
        def body(i, v):
            inner = tf.while_loop(
                lambda j, w: j < i, lambda j, w: (j + 1, host(lambda a: a + x, w)), (0, v)
            )
            return i + 1, inner[1] * 1.5

        return tf.while_loop(lambda i, v: i < 4, body, (0, x))[1]

    return computation


PROGRAMS = [loop, conditional, conditional_in_a_loop, loop_in_a_conditional, loop_in_a_loop]


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("with_cluster", [True, False])
def test_values_are_those_of_plain_calls(make, with_cluster):
    def directly(function, *args):
        return function(*args)

    inputs = [1.0, 3.0]
    got = values_of(make(on_host if with_cluster else directly), inputs)
    assert got == pytest.approx(plain(make(directly), inputs))


def test_a_variable_in_a_loop():
    def computation(x):
        v = tf.compat.v1.get_variable("v", initializer=10.0, use_resource=True)

        def body(i, a):
            with tf.control_dependencies([v.assign_add(a)]):
                return i + 1, a + 1.0

        total = tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]
        with tf.control_dependencies([total]):
            return v.read_value() * 1.0

    assert values_of(computation, [1.0]) == [16.0]


def test_a_deadlock_in_a_branch_names_the_users_lines():
    def computation(x):
        v = tf.compat.v1.get_variable("v", initializer=10.0, use_resource=True)
        with tf.control_dependencies([v.assign_add(x)]):
            y = x * 2.0
        return tf.cond(
            y > 1.0, lambda: outside_compilation(lambda a: a + v.read_value(), y) * 2.0, lambda: y
        )

    with pytest.raises(DeadlockError) as caught:
        values_of(computation, [1.0])
    assert str(caught.value).count(__file__) >= 3
    assert values_of(computation, [0.0]) == [0.0]
