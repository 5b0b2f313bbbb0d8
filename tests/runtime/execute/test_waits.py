"""Every wait has a limit, which counts only while nothing is at work that could end the wait."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tpulint.runtime.execute import feeds, waiting
from tpulint.runtime.schedule.locks import Wait

LIMIT = 1.0
"""Seconds of stillness, in place of a minute."""
SLOW = 2.0
"""Seconds that a producer takes."""
NOTHING_RUNS = "nothing runs that could end its waits?"


@pytest.fixture(autouse=True)
def short_limit(monkeypatch: Any) -> None:
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", LIMIT)


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        yield session


def fills_outfeed(x: Any) -> Any:
    with tf.control_dependencies([tpu_ops.outfeed_enqueue_tuple([x * 2.0])]):
        return tf.identity(x)


def takes_outfeed() -> Any:
    (value,) = tpu_ops.outfeed_dequeue_tuple([tf.float32], [[2]], device_ordinal=0)
    return value


def takes_infeed() -> Any:
    (x,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[2]])
    return x * 2.0


def fills_infeed(x: Any) -> Any:
    return tpu_ops.infeed_enqueue_tuple([x], [[2]], device_ordinal=0)


@pytest.fixture
def closed_only(monkeypatch: Any) -> None:
    """Let only a process that nothing from outside can wake be idle for too long."""
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 600.0)
    monkeypatch.setattr(waiting, "MAX_CLOSED_SECONDS", LIMIT)


def slow(x: Any) -> Any:
    time.sleep(SLOW)
    return x


def in_a_thread(function: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Run `function` in a thread; return it, and the list to which its result or error comes."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


def test_an_outfeed_that_no_device_program_fills_in_a_session(session: Any) -> None:
    device = tpu.rewrite(fills_outfeed, [tf.constant([1.0, 2.0])])
    value = takes_outfeed()
    np.testing.assert_allclose(session.run([device, value])[1], [2.0, 4.0])
    with pytest.raises(tpu.DeadlockError, match=NOTHING_RUNS) as caught:
        session.run(value)
    assert "host: waits for the outfeed of core 0, which no device program" in str(caught.value)
    assert "test_waits.py" in str(caught.value.place)
    np.testing.assert_allclose(session.run([device, value])[1], [2.0, 4.0])


def test_an_outfeed_that_no_device_program_fills_in_a_function() -> None:
    with pytest.raises(tpu.DeadlockError, match="the outfeed of core 0"):
        tf.function(takes_outfeed)()


def test_an_outfeed_that_no_device_program_fills_eagerly() -> None:
    with pytest.raises(tpu.DeadlockError, match="the outfeed of core 0"):
        takes_outfeed()


def test_looks_that_cost_much_are_no_work(monkeypatch: Any) -> None:
    """After other pods, asking the hosts took the processor for more than a tenth of the time."""

    def ask() -> None:
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass

    monkeypatch.setattr(feeds, "ask_hosts_now", ask)
    thread, results = in_a_thread(takes_outfeed)
    thread.join(30)
    assert [type(result) for result in results] == [tpu.DeadlockError]


def test_a_deadline_limits_the_host_whatever_is_at_work(session: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 600.0)
    with tpu.options(deadline=0.5):
        value = takes_outfeed()
    with pytest.raises(tpu.DeadlockError, match=r"has waited more than 0\.5 s for the outfeed"):
        session.run([value, tf.numpy_function(slow, [tf.constant(1.0)], tf.float32)])


def test_a_host_that_waits_for_a_device_that_waits_for_the_host(session: Any) -> None:
    device, value = tpu.rewrite(takes_infeed), takes_outfeed()
    with pytest.raises(tpu.DeadlockError) as caught:
        session.run([device, value])
    assert "waits in InfeedDequeueTuple" in str(caught.value)
    assert "host: waits for the outfeed of core 0" in str(caught.value)


def test_waits_that_end_in_errors_one_after_the_other_list_each_other(monkeypatch: Any) -> None:
    monkeypatch.setattr(waiting, "_GIVEN_UP_SECONDS", 600.0)
    device, host = (Wait(lane, lane, f"waits as the {lane}") for lane in ("device", "host"))
    waiting.idle_time.note(["of device"], [device])
    waiting.idle_time.note(["of host"], [host])
    errors = [
        waiting.deadlock_of_waits("Nothing runs", [wait], [token])
        for wait, token in ((host, "of host"), (device, "of device"))
    ]
    monkeypatch.setattr(waiting.idle_time, "_given_up", [])
    for error in errors:
        assert "waits as the device" in str(error)
        assert "waits as the host" in str(error)


def test_a_queue_of_the_program_that_nobody_fills(session: Any) -> None:
    queue = tf.queue.FIFOQueue(1, [tf.float32])

    def host(x: Any) -> Any:
        with tf.control_dependencies([x]):
            return tf.reshape(queue.dequeue(), [])

    result = tpu.rewrite(lambda x: tpu.outside_compilation(host, x), [tf.constant(1.0)])
    with pytest.raises(tpu.DeadlockError, match="host cluster 0: waits in QueueDequeueV2"):
        session.run(result)


def test_a_thread_that_waits_while_the_others_wait_for_it(session: Any) -> None:
    value = takes_outfeed()
    thread, results = in_a_thread(lambda: session.run(value))
    thread.join()
    assert isinstance(results[0], tpu.DeadlockError)


def test_a_thread_that_waits_until_the_program_gets_to_the_step(session: Any) -> None:
    device = tpu.rewrite(fills_outfeed, [tf.constant([1.0, 2.0])])
    value = takes_outfeed()
    thread, results = in_a_thread(lambda: session.run(value))
    time.sleep(SLOW)
    session.run(device)
    thread.join()
    np.testing.assert_allclose(results[0], [2.0, 4.0])


def test_a_thread_that_waits_while_the_program_stops_at_a_breakpoint(session: Any) -> None:
    device = tpu.rewrite(fills_outfeed, [tf.constant([1.0, 2.0])])
    value = takes_outfeed()
    stopped: dict[str, Any] = {"wait": threading.Event().wait}
    debugger = "def interaction(seconds):\n    wait(seconds)\n"
    exec(compile(debugger, f"{sys.prefix}/bdb.py", "exec"), stopped)
    thread, results = in_a_thread(lambda: session.run(value))
    stopped["interaction"](SLOW)
    session.run(device)
    thread.join()
    np.testing.assert_allclose(results[0], [2.0, 4.0])


def test_a_pipeline_of_slow_python_in_the_same_run(session: Any) -> None:
    dataset = tf.data.Dataset.from_tensors(tf.ones([2])).map(
        lambda x: tf.ensure_shape(tf.numpy_function(slow, [x], tf.float32), [2])
    )
    x = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    results = session.run([tpu.rewrite(takes_infeed), fills_infeed(x)])
    np.testing.assert_allclose(results[0], [[2.0, 2.0]])


def comes_after_a_while() -> Any:
    """Return the element of a pipeline that sleeps, without Python."""
    number = {"output_types": [tf.float32], "output_shapes": [tf.TensorShape([2])]}
    sleeping = tf.raw_ops.SleepDataset(
        input_dataset=tf.raw_ops.TensorDataset(
            components=[tf.ones([2])], output_shapes=number["output_shapes"]
        ),
        sleep_microseconds=tf.constant(int(2 * SLOW * 1e6), tf.int64),
        **number,
    )
    iterator = tf.raw_ops.AnonymousIteratorV3(**number)
    with tf.control_dependencies([tf.raw_ops.MakeIterator(dataset=sleeping, iterator=iterator)]):
        (x,) = tf.raw_ops.IteratorGetNext(iterator=iterator, **number)
    return x


def test_a_pipeline_that_is_slow_without_python_in_another_thread(session: Any) -> None:
    enqueue, device = fills_infeed(comes_after_a_while()), tpu.rewrite(takes_infeed)
    thread, _ = in_a_thread(lambda: session.run(enqueue))
    np.testing.assert_allclose(session.run(device), [[2.0, 2.0]])
    thread.join()


def test_a_host_function_that_takes_its_time(session: Any) -> None:
    def host(x: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(slow, [x], tf.float32), [2])

    def computation(x: Any) -> Any:
        return fills_outfeed(tpu.outside_compilation(host, x))

    device = tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
    np.testing.assert_allclose(session.run([device, takes_outfeed()])[1], [2.0, 4.0])


CLOSED = """
import tensorflow.compat.v1 as tf
import tpulint.runtime as tpu
from tensorflow.python.tpu.ops import tpu_ops
from tpulint.runtime.execute import waiting
from tpulint.runtime.schedule.locks import Wait

