"""Infeed and outfeed through `tf.raw_ops`: each operation, in sessions, in functions, eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

raw = tf.raw_ops
X = np.array([1.0, 2.0], np.float32)


def device_of_tuples() -> Any:
    (x,) = raw.InfeedDequeueTuple(dtypes=[tf.float32], shapes=[[2]])
    with tf.control_dependencies([raw.OutfeedEnqueueTuple(inputs=[x * 2.0])]):
        return tf.identity(x)


def device_of_tensors() -> Any:
    x = raw.InfeedDequeue(dtype=tf.float32, shape=[2])
    with tf.control_dependencies([raw.OutfeedEnqueue(input=x * 2.0)]):
        return tf.identity(x)


def prelinearized() -> Any:
    buffer = raw.Prelinearize(input=X, shape=[2])
    return raw.InfeedEnqueuePrelinearizedBuffer(input=buffer, device_ordinal=0)


def prelinearized_tuple() -> Any:
    buffer = raw.PrelinearizeTuple(inputs=[X], shapes=[[2]])
    return raw.InfeedEnqueuePrelinearizedBuffer(input=buffer, device_ordinal=0)


ENQUEUES: list[Callable[[], Any]] = [
    lambda: raw.InfeedEnqueue(input=X, shape=[2], device_ordinal=0),
    lambda: raw.InfeedEnqueueTuple(inputs=[X], shapes=[[2]], device_ordinal=0),
    prelinearized,
    prelinearized_tuple,
]
DEQUEUES: list[Callable[[], Any]] = [
    lambda: raw.OutfeedDequeue(dtype=tf.float32, shape=[2], device_ordinal=0),
    lambda: raw.OutfeedDequeueTuple(dtypes=[tf.float32], shapes=[[2]], device_ordinal=0)[0],
    lambda: raw.OutfeedDequeueV2(device_ordinal=0, dtype=tf.float32, shape=[2]),
    lambda: raw.OutfeedDequeueTupleV2(device_ordinal=0, dtypes=[tf.float32], shapes=[[2]])[0],
]
feeds = pytest.mark.parametrize(
    ("enqueue", "device", "dequeue"),
    list(zip(ENQUEUES, 2 * [device_of_tensors, device_of_tuples], DEQUEUES, strict=True)),
)


@feeds
def test_in_a_session(enqueue: Any, device: Any, dequeue: Any) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        results = session.run([tpu.rewrite(device), dequeue(), enqueue()])
    np.testing.assert_allclose(results[0], [X])
    np.testing.assert_allclose(results[1], 2.0 * X)


@feeds
def test_in_a_function(enqueue: Any, device: Any, dequeue: Any) -> None:
    @tf.function
    def step() -> Any:
        enqueue()
        (x,) = tpu.rewrite(device)
        return x, dequeue()

    x, y = step()
    np.testing.assert_allclose(x, X)
    np.testing.assert_allclose(y, 2.0 * X)


@feeds
def test_eagerly(enqueue: Any, device: Any, dequeue: Any) -> None:
    enqueue()
    np.testing.assert_allclose(tpu.rewrite(device)[0], X)
    np.testing.assert_allclose(dequeue(), 2.0 * X)


def test_the_core_may_be_known_only_when_the_graph_runs() -> None:
    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default():
        core = tf.compat.v1.placeholder(tf.int32, [])
        enqueues = [
            raw.InfeedEnqueueTuple(inputs=[X + number], shapes=[[2]], device_ordinal=number)
            for number in range(2)
        ]
        device = tpu.replicate(device_of_tuples, [[], []])
        value = raw.OutfeedDequeueV2(device_ordinal=core, dtype=tf.float32, shape=[2])
        with tf.compat.v1.Session() as session:
            session.run([device, *enqueues])
            np.testing.assert_allclose(session.run(value, {core: 1}), 2.0 * (X + 1))
            np.testing.assert_allclose(session.run(value, {core: 0}), 2.0 * X)


def test_under_a_tape() -> None:
    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            buffer = raw.Prelinearize(input=x, shape=[2])
            raw.InfeedEnqueuePrelinearizedBuffer(input=buffer, device_ordinal=0)
            (device,) = tpu.rewrite(device_of_tuples)
            taken = raw.OutfeedDequeueV2(device_ordinal=0, dtype=tf.float32, shape=[2])
            y = x * x
        return device, taken, tape.gradient(y, x)

    device, taken, gradient = step(tf.constant(X))
    np.testing.assert_allclose(device, X)
    np.testing.assert_allclose(taken, 2.0 * X)
    np.testing.assert_allclose(gradient, 2.0 * X)


def test_a_function_takes_from_the_outfeed_before_the_step_in_its_text() -> None:
    @tf.function
    def step() -> Any:
        taken = raw.OutfeedDequeue(dtype=tf.float32, shape=[2], device_ordinal=0)
        tpu.rewrite(device_of_tuples)
        raw.InfeedEnqueue(input=X, shape=[2], device_ordinal=0)
        return taken

    np.testing.assert_allclose(step(), 2.0 * X)
