"""Programs as users write them, through the public names: values, effects, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu


def run_in_function(computation, inputs):
    @tf.function(autograph=False)
    def step(*arguments):
        return tpu.replicate(computation, [[argument] for argument in arguments])

    return step(*(tf.constant(value) for value in inputs))


def run_eagerly(computation, inputs):
    return tpu.replicate(computation, [[tf.constant(value)] for value in inputs])


def run_in_session(computation, inputs):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = tpu.replicate(computation, [[tf.constant(value)] for value in inputs])
        session.run(tf.compat.v1.global_variables_initializer())
        return session.run(built)


everywhere = pytest.mark.parametrize(
    "run", [run_in_function, run_eagerly, run_in_session], ids=lambda run: run.__name__
)


@everywhere
def test_strings_files_and_python_on_the_host(run, tmp_path):
    seen = []

    def host(value):
        text = tf.strings.join([tf.strings.as_string(value, precision=1), tf.constant(" seen")])
        path = tf.strings.join([str(tmp_path), "/", tf.strings.as_string(value, precision=1)])
        with tf.control_dependencies([tf.io.write_file(path, text)]):
            back = tf.strings.length(tf.io.read_file(path))
        doubled = tf.py_function(lambda v: seen.append(float(v)) or v * 2.0, [value], tf.float32)
        doubled.set_shape([])
        return doubled + tf.cast(back, tf.float32)

    def computation(x):
        return tpu.outside_compilation(host, x + 1.0) * 10.0

    values = run(computation, [1.0, 2.0])
    assert [float(part[0]) for part in values] == [(4.0 + 8.0) * 10.0, (6.0 + 8.0) * 10.0]
    assert sorted(seen) == [2.0, 3.0]
    assert (tmp_path / "3.0").read_text() == "3.0 seen"


@everywhere
def test_effects_come_in_program_order_and_none_is_lost(run):
    seen = []

    def note(tag):
        return lambda value: tf.py_function(lambda v: seen.append((tag, float(v))), [value], [])

    def computation(x):
        tpu.outside_compilation(note("first"), x)
        y = x * 2.0
        tpu.outside_compilation(note("second"), y)
        tpu.outside_compilation(note("third"), x)

        def body(i, a):
            tpu.outside_compilation(note("loop"), a)
            return i + 1, a + 1.0

        y = tf.while_loop(lambda i, _: i < 3, body, (0, y))[1]
        tpu.outside_compilation(note("last"), y)
        return y

    values = run(computation, [1.0])
    assert float(values[0][0]) == 5.0
    expected = [("first", 1.0), ("second", 2.0), ("third", 1.0)]
    expected += [("loop", 2.0), ("loop", 3.0), ("loop", 4.0), ("last", 5.0)]
    assert seen == expected


@everywhere
def test_an_exception_on_the_host_comes_out_as_itself(run):
    def host(value):
        def fail(_):
            raise ValueError("the host says no")

        return tf.py_function(fail, [value], tf.float32)

    def computation(x):
        y = tpu.outside_compilation(host, x * 2.0)
        y.set_shape([])
        return y + 1.0

    with pytest.raises(tf.errors.InvalidArgumentError, match="the host says no"):
        run(computation, [1.0, 2.0])


def test_summaries_are_written(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))

    def computation(x):
        def host(value):
            with writer.as_default(step=3):
                tf.summary.write("loss", value)

        tpu.outside_compilation(host, x * 2.0)
        return x + 1.0

    run_in_function(computation, [4.0, 5.0])
    writer.close()
    (path,) = tmp_path.iterdir()
    events = tf.compat.v1.train.summary_iterator(str(path))
    values = [
        float(tf.make_ndarray(value.tensor)) for event in events for value in event.summary.value
    ]
    assert sorted(values) == [8.0, 10.0]


def test_autograph_conditionals_and_loops_hold_clusters():
    @tf.function
    def step(x):
        def computation(a):
            return inner(a)

        return tpu.replicate(computation, [[x]])

    @tf.function
    def inner(a):
        total = a * 0.0
        while total < 10.0:
            if total > 4.0:
                total += tpu.outside_compilation(lambda v: v + 3.0, a)
            else:
                total += 2.0 * a
        return total

    assert float(step(tf.constant(1.0))[0][0]) == 10.0
    assert float(step(tf.constant(5.0))[0][0]) == 10.0


def test_replicas_run_at_the_same_time():
    meeting = threading.Barrier(2, timeout=120)

    def computation(x):
        def host(value):
            def wait(v):
                meeting.wait()
                return v

            result = tf.numpy_function(wait, [value], tf.float32)
            result.set_shape([])
            return result

        return tpu.outside_compilation(host, x * 2.0) + 1.0

    values = run_in_function(computation, [1.0, 2.0])
    assert [float(part[0]) for part in values] == [3.0, 5.0]


def test_a_variable_of_all_replicas_gets_the_first_ones_copy():
    v = tf.Variable(10.0)

    def computation(x):
        v.assign_add(x)
        return v.read_value()

    values = run_in_function(computation, [1.0, 5.0])
    assert [float(value[0]) for value in values] == [11.0, 15.0]
    assert float(v) == 11.0


def test_gradients_through_a_cluster():
    def computation(x):
        y = x * 3.0
        z = tpu.outside_compilation(lambda a: a * a, y)
        return tf.gradients(z * 2.0, x)[0]

    values = run_in_function(computation, [1.0, 2.0])
    np.testing.assert_allclose([float(value[0]) for value in values], [36.0, 72.0])


def test_a_loop_with_a_tensor_array_and_a_cluster():
    def computation(x):
        array = tf.TensorArray(tf.float32, size=4)

        def body(i, a):
            return i + 1, a.write(i, tpu.outside_compilation(lambda v: v + 1.0, x * 2.0))

        return tf.while_loop(lambda i, _: i < 4, body, (0, array))[1].stack()

    values = run_in_function(computation, [1.0])
    np.testing.assert_allclose(values[0][0], [3.0] * 4)
