from __future__ import annotations

import threading

import pytest
import tensorflow as tf

import tpulint.runtime as tpu


def hangs_in_python(_):
    """Return a computation whose host cluster never ends."""
    never = threading.Event()

    def computation(x):
        def host(value):
            result = tf.numpy_function(lambda v: never.wait() and v, [value], tf.float32)
            result.set_shape([])
            return result

        return tpu.outside_compilation(host, x * 2.0) + 1.0

    return computation


def hangs_in_tensorflow(queue):
    """Return a computation whose host cluster waits for a queue that stays empty."""

    def computation(x):
        def host(value):
            with tf.control_dependencies([value]):
                return tf.reshape(queue.dequeue(), [])

        return tpu.outside_compilation(host, x * 2.0) + 1.0

    return computation


def hangs_in_eager_python(_):
    """Do the same as the first, through py_function."""
    never = threading.Event()

    def computation(x):
        def host(value):
            result = tf.py_function(lambda v: never.wait() and v, [value], tf.float32)
            result.set_shape([])
            return result

        return tpu.outside_compilation(host, x * 2.0) + 1.0

    return computation


computations = pytest.mark.parametrize(
    ("make", "reason"),
    [
        (hangs_in_python, "host cluster 0: waits for a Python function"),
        (hangs_in_eager_python, "host cluster 0: waits for a Python function"),
        (
            hangs_in_tensorflow,
            "The step has taken more than 0.3 s\n"
            "  host cluster 0: waits in QueueDequeueV2 for something in the queue",
        ),
    ],
)


@computations
def test_a_step_in_a_session_ends_at_its_deadline(make, reason):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        queue = tf.queue.FIFOQueue(1, [tf.float32])
        with tpu.options(deadline=0.3):
            built = tpu.replicate(make(queue), [[tf.constant(1.0)], [tf.constant(2.0)]])
        with pytest.raises(tpu.DeadlockError) as caught:
            session.run(built)
        assert reason in str(caught.value)
        assert make is not hangs_in_tensorflow or "the queue 'fifo_queue' (" in str(caught.value)
        assert caught.value.rule == ("TPU106" if make is hangs_in_tensorflow else "")


@computations
def test_a_step_in_a_function_ends_at_its_deadline(make, reason):
    queue = tf.queue.FIFOQueue(1, [tf.float32])
    with tpu.options(deadline=0.3), pytest.raises(tpu.DeadlockError) as caught:
        tpu.replicate(make(queue), [[tf.constant(1.0)], [tf.constant(2.0)]])
    assert reason in str(caught.value)


def test_a_step_that_is_in_time_runs():
    def computation(x):
        def host(value):
            result = tf.py_function(lambda v: v + 1.0, [value], tf.float32)
            result.set_shape([])
            return result

        return tpu.outside_compilation(host, x * 2.0) + 1.0

    with tpu.options(deadline=60.0):
        values = tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]])
    assert [float(part[0]) for part in values] == [4.0, 6.0]


def test_hang_a_step_without_operations():
    """It was told that it had ended before it began."""
    with tpu.options(deadline=5.0):
        assert tpu.replicate(lambda _: {}, [[tf.constant(1.0)], [tf.constant(2.0)]]) == [None, None]


@pytest.mark.parametrize("deadline", [None, 240.0])
def test_a_gradient_goes_through_a_python_function(deadline):
    def computation(x):
        def host(value):
            return tf.reshape(tf.py_function(lambda v: v * v * 3.0, [value], tf.float32), [])

        y = tpu.outside_compilation(host, x * 2.0)
        return y, tf.gradients(y, x)[0]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        with tpu.options(deadline=deadline):
            results = tpu.rewrite(computation, [x])
        for value in (1.0, 2.0, 3.0):
            assert session.run(results, {x: value}) == [12.0 * value**2, 24.0 * value]


@pytest.mark.parametrize("threads", [1, 2])
def test_clocks_of_several_steps_leave_the_steps_a_thread(threads: int) -> None:
    """Was a hang: each clock held one of TensorFlow's few threads while it waited."""
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=threads, use_per_session_threads=True
    )
    with (
        tf.Graph().as_default(),
        tf.compat.v1.Session(config=config) as session,
        tpu.options(deadline=240.0),
    ):
        steps = [
            tpu.replicate(lambda n=n: tf.constant(1.0) * n, [[], []])[1][0] + 1.0 for n in range(8)
        ]
        assert session.run(steps) == [n + 1.0 for n in range(8)]


def test_a_sum_of_one_replica_between_constants_ends():
    """Missed before: TensorFlow's constant folding left a graph in which nothing ever ran."""
    v, w = tf.Variable(1.0), tf.Variable(1.0)

    def computation(x):
        y = tpu.outside_compilation(lambda a: a + 1.0, x)
        unused = x * w + tpu.outside_compilation(lambda: v.assign_sub(x)) * 0.5
        assert unused.shape == []
        total = tpu.cross_replica_sum(y)
        return tpu.outside_compilation(lambda a: a + 1.0, total) * 1.0

    @tf.function(autograph=False)
    def step(x):
        return tpu.rewrite(computation, [x])

    with tpu.options(deadline=240.0):
        assert float(step(tf.constant(3.0))[0]) == 5.0
