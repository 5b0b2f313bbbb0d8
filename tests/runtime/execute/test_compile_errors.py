"""Errors of XLA name the operation, the user's line and the rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.run.report import ComputationRun, headed
from tpulint.run.session import uncompiled_note
from tpulint.runtime.errors import UnsupportedOpError
from tpulint.runtime.execute.device_program import segments_sent_to

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


def the_gradient_of_a_loop_bounded_by_data(n: Tensor) -> Tensor:
    x = tf.cast(n, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.while_loop(
            lambda i, _: i < n, lambda i, s: (i + 1, s * x), (0, x), maximum_iterations=n
        )[1]
    return tape.gradient(y, x)  # line of: the_gradient_of_a_loop_bounded_by_data


@pytest.mark.parametrize(
    ("computation", "operation", "rule"),
    [
        (in_a_branch, "zeros", "TPU502"),
        (in_a_loop, "range", "TPU502"),
        (in_a_function_in_a_loop, "range", "TPU502"),
        (branches_of_other_ranks, "cond", "TPU502"),
        (a_growing_loop, "while", "TPU502"),
        (the_gradient_of_an_unbounded_loop, "accumulator", "TPU508"),
        (the_gradient_of_a_loop_bounded_by_data, "accumulator", "TPU508"),
    ],
)
@pytest.mark.parametrize("in_session", [True, False])
@pytest.mark.parametrize("compiles", ["always", "never"])
def test_the_operation_the_line_and_the_rule(
    computation: Callable[[Tensor], Tensor],
    operation: str,
    rule: str,
    in_session: bool,
    compiles: str,
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

    with tpu.options(compile=compiles), pytest.raises(UnsupportedOpError) as caught:
        run()
    marked = f"# line of: {computation.__name__}"
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if text.endswith(marked)]
    assert (caught.value.place, caught.value.rule) == (f"{__file__}:{line}", rule)
    first = str(caught.value).splitlines()[0]
    assert re.search(rf"`[\w/]*{operation}`", first)
    for internal in ("tpu_device_segment", "dummy_file_name", "Graph execution error", "[["):
        assert internal not in str(caught.value)


def build_and_run(computation: Callable[..., Any], inputs: list[list[Any]]) -> Any:
    @tf.function
    def step() -> Any:
        return tpu.replicate(computation, inputs)

    return step()


def test_a_size_that_data_cannot_change_is_a_constant() -> None:
    def count(numbers: Tensor) -> Tensor:
        return tf.math.bincount(numbers, minlength=4, maxlength=4)

    counts = build_and_run(count, [[tf.constant([1, 2, 2])]])
    assert counts[0][0].numpy().tolist() == [0, 1, 2, 0]


def test_what_xla_accepts_runs_without_being_compiled() -> None:
    variable = tf.Variable([1.0, 2.0])
    parts: list[bool] = []
    inputs = [[tf.constant([1.0, 3.0])], [tf.constant([2.0, 4.0])]]

    def computation(x: Tensor) -> Any:
        variable.assign_add(x)
        total = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s * variable), (0, x))[1]
        return total, tpu.cross_replica_sum(tf.reduce_sum(total))

    def run(compiles: str) -> list[list[float]]:
        variable.assign([1.0, 2.0])
        with (
            tpu.options(compile=compiles),
            segments_sent_to(lambda _, compiled: parts.append(compiled)),
        ):
            results = tf.nest.flatten(build_and_run(computation, inputs))
        results.append(variable)
        return [result.numpy().tolist() for result in results]

    assert run("always") == run("never")
    assert set(parts) == {True, False}
    counts = {("a.py:1", False): 1, ("b.py:1", False): 1, ("b.py:1", True): 1}
    assert "only checked 2 of 3 parts" in uncompiled_note(counts)
    ran = ComputationRun("a.py:1", 1, ())
    kernels = "not compiled: XLA checked it, TensorFlow's kernels ran it"
    assert headed(ran._replace(compiled_parts=3)) == "a.py:1, 1 step, 1 compilation"
    assert headed(ran._replace(checked_parts=1)) == f"a.py:1, 1 step, 1 program, {kernels}"
    some = headed(ran._replace(checked_parts=2, compiled_parts=1))
    assert some.startswith("a.py:1, 1 step, 1 program, 2 of 3 parts not compiled: XLA checked ")


def size_of_a_variable(size: Any) -> Tensor:
    return tf.zeros([size]) + 1.0


def a_size_that_only_the_input_has(x: Tensor) -> Tensor:
    return tf.reduce_sum(x * 2.0)


def test_what_cannot_be_checked_is_compiled() -> None:
    size, parts = tf.Variable(2), list[bool]()
    signature = [tf.TensorSpec([None], tf.float32)]

    @tf.function(input_signature=signature)
    def sums(x: Tensor) -> Any:
        return tpu.replicate(a_size_that_only_the_input_has, [[x]])

    with tpu.options(compile="never"), segments_sent_to(lambda _, compiled: parts.append(compiled)):
        assert sums(tf.ones([3]))[0][0].numpy() == 6.0
        with pytest.raises(UnsupportedOpError, match="must be a compile-time constant"):
            build_and_run(lambda: size_of_a_variable(size), [[]])
    assert parts == [True, True]