waiting.MAX_IDLE_SECONDS = 600.0

def takes_infeed():
    (x,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[2]])
    return x * 2.0

with tf.Graph().as_default(), tf.Session() as session:
    session.run(tpu.rewrite(takes_infeed))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads have no known state")
def test_a_closed_process_is_known_soon() -> None:
    """In a process of its own: other tests may leave threads, which wait for a busy core."""
    command = [sys.executable, "-c", CLOSED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert re.search("DeadlockError(.|\n)*waits in InfeedDequeueTuple", done.stderr), done.stderr


@pytest.mark.usefixtures("closed_only")
def test_a_pipeline_that_sleeps_may_end_a_wait(session: Any) -> None:
    enqueue, device = fills_infeed(comes_after_a_while()), tpu.rewrite(takes_infeed)
    results = session.run([device, enqueue])
    np.testing.assert_allclose(results[0], [[2.0, 2.0]])


@pytest.mark.usefixtures("closed_only")
def test_a_thread_that_waits_for_another_process_may_end_a_wait(session: Any) -> None:
    device = tpu.rewrite(fills_outfeed, [tf.constant([1.0, 2.0])])
    value = takes_outfeed()
    thread, results = in_a_thread(lambda: session.run(value))
    # As in a pool of processes: a thread of the standard library sets the event.
    arrived = threading.Event()
    timer = threading.Timer(SLOW, arrived.set)
    timer.start()
    arrived.wait()
    session.run(device)
    thread.join()
    np.testing.assert_allclose(results[0], [2.0, 4.0])
