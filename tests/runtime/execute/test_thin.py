from __future__ import annotations

import tensorflow as tf

from tests.runtime.execute.tensorflows_marks import outside_compilation, ran


def test_a_value_goes_to_the_host_and_back_in_each_replica() -> None:
    def computation(x):
        y = x * 2.0
        text = outside_compilation(lambda v: tf.strings.to_number(tf.strings.as_string(v + 1.0)), y)
        return text * 10.0, y

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        given = tf.compat.v1.placeholder(tf.float32, [])
        built = ran(computation, [[given], [tf.constant(7.0)]])
        assert session.run(built.outputs, {given: 3.0}) == ((70.0, 6.0), (150.0, 14.0))


def on_host(function, *args):
    """`function` through strings, which no device has."""
    return outside_compilation(
        lambda *given: tf.strings.to_number(tf.strings.as_string(function(*given))), *args
    )


def test_a_loop_holds_a_cluster():
    def computation(x):
        return tf.while_loop(
            lambda i, v: i < 10, lambda i, v: (i + 1, on_host(lambda a: a + 1.0, v * 1.0)), (0, x)
        )[1]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)], [tf.constant(7.0)]])
        assert session.run(built.outputs) == ((11.0,), (17.0,))


def test_a_conditional_holds_a_cluster():
    def computation(x):
        return tf.cond(x > 2.0, lambda: on_host(lambda a: a + 1.0, x), lambda: x * 3.0)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)], [tf.constant(7.0)]])
        assert session.run(built.outputs) == ((3.0,), (8.0,))


def test_a_function_holds_a_cluster():
    @tf.function
    def double(x):
        tf.print("seen", x) if False else None
        return on_host(lambda a: a + 1.0, x) * 2.0

    def computation(x):
        return double(double(x))

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)], [tf.constant(7.0)]])
        assert session.run(built.outputs) == ((10.0,), (34.0,))
