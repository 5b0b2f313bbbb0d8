"""Gradients through a computation's results: refused, or None, exactly as TensorFlow does."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import THEIRS, build
from tests.runtime.oracle.compare import difference
from tests.runtime.oracle.programs import MODES, Program

COMPUTATION = """
def computation(a, b):
    inside = a * 2.0
    whole = tf.cast(tf.cast(b, tf.int32), tf.float32)
    kept.append(inside)
    return inside + 1.0, whole, tf.stop_gradient(b), tf.constant(3.0)

def program():
    x, y, z = tf.constant(1.0), tf.constant(2.0), tf.constant(4.0)
    inner = tpu.replicate(computation, [[x, y], [x, z]])
    results = [one for replica in inner for one in replica]
    after = tf.constant(0.0)
"""
REFUSED = {
    "its input": "tf.gradients(results[0], x)",
    "what stands inside": "tf.gradients(results[0] * 2.0, kept[0])",
    "one of two sources": "tf.gradients(results[0], [y, x])",
    "another replica's input": "tf.gradients(results[2], z)",
    "a second result beside one that has none": "tf.gradients([results[1], results[0]], x)",
    "what stands before": "tf.gradients(tpu.rewrite(lambda v: v * 2.0, [results[0]])[0], x)",
    "a result, and more": "tf.gradients(results[0] * 2.0, [results[0], x])",
    "in a branch": "tf.cond(x > 0.0, lambda: tf.gradients(results[0] * 2.0, x)[0], lambda: x)",
    "through a function": "tf.gradients(tf.function(lambda v: v * 2.0)(results[0]), x)",
}
NONE = {
    "an input of another result": "tf.gradients(results[0], y)",
    "what is cast to whole numbers": "tf.gradients(results[1], y)",
    "a constant": "tf.gradients(results[3], [x, y])",
    "what another computation stands between": (
        "tf.gradients(tpu.rewrite(lambda v: v * 2.0, [results[1]])[0], y)"
    ),
    "the computation after it": "tf.gradients(results[0], results[2])",
    "the other replica's result": "tf.gradients(results[0] * 2.0, results[4])",
}
GIVEN = {
    "the result itself": "tf.gradients(results[0] * 2.0, results[0])",
    "the result beside what does not lead to it": "tf.gradients(results[0] * 2.0, [results[0], y])",
    "what meets the result later": "tf.gradients(results[1] * y, y)",
}
TAPE = """
    with tf.GradientTape() as tape:
        tape.watch({by})
        {before}
        loss = tpu.rewrite(lambda v, w: (v * 2.0, w), [x, y])[{number}] * 3.0
    gradient = tape.gradient(loss, {by})
    kept.append(gradient)
"""


def programs(expression: str) -> list[Program]:
    source = COMPUTATION + f"    kept.append({expression})\n"
    return [Program(0, mode, source) for mode in MODES]


def found_by_tensorflow(program: Program) -> Any:
    return build(program, THEIRS).error


@pytest.mark.parametrize("case", REFUSED)
def test_a_gradient_by_what_leads_to_the_result_is_refused(case: str) -> None:
    for program in programs(REFUSED[case]):
        assert isinstance(found_by_tensorflow(program), LookupError), program
        assert difference(program) is None


@pytest.mark.parametrize("case", [*NONE, *GIVEN])
def test_a_gradient_by_anything_else_is_what_it_is_without_a_tpu(case: str) -> None:
    expression = {**NONE, **GIVEN}[case]
    is_none = str([case in NONE])
    for program in programs(f"[({expression})[0] is None].index({is_none[1:-1]})"):
        assert found_by_tensorflow(program) is None, program
        assert difference(program) is None


@pytest.mark.parametrize(
    ("by", "before", "number", "refused"),
    [
        ("x", "pass", 0, True),
        ("x", "pass", 1, False),
        ("y", "pass", 1, True),
        ("z", "x = z * 2.0", 0, True),
        ("z", "x = x + 1.0", 0, False),
    ],
)
def test_tapes_do_the_same(by: str, before: str, number: int, refused: bool) -> None:
    lines = TAPE.format(by=by, before=before, number=number)
    if not refused:
        lines += "    assert gradient is None\n"
    for mode in MODES:
        program = Program(0, mode, textwrap.dedent(COMPUTATION) + lines)
        assert isinstance(found_by_tensorflow(program), LookupError) is refused, program
        assert difference(program) is None


def test_a_tape_around_an_eager_call_is_refused_too() -> None:
    x, y = tf.constant(1.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        doubled, other = tpu.rewrite(lambda v: (v * 2.0, y * 3.0), [x])
        later, after = doubled * y, other * 2.0
    assert tape.gradient(doubled, y) is None
    assert float(tape.gradient(later, y)) == 2.0
    for result in (other, after):
        with pytest.raises(LookupError, match="No gradient defined for operation'output1'"):
            tape.gradient(result, y)


@pytest.mark.parametrize("taken", [True, False])
def test_a_tape_around_a_function_that_holds_a_computation(taken: bool) -> None:
    """TensorFlow builds the gradient of a function when it is called, by all of its inputs."""

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return tpu.rewrite(lambda v: (v if taken else tf.stop_gradient(3.0)) * 2.0, [x])[0] * y

    x, y = tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(y)
        if taken:
            with pytest.raises(LookupError, match="operation'output0'"):
                step(x, y)
        else:
            assert float(tape.gradient(step(x, y), y)) == 6.0
