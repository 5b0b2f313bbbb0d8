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
