"""Tensors whose shape XLA knows only by its bounds come out of a computation as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu

Tensor = Any
X = [1.0, -1.0, 3.0, 0.0, 5.0]


def places_twice(x: Tensor) -> list[Tensor]:
    places = tf.where(x > 0.0)
    return [tf.identity(places), tf.identity(places)]


def mask_and_itself(x: Tensor) -> list[Tensor]:
    mask = tf.boolean_mask(x, x > 0.0)
    return [mask, mask, mask * 2.0, tf.stop_gradient(mask)]


def same_values_in_other_shapes(x: Tensor) -> list[Tensor]:
    mask = tf.boolean_mask(x, x > 0.0)
    return [tf.reshape(mask, [-1]), mask, tf.expand_dims(mask, 0), mask[tf.newaxis]]


def equal_by_what_xla_finds(x: Tensor) -> list[Tensor]:
    mask = tf.boolean_mask(x, x > 0.0)
    return [mask * 2.0, 2.0 * mask, mask + mask, mask * 1.0, mask + 0.0]


def empty(x: Tensor) -> list[Tensor]:
    mask = tf.boolean_mask(x, x > 9.0)
    return [mask, tf.identity(mask), tf.size(mask)]


def around_a_cluster(x: Tensor) -> list[Tensor]:
    mask = tf.boolean_mask(x, x > 0.0)
    host = tpu.outside_compilation(lambda a: a + 1.0, mask)
    return [mask, host * 1.0, tf.identity(mask), tf.identity(host)]


def with_a_size_that_is_fed(x: Tensor) -> list[Tensor]:
    return [x, tf.identity(x), x * 2.0, tf.reduce_sum(x)]


def in_a_branch(x: Tensor) -> list[Tensor]:
    def taken() -> list[Tensor]:
        mask = tf.boolean_mask(x, x > 0.0)
        host = tpu.outside_compilation(lambda a: a + 1.0, mask)
        return [mask, tf.identity(mask), host]

    return list(tf.cond(x[0] > 0.0, taken, lambda: [x, x, x]))


PROGRAMS = [
    places_twice,
    mask_and_itself,
    same_values_in_other_shapes,
    equal_by_what_xla_finds,
    empty,
    around_a_cluster,
    with_a_size_that_is_fed,
    in_a_branch,
]


@pytest.mark.parametrize("size", [5, None])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_are_tensorflows(program: Callable[..., list[Tensor]], size: int | None) -> None:
    signature = [tf.TensorSpec([size], tf.float32)]

    @tf.function(autograph=False, input_signature=signature)
    def ours(x: Tensor) -> Any:
        return tpu.rewrite(program, [x])

    plain = tf.function(program, autograph=False, input_signature=signature)
    x = tf.constant(X)
    for actual, expected in zip(ours(x), plain(x), strict=True):
        assert np.array_equal(actual, expected)
