"""Failures in a step, and the steps after them."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager import cancellation

import tpulint.runtime as tpu


def local(strategy: Any, value: Any) -> list[Any]:
    return [result.numpy().tolist() for result in strategy.experimental_local_results(value)]


def test_a_step_runs_after_one_that_could_not_be_compiled(strategy: Any) -> None:
    tf.config.set_soft_device_placement(False)

    @tf.function
    def wrong(x: Any) -> Any:
        return strategy.run(lambda y: tf.strings.length(tf.strings.as_string(y)), args=(x,))

    @tf.function
    def right(x: Any) -> Any:
        return strategy.run(lambda y: y + 1.0, args=(x,))

    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            wrong(tf.constant(1.0))
        assert isinstance(caught.value, tpu.UnsupportedOpError)
        assert local(strategy, right(tf.constant(1.0))) == [2.0, 2.0]


def test_an_error_of_a_host_cluster_ends_the_step(strategy: Any) -> None:
    def fail(x: Any) -> Any:
        def raise_it(_: Any) -> Any:
            raise ValueError("from the host")

        return tf.py_function(raise_it, [x], tf.float32)

    @tf.function
    def step(x: Any) -> Any:
        def replica_fn(y: Any) -> Any:
            y = tf.compat.v1.tpu.outside_compilation(fail, y)
            return tf.distribute.get_replica_context().all_reduce("SUM", y)

        return strategy.run(replica_fn, args=(x,))

    with pytest.raises(tf.errors.InvalidArgumentError, match="from the host"):
        step(tf.constant(1.0))


def test_a_collective_that_one_replica_misses_is_no_hang(strategy: Any) -> None:
    @tf.function
    def step() -> Any:
        def replica_fn() -> Any:
            context = tf.distribute.get_replica_context()
            first = tf.equal(context.replica_id_in_sync_group, 0)
            one = tf.constant(1.0)
            return tf.cond(first, lambda: context.all_reduce("SUM", one), lambda: one)

        return strategy.run(replica_fn)

    with pytest.raises(tpu.DivergentCollectiveError):
        step()


def test_a_step_that_is_cancelled_after_one_that_failed(strategy: Any) -> None:
    """It says that it was cancelled, and not what failed in the other one, in both replicas."""
    tf.config.set_soft_device_placement(False)

    @tf.function
    def wrong() -> Any:
        return strategy.run(lambda: tf.strings.length("text"))

    with pytest.raises(tpu.UnsupportedOpError):
        wrong()
    began = threading.Event()

    def wait(x: Any) -> Any:
        def until_cancelled(_: Any) -> float:
            began.set()
            time.sleep(0.05)
            return 0.0

        return tf.py_function(until_cancelled, [x], tf.float32)

    @tf.function
    def step(x: Any) -> Any:
        def replica_fn(y: Any) -> Any:
            while y < 1.0:
                y = tf.compat.v1.tpu.outside_compilation(wait, y + 0.0)
                y.set_shape([])
            return y

        return strategy.run(replica_fn, args=(x,))

    errors: list[BaseException] = []
    manager = cancellation.CancellationManager()
    cancellable = manager.get_cancelable_function(step.get_concrete_function(tf.constant(0.0)))

    def run() -> None:
        try:
            cancellable(tf.constant(0.0))
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(120)
    manager.start_cancel()
    thread.join(120)
    assert not thread.is_alive()
    assert [type(error) for error in errors] == [tf.errors.CancelledError]
    assert local(strategy, step(tf.constant(2.0))) == [2.0, 2.0]


def test_summaries_are_written_by_replica_0_only(strategy: Any, tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))

    @tf.function
    def step(x: Any) -> Any:
        def replica_fn(y: Any) -> Any:
            context = tf.distribute.get_replica_context()
            z = y + tf.cast(context.replica_id_in_sync_group, tf.float32)
            tf.compat.v1.tpu.outside_compilation(lambda v: tf.summary.scalar("z", v, step=0), z)
            return z

        return strategy.run(replica_fn, args=(x,))

    with writer.as_default():
        assert local(strategy, step(tf.constant(5.0))) == [5.0, 6.0]
    writer.close()
    (file,) = tmp_path.iterdir()
    events = [
        tf.compat.v1.Event.FromString(record.numpy())
        for record in tf.data.TFRecordDataset(str(file))
    ]
    written = [
        float(tf.make_ndarray(value.tensor)) for event in events for value in event.summary.value
    ]
    assert written == [5.0]


def test_a_step_in_a_host_function_of_a_step_ends_by_the_deadline(strategy: Any) -> None:
    @tf.function
    def inner() -> Any:
        return strategy.run(lambda: tf.constant(1.0))

    def run_a_step(x: Any) -> Any:
        def in_python(value: Any) -> Any:
            inner()
            return value

        return tf.py_function(in_python, [x], tf.float32)

    @tf.function
    def outer(x: Any) -> Any:
        def replica_fn(y: Any) -> Any:
            return tf.compat.v1.tpu.outside_compilation(run_a_step, y * 2.0)

        return strategy.run(replica_fn, args=(x,))

    inner()
    with tpu.options(deadline=3.0), contextlib.suppress(tpu.DeadlockError):
        # With threads to spare, the inner step runs; with few, it waits for those of the outer.
        outer(tf.constant(1.0))
    assert local(strategy, inner()) == [1.0, 1.0]


def test_threads_share_a_strategy(strategy: Any) -> None:
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step(x: Any) -> Any:
        def replica_fn(y: Any) -> Any:
            y = tf.distribute.get_replica_context().all_reduce("SUM", y)
            total.assign_add(tf.compat.v1.tpu.outside_compilation(tf.identity, y))

        strategy.run(replica_fn, args=(x,))

    def many_steps() -> None:
        for _ in range(10):
            step(tf.constant(1.0))

    step(tf.constant(1.0))
    threads = [threading.Thread(target=many_steps) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert local(strategy, total) == [41.0 * 4.0] * 2


def test_a_step_on_a_system_that_is_not_initialized_is_refused() -> None:
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        strategy = tf.distribute.TPUStrategy(resolver)

        @tf.function
        def step() -> Any:
            return strategy.run(lambda: tf.constant(1.0))

        @tf.function
        def later() -> Any:
            return strategy.run(lambda: tf.constant(2.0))

        text = "The TPU system has not been initialized"
        with pytest.raises(tf.errors.FailedPreconditionError, match=text) as caught:
            step()
        assert isinstance(caught.value, tpu.UninitializedSystemError)
        assert __file__ in str(caught.value)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        assert local(strategy, step()) == [1.0, 1.0]
        tf.tpu.experimental.shutdown_tpu_system(resolver)
        with pytest.raises(tf.errors.FailedPreconditionError, match=text):
            later()


def test_a_session_may_be_of_a_server_that_is_initialized() -> None:
    with tpu.emulated_tpu(num_replicas=1), tf.Graph().as_default():
        doubled = tf.compat.v1.tpu.rewrite(lambda x: x * 2.0, [tf.constant(1.0)])
        with tf.compat.v1.Session() as session:
            assert session.run(doubled) == [2.0]
