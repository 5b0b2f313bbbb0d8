"""Infeed queues feed the replicas: in sessions and functions, in loops, core by core."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.tpu import tpu_feed
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tests.runtime.oracle.building import assignment
from tpulint.runtime.execute import waiting


def infeed_queue(replicas: int = 2) -> Any:
    """Return an infeed queue of a tuple of [2] and [1] for each replica."""
    return tpu_feed.InfeedQueue(
        tuple_types=[tf.float32, tf.int32], tuple_shapes=[[2 * replicas], [replicas]]
    )


def enqueued(queue: Any, replicas: int) -> Any:
    queue.set_number_of_shards(replicas)
    rows = [[tf.fill([2], 1.0 + i), tf.constant([10 * i])] for i in range(replicas)]
    return queue.generate_enqueue_ops(rows, tpu_ordinal_function=lambda i: i)


def times(x: Any, n: Any) -> Any:
    return x * tf.cast(n, tf.float32)


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        yield session


@pytest.mark.parametrize("replicas", [1, 3])
def test_each_replica_takes_what_is_enqueued_for_its_core(session: Any, replicas: int) -> None:
    queue = infeed_queue(replicas)
    enqueue = enqueued(queue, replicas)
    results = tpu.replicate(times, [[]] * replicas, infeed_queue=queue)
    _, actual = session.run([enqueue, results])
    expected = [[np.full([2], (1.0 + i) * 10.0 * i)] for i in range(replicas)]
    np.testing.assert_allclose(actual, expected)


def test_tuples_wait_in_their_order(session: Any) -> None:
    queue = infeed_queue()
    enqueue = enqueued(queue, 2)
    results = tpu.replicate(lambda x, n: x + tf.cast(n, tf.float32), [[], []], infeed_queue=queue)
    for _ in range(3):
        session.run(enqueue)
    for _ in range(3):
        np.testing.assert_allclose(session.run(results), [[[1.0, 1.0]], [[12.0, 12.0]]])


def test_a_loop_on_the_device_takes_one_tuple_an_iteration(session: Any) -> None:
    queue = infeed_queue(1)
    value = tf.compat.v1.placeholder(tf.float32, [2])
    queue.set_number_of_shards(1)
    enqueue = queue.generate_enqueue_ops([[value, tf.constant([1])]], lambda _: 0)

    def computation() -> Any:
        def body(total: Any, x: Any, n: Any) -> Any:
            return total + x * tf.cast(n, tf.float32)

        return tpu.training_loop.repeat(4, body, [tf.zeros([2])], infeed_queue=queue)

    (result,) = tpu.rewrite(computation)
    for number in range(4):
        session.run(enqueue, {value: [number, 10.0 * number]})
    np.testing.assert_allclose(session.run(result), [6.0, 60.0])


def test_a_thread_enqueues_while_the_step_waits(session: Any) -> None:
    queue = infeed_queue()
    enqueue = enqueued(queue, 2)
    results = tpu.replicate(times, [[], []], infeed_queue=queue)
    actual = []
    step = threading.Thread(target=lambda: actual.append(session.run(results)), daemon=True)
    step.start()
    step.join(timeout=0.3)
    assert step.is_alive()
    session.run(enqueue)
    step.join(timeout=120.0)
    assert len(actual) == 1


@pytest.mark.parametrize("after", [False, True])
def test_in_a_function(after: bool) -> None:
    @tf.function
    def step(x: Any) -> Any:
        queue = infeed_queue()
        queue.set_number_of_shards(2)
        rows = [[x, tf.constant([2])], [x * 10.0, tf.constant([3])]]
        if not after:
            queue.generate_enqueue_ops(rows, lambda i: i)
        results = tpu.replicate(times, [[], []], infeed_queue=queue)
        if after:
            queue.generate_enqueue_ops(rows, lambda i: i)
        return results

    for first in (1.0, 2.0):
        actual = step(tf.constant([first, first]))
        np.testing.assert_allclose(actual[1], [[30.0 * first] * 2])


def test_eagerly() -> None:
    tpu_ops.infeed_enqueue(tf.constant([1.0, 2.0]), [2], device_ordinal=0)
    result = tpu.rewrite(lambda: tpu_ops.infeed_dequeue(tf.float32, [2]) * 2.0)[0]
    np.testing.assert_allclose(result, [2.0, 4.0])


def test_a_device_assignment_says_whose_core_it_is(session: Any) -> None:
    cores = assignment(2, 2)
    queue = infeed_queue()
    queue.set_number_of_shards(2)
    rows = [[tf.fill([2], 1.0 + i), tf.constant([1])] for i in range(2)]
    enqueue = queue.generate_enqueue_ops(
        rows, tpu_ordinal_function=lambda i: cores.tpu_ordinal(replica=i)
    )
    results = tpu.replicate(times, [[], []], infeed_queue=queue, device_assignment=cores)
    _, actual = session.run([enqueue, results])
    np.testing.assert_allclose(actual, [[[1.0, 1.0]], [[2.0, 2.0]]])
    assert [cores.tpu_ordinal(replica=i) for i in range(2)] == [0, 2]


@pytest.mark.parametrize("replicas", [1, 2])
def test_tensors_that_are_split_over_the_cores_of_a_replica(session: Any, replicas: int) -> None:
    cores = assignment(replicas, 4)
    dims = [[2, 2], None, [1], [4, 1]]
    queue = tpu_feed._PartitionedInfeedQueue(4, cores, 0, dims)
    rows = [
        [tf.reshape(tf.range(15), [5, 3]) + i, tf.constant([10 * i]), tf.constant([i]), whole]
        for i in range(replicas)
        for whole in [tf.reshape(tf.range(6), [6, 1]) * i]
    ]
    enqueue = queue.generate_enqueue_ops(rows)

    def total(*arguments: Any) -> Any:
        return [tf.identity(x) for x in arguments]

    empty: list[list[Any]] = [[] for _ in range(replicas)]
    results = tpu.replicate(total, empty, infeed_queue=queue, device_assignment=cores)
    for _ in range(2):
        _, actual, expected = session.run([enqueue, results, rows])
        for replica, row in zip(actual, expected, strict=True):
            for value, wanted in zip(replica, row, strict=True):
                np.testing.assert_array_equal(value, wanted)


def test_inputs_that_the_queue_itself_splits(session: Any) -> None:
    queue = tpu_feed.InfeedQueue(tuple_types=[tf.float32], tuple_shapes=[[4]])
    results = tpu.replicate(lambda x: x * 2.0, [[], []], infeed_queue=queue)
    enqueue = queue.split_inputs_and_generate_enqueue_ops([tf.constant([1.0, 2.0, 3.0, 4.0])])
    _, actual = session.run([enqueue, results])
    np.testing.assert_allclose(actual, [[[2.0, 4.0]], [[6.0, 8.0]]])


@pytest.mark.parametrize(
    ("dtypes", "shapes", "text"),
    [
        ([tf.float32, tf.float32], [[2], []], "Type mismatch"),
        ([tf.float32, tf.int32], [[3], []], "is not compatible with expected shape"),
        ([tf.float32], [[2]], "is not compatible with expected shape"),
    ],
)
def test_a_tuple_of_another_kind_is_an_error(
    session: Any, dtypes: Any, shapes: Any, text: str
) -> None:
    values = [tf.zeros([2]), tf.constant(1)]
    enqueue = tpu_ops.infeed_enqueue_tuple(values, [[2], []], device_ordinal=0)
    result = tpu.rewrite(lambda: tpu_ops.infeed_dequeue_tuple(dtypes, shapes))
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run([enqueue, result])


def test_a_tensor_of_an_undeclared_shape_is_not_enqueued(session: Any) -> None:
    with pytest.raises(ValueError, match=r"must be equal|not compatible"):
        tpu_ops.infeed_enqueue_tuple([tf.zeros([2])], [[3]], device_ordinal=0)


def never_fed() -> Any:
    return tpu.replicate(times, [[], []], infeed_queue=infeed_queue())


def test_what_is_never_enqueued_ends_at_the_deadline(session: Any) -> None:
    with tpu.options(deadline=0.5):
        results = never_fed()
    with pytest.raises(tpu.DeadlockError, match=r"more than 0\.5 s") as caught:
        session.run(results)
    assert "replica 1: waits in InfeedDequeueTuple" in str(caught.value)
    assert "test_infeed.py" in str(caught.value)


def test_without_a_deadline_patience_ends(session: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 0.5)
    results = never_fed()
    with pytest.raises(tpu.DeadlockError, match="The step waits, and nothing"):
        session.run(results)


def test_in_a_function_too(monkeypatch: Any) -> None:
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 0.5)
    with pytest.raises(tpu.DeadlockError, match="waits in InfeedDequeueTuple"):
        tf.function(never_fed)()


def test_a_cluster_that_enqueues_too_late(session: Any) -> None:
    """It needs what the device makes of the tuple that it is to enqueue."""

    def late(x: Any) -> None:
        tpu_ops.infeed_enqueue_tuple([x], [[2]], device_ordinal=0)

    def computation() -> Any:
        (x,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[2]])
        tpu.outside_compilation(late, x * 2.0)
        return x

    with tpu.options(deadline=0.5):
        result = tpu.rewrite(computation)
    with pytest.raises(tpu.DeadlockError, match="waits in InfeedDequeueTuple"):
        session.run(result)


def test_a_cluster_that_enqueues_in_time(session: Any) -> None:
    def computation() -> Any:
        tpu.outside_compilation(
            lambda: tpu_ops.infeed_enqueue_tuple([tf.ones([2])], [[2]], device_ordinal=0)
        )
        return tpu_ops.infeed_dequeue_tuple([tf.float32], [[2]])[0] * 3.0

    np.testing.assert_allclose(session.run(tpu.rewrite(computation)), [[3.0, 3.0]])


def test_the_outfeed_gives_the_host_what_the_device_puts_in(session: Any) -> None:
    def computation(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            with tf.control_dependencies([tpu_ops.outfeed_enqueue_tuple([i, y])]):
                return i + 1, y * 2.0

        return tf.while_loop(lambda i, _: i < 3, body, [0, x])[1]

    done = tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(10.0)]])
    actual = [
        tpu_ops.outfeed_dequeue_tuple([tf.int32, tf.float32], [[], []], device_ordinal=core)
        for core in range(2)
    ]
    session.run(done)
    assert [session.run(actual) for _ in range(3)] == [
        [[i, 1.0 * 2**i], [i, 10.0 * 2**i]] for i in range(3)
    ]
