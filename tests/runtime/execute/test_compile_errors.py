"""Errors of XLA name the operation, the user's line and the rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime.errors import UnsupportedOpError

Tensor = Any


def in_a_branch(n: Tensor) -> Tensor:
    return tf.cond(
        n > 5,
        lambda: tf.reduce_sum(tf.ones([2])),
        lambda: tf.reduce_sum(tf.zeros([n])),  # line of: in_a_branch
    )


def in_a_loop(n: Tensor) -> Tensor:
    def body(i: Tensor, total: Tensor) -> Any:
        return i + 1, total + tf.reduce_sum(tf.range(n))  # line of: in_a_loop

    return tf.while_loop(lambda i, _: i < 2, body, (0, 0))[1]


def in_a_function_in_a_loop(n: Tensor) -> Tensor:
    @tf.function
    def inner(m: Tensor) -> Tensor:
        return tf.reduce_sum(tf.range(m))  # line of: in_a_function_in_a_loop

    return tf.while_loop(lambda i, _: i < 2, lambda i, s: (i + 1, s + inner(n)), (0, 0))[1]


def branches_of_other_ranks(n: Tensor) -> Tensor:
    square, empty = tf.ones([2, 2]), tf.ones([0])
    chosen = tf.cond(n > 5, lambda: square, lambda: empty)  # line of: branches_of_other_ranks
    return tf.reduce_sum(chosen)


def a_growing_loop(n: Tensor) -> Tensor:
    del n
    return tf.while_loop(  # line of: a_growing_loop
        lambda x: tf.shape(x)[0] < 4,
        lambda x: (tf.concat([x, x], 0),),
        (tf.ones([1]),),
        shape_invariants=(tf.TensorShape([None]),),
    )[0]


def the_gradient_of_an_unbounded_loop(n: Tensor) -> Tensor:
    x = tf.cast(n, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.while_loop(lambda i, _: i < n, lambda i, s: (i + 1, s * x), (0, x))[1]
    return tape.gradient(y, x)  # line of: the_gradient_of_an_unbounded_loop


@pytest.mark.parametrize(
    ("computation", "operation", "rule"),
    [
        (in_a_branch, "zeros", "TPU502"),
        (in_a_loop, "range", "TPU502"),
        (in_a_function_in_a_loop, "range", "TPU502"),
        (branches_of_other_ranks, "cond", ""),
        (a_growing_loop, "while", ""),
        (the_gradient_of_an_unbounded_loop, "accumulator", ""),
    ],
)
@pytest.mark.parametrize("in_session", [True, False])
def test_the_operation_the_line_and_the_rule(
    computation: Callable[[Tensor], Tensor], operation: str, rule: str, in_session: bool
) -> None:
    @tf.function
    def step(n: Tensor) -> Any:
        return tpu.replicate(computation, [[n]])

    def run() -> Any:
        if not in_session:
            return step(tf.constant(2))
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            n = tf.compat.v1.placeholder(tf.int32, [])
            return session.run(tpu.replicate(computation, [[n]]), {n: 2})

    with pytest.raises(UnsupportedOpError) as caught:
        run()
    marked = f"# line of: {computation.__name__}"
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if text.endswith(marked)]
    assert (caught.value.place, caught.value.rule) == (f"{__file__}:{line}", rule)
    first = str(caught.value).splitlines()[0]
    assert re.search(rf"`[\w/]*{operation}`", first)
    for internal in ("tpu_device_segment", "dummy_file_name", "Graph execution error", "[["):
        assert internal not in str(caught.value)
