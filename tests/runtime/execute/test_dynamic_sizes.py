"""Inputs of unknown sizes, whose sizes differ by replica, are taken for equal where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

Tensor = Any


def product(x: Tensor, y: Tensor) -> Tensor:
    return tf.reduce_sum(x * y)


def after_a_reshape(x: Tensor, y: Tensor) -> Tensor:
    flat = tf.reshape(tf.tile(x[:, tf.newaxis, tf.newaxis], [1, 2, 3]), [-1, 6])
    return tf.reduce_sum(flat * y[:, tf.newaxis])


def mean(x: Tensor, y: Tensor) -> Tensor:
    return tf.reduce_sum(x * y) / tf.cast(tf.shape(x)[0] + 1, tf.float32)


def around_a_cluster(x: Tensor, y: Tensor) -> Tensor:
    return tf.reduce_sum(tpu.outside_compilation(lambda a: a * 2.0, x) * y)


# 10 leave each replica one example of the last batch, 9 leave the second none.
@pytest.mark.parametrize("number", [10, 9])
@pytest.mark.parametrize("computation", [product, after_a_reshape, mean, around_a_cluster])
def test_two_inputs_of_a_last_batch(computation: Callable[..., Tensor], number: int) -> None:
    x = np.arange(number, dtype=np.float32)
    y = x + 1.0
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
        iterator = iter(strategy.experimental_distribute_dataset(batches))

        @tf.function
        def step() -> Any:
            results = strategy.run(computation, args=next(iterator))
            return strategy.experimental_local_results(results)

        actual = [float(value) for _ in range(2) for value in step()]
    shares = [slice(0, 4), slice(4, 8), slice(8, 9), slice(9, 10)]
    plain = around_a_cluster_on_the_host if computation is around_a_cluster else computation
    assert actual == [pytest.approx(float(plain(tf.constant(x[s]), y[s]))) for s in shares]


def around_a_cluster_on_the_host(x: Tensor, y: Tensor) -> Tensor:
    return tf.reduce_sum(x * 2.0 * y)


def test_sizes_that_differ_and_do_not_meet() -> None:
    def computation(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return tf.reduce_sum(x), tf.reduce_sum(y * 10.0)

    inputs = [[3, 1], [2, 4]]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = [[tf.compat.v1.placeholder(tf.float32, [None]) for _ in row] for row in inputs]
        shapes = [tf.TensorShape([None])] * 2
        results = tpu.replicate(computation, fed, maximum_shapes=shapes)
        values = {
            tensor: np.ones(size)
            for tensors, sizes in zip(fed, inputs, strict=True)
            for tensor, size in zip(tensors, sizes, strict=True)
        }
        assert session.run(results, values) == [[3.0, 10.0], [2.0, 40.0]]


def test_sizes_below_a_maximum() -> None:
    def computation(x: Tensor) -> tuple[Tensor, Tensor]:
        return tf.reduce_sum(x + 1.0), tf.shape(x)

    inputs = [[tf.ones([3, 2])], [tf.ones([2, 4])]]
    results = tpu.replicate(computation, inputs, maximum_shapes=[tf.TensorShape([8, 8])])
    assert [float(total) for total, _ in results] == [12.0, 16.0]
    assert [shape.numpy().tolist() for _, shape in results] == [[3, 2], [2, 4]]


def test_killed_a_result_as_long_as_its_input_keeps_its_shape() -> None:
    # XLA read the sizes of the second of two equal results from elsewhere: a shape of garbage, or
    # the end of the process (`predict` of Keras, whose last batch is a smaller one).
    x = np.arange(30, dtype=np.float32).reshape(10, 3)
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        batches = tf.data.Dataset.from_tensor_slices(x).batch(8)
        iterator = iter(strategy.experimental_distribute_dataset(batches))

        @tf.function
        def step() -> Any:
            results = strategy.run(lambda rows: rows + 1.0, args=(next(iterator),))
            return strategy.experimental_local_results(results)

        values = [value.numpy() for _ in range(2) for value in step()]
    np.testing.assert_array_equal(np.concatenate(values), x + 1.0)


def test_strings_of_unknown_size_are_refused_for_their_dtype() -> None:
    """Was TPU501: the size that TensorFlow itself adds to the input has no kernel for strings."""
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        names = tf.data.Dataset.from_tensor_slices(tf.constant(["a", "b", "c"])).batch(2)
        iterator = iter(strategy.experimental_distribute_dataset(names))

        @tf.function
        def step() -> Any:
            return strategy.run(lambda name: name, args=(next(iterator),))

        with pytest.raises(tpu.UnsupportedOpError, match="string") as raised:
            step()
    assert raised.value.rule == "TPU504"
