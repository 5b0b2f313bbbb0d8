"""Sessions that wait on hosts in processes; test_sessions runs each test of this by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.pods.sessions import graph_on, on_each_replica
from tpulint.runtime.execute import waiting
from tpulint.runtime.pods import workers as processes

tf1 = tf.compat.v1


@contextmanager
def queue_on_the_first_host(workers: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield a session of two hosts, and a step that waits there for a queue that nothing fills."""
    with graph_on(workers[:2]) as master:
        with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
            queue = tf1.FIFOQueue(1, [tf.float32], [[]], name="work")
        step = on_each_replica(
            lambda x: tf1.tpu.outside_compilation(lambda y: y + queue.dequeue(), x)
        )
        with tf1.Session(master) as session:
            session.run(tf1.tpu.initialize_system(job="worker"))
            yield session, step


def test_hang_a_queue_on_a_host_that_nothing_fills(
    workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait was noticed, but nothing ended it on its host; each host says what it waits for."""
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 2.0)
    with (
        queue_on_the_first_host(workers) as (session, step),
        pytest.raises(tpu.DeadlockError, match="the queue 'work'") as caught,
    ):
        session.run(step)
    for replica, task in ((0, 0), (3, 1)):
        waits = f"replica {replica} (/job:worker/replica:0/task:{task}): waits in QueueDequeue"
        assert waits in str(caught.value)
    assert caught.value.rule == "TPU106"


def test_false_a_host_that_computes_is_waited_for(
    workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program's process is idle meanwhile, for longer than the limit."""
    asked: list[bytes] = []

    def computes_until_the_tenth(status: bytes) -> float | None:
        asked.append(status)
        return min(len(asked), 10) * 1e3

    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 2.0)
    monkeypatch.setattr(processes, "processor_seconds", computes_until_the_tenth)
    with (
        queue_on_the_first_host(workers) as (session, step),
        pytest.raises(tpu.DeadlockError),
    ):
        session.run(step)
    assert len(asked) > 10, "the error came while a host computed"
