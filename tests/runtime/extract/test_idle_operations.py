"""Operations in branches, loops and functions that nothing uses, and that no device could run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import control_flow
from tests.runtime.oracle.programs import MODES


def as_a_message(x: Any) -> None:
    tf.strings.join(["x is ", tf.strings.as_string(x)])


def in_a_branch(x: Any) -> Any:
    def branch() -> Any:
        as_a_message(x)
        return x

    return tf.cond(x > 0, branch, lambda: x * 2)


def in_a_switch(x: Any) -> Any:
    def branch() -> Any:
        as_a_message(x)
        return x

    return tf.switch_case(x, [lambda: x * 2, branch])


def in_a_loop(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        as_a_message(y)
        return i + 1, y + 1

    return tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]


def in_the_test_of_a_loop(x: Any) -> Any:
    def goes_on(i: Any, y: Any) -> Any:
        as_a_message(y)
        return i < 3

    return tf.while_loop(goes_on, lambda i, y: (i + 1, y + 1), (0, x))[1]


def in_a_branch_of_a_loop(x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, in_a_branch(y) + 1), (0, x))[1]


def in_a_called_function(x: Any) -> Any:
    @tf.function(autograph=False)
    def called(y: Any) -> Any:
        as_a_message(y)
        return y + 1

    return called(x)


def in_a_function_that_nothing_uses(x: Any) -> Any:
    def branch() -> Any:
        tf.function(lambda y: tf.strings.length(tf.strings.as_string(y)), autograph=False)(x)
        return x

    return tf.cond(x > 0, branch, lambda: x * 2)


PROGRAMS = [
    in_a_branch,
    in_a_switch,
    in_a_loop,
    in_the_test_of_a_loop,
    in_a_branch_of_a_loop,
    in_a_called_function,
    in_a_function_that_nothing_uses,
]


def value(mode: str, program: Callable[[Any], Any]) -> int:
    if mode == "function":

        @tf.function(autograph=False)
        def step(x: Any) -> Any:
            return tpu.rewrite(program, [x])

        return int(step(tf.constant(3))[0])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return int(session.run(tpu.rewrite(program, [tf.constant(3)]))[0])


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_they_are_removed(mode: str, soft: bool) -> None:
    tf.config.set_soft_device_placement(soft)
    with control_flow(mode):
        values = {program.__name__: value(mode, program) for program in PROGRAMS}
    assert values == {program.__name__: int(program(tf.constant(3))) for program in PROGRAMS}


@pytest.mark.parametrize("mode", MODES[1:])
def test_one_with_an_effect_is_kept(mode: str) -> None:
    def program(x: Any) -> Any:
        def branch() -> Any:
            tf.print("text of a branch")
            return x

        return tf.cond(x > 0, branch, lambda: x * 2)

    tf.config.set_soft_device_placement(False)
    with control_flow(mode), pytest.raises(tpu.UnsupportedOpError) as caught:
        value(mode, program)
    assert caught.value.rule == "TPU501"
