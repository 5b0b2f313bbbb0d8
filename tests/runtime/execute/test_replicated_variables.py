"""Variables that each replica has for itself, and those that all share."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

import tpulint.runtime as tpu
from tests.runtime.execute.tensorflows_marks import (
    marked_by_tensorflow,
    outside_compilation,
    run_marked,
)
from tpulint.runtime.errors import DeadlockError, DeviceVariableError


def variables(count):
    return [
        tf.compat.v1.get_variable(f"v{number}", initializer=10.0 * number, use_resource=True)
        for number in range(count)
    ]


def marked_with_mirrored(computation, inputs, owned):
    """Mark `computation`, given the handle of each replica's own variable."""
    marked = marked_by_tensorflow(
        computation, [[x, v.handle] for x, v in zip(inputs, owned, strict=True)]
    )
    (handle,) = [op for op in marked.replicated_inputs if op.get_attr("T") == tf.resource]
    handle._set_attr("is_mirrored_variable", attr_value_pb2.AttrValue(b=True))
    return marked


def add(x, handle):
    with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=handle, value=x)]):
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) * 1.0


def test_each_replica_writes_its_own():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        owned = variables(3)
        inputs = [tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)]
        built = run_marked(marked_with_mirrored(add, inputs, owned))
        session.run([v.initializer for v in owned])
        assert session.run(built.outputs) == ((1.0,), (12.0,), (23.0,))
        assert session.run(owned) == [1.0, 12.0, 23.0]


def test_a_cluster_may_not_touch_a_strategys_variable():
    def computation(x, handle):
        return outside_compilation(add, x, handle) * 2.0

    with tf.Graph().as_default(), pytest.raises(DeviceVariableError) as caught:
        run_marked(marked_with_mirrored(computation, [tf.constant(1.0)] * 2, variables(2)))
    assert caught.value.rule == "TPU102"
    assert __file__ in str(caught.value)


def test_the_state_of_a_generator_that_all_replicas_share():
    generator, other = (tf.random.Generator.from_seed(1) for _ in range(2))
    expected = tf.function(lambda: other.normal([2]), jit_compile=True)()

    @tf.function
    def step(x):
        return tpu.replicate(lambda y: generator.normal([2]) * y, [[x], [x]])

    for values in step(tf.constant(1.0)):
        np.testing.assert_allclose(values[0], expected, rtol=1e-5)
    assert generator.state[0] == other.state[0]


def test_a_variable_of_all_replicas_is_free_when_all_have_ended():
    """A cluster of one replica adds after the first replica's copy is written back."""

    def computation(x):
        v = shared[0]
        with tf.control_dependencies([v.assign_add(x)]):
            y = x * 2.0
        done = outside_compilation(lambda a: v.assign_add(a * 100.0, read_value=False), y)
        return y, done

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        shared = variables(1)
        inputs = [[tf.constant(1.0)], [tf.constant(5.0)]]
        with pytest.warns(UserWarning, match="TPU103"):
            built = run_marked(marked_by_tensorflow(computation, inputs))
        session.run(shared[0].initializer)
        session.run(built.done)
        assert session.run(shared[0]) == 1.0 + 200.0 + 1000.0


def test_crash_found_by_comparison_head_clusters_write_what_each_replica_is_given():
    def computation(x):
        v = shared[0]

        def host(a):
            with tf.control_dependencies([v.assign_add(a * 10.0, read_value=False)]):
                return tf.identity(a)

        return outside_compilation(host, x) + v.read_value()

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        shared = variables(1)
        built = run_marked(
            marked_by_tensorflow(computation, [[tf.constant(1.0)], [tf.constant(5.0)]])
        )
        session.run(shared[0].initializer)
        assert session.run(built.outputs) == ((61.0,), (65.0,))


def test_two_replicas_deadlock_over_a_variable_of_all():
    def computation(x):
        with tf.control_dependencies([shared[0].assign_add(x)]):
            y = x * 2.0

        def host(a):
            with tf.control_dependencies([a]):
                return a + shared[0].read_value()

        return outside_compilation(host, y) * 2.0

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        shared = variables(1)
        inputs = [[tf.constant(1.0)], [tf.constant(5.0)]]
        built = run_marked(marked_by_tensorflow(computation, inputs))
        session.run(shared[0].initializer)
        for _ in range(20):
            with pytest.raises(DeadlockError):
                session.run(built.outputs)
        assert session.run(shared[0]) == 0.0
