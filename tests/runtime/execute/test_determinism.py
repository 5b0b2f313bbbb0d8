"""Op determinism forbids some operations, and none of them is the emulator's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import config
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tpulint.runtime.execute.probes import SegmentRun, watch_segments
from tpulint.runtime.tensorflow_internals import threads


@pytest.fixture
def determinism() -> Iterator[None]:
    config.enable_op_determinism()
    yield
    config.disable_op_determinism()


@pytest.fixture
def events() -> Iterator[list[SegmentRun]]:
    """Record what `tpulint run` sees of the segments of steps that are built in the test."""
    events: list[SegmentRun] = []
    with watch_segments(events.append):
        yield events


def computation(x: Any) -> Any:
    """Return what collectives, a loop of host clusters and a Python function compute."""

    def body(i: Any, total: Any) -> tuple[Any, Any]:
        return i + 1, tpu.outside_compilation(tf.identity, total) * 2.0

    def in_python(value: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(lambda v: v + v, [value], tf.float32), [])

    doubled = tf.while_loop(lambda i, _: i < 3, body, [0, x])[1]
    return tpu_ops.cross_replica_sum(doubled) + tpu.outside_compilation(in_python, x)


def step() -> Any:
    return tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]])


RESULTS = [26.0, 28.0]


@pytest.mark.parametrize("deadline", [None, 60.0])
def test_a_step_runs_and_is_measured(
    determinism: None, events: list[SegmentRun], deadline: float | None
) -> None:
    with tpu.options(deadline=deadline):
        assert [float(value) for (value,) in step()] == RESULTS
    assert {event.lane for event in events} == {"device", "host cluster 0", "host cluster 1"}
    assert all(event.start <= event.end for event in events)


def test_a_step_that_was_built_before_runs(
    events: list[SegmentRun], request: pytest.FixtureRequest
) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = step()
        request.getfixturevalue("determinism")
        assert [float(value) for (value,) in session.run(built)] == RESULTS


def test_a_thread_of_tensorflows_is_probed(determinism: None) -> None:
    assert threads._probe_functions() is None
    assert threads._probe_sessions() is None


def test_the_users_timestamp_is_refused_as_without_a_tpu(
    determinism: None, events: list[SegmentRun]
) -> None:
    def with_timestamp(x: Any) -> Any:
        return x + tf.cast(tpu.outside_compilation(tf.timestamp), tf.float32)

    with pytest.raises(tf.errors.FailedPreconditionError, match="Timestamp"):
        tf.timestamp()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Timestamp"):
        tpu.replicate(with_timestamp, [[tf.constant(1.0)]])
