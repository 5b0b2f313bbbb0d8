"""When a host tensor has left its cluster by a side door, and when it has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu


def run(computation: Any) -> float:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        (result,) = tpu.rewrite(computation, [tf.constant(3.0)])
        return float(session.run(result))


def test_a_host_tensor_that_is_kept_and_not_used_on_the_device_is_silent() -> None:
    """The documented idiom of filling `export_outputs`."""
    leaked = {}

    def host(x: Any) -> None:
        leaked["export"] = tf.strings.as_string(x)

    def computation(x: Any) -> Any:
        tpu.outside_compilation(host, x)
        return x + 1.0

    assert run(computation) == 4.0


def test_a_host_tensor_that_another_cluster_uses_is_silent() -> None:
    leaked = []

    def computation(x: Any) -> Any:
        tpu.outside_compilation(lambda v: leaked.append(v * 2.0), x)
        return tpu.outside_compilation(lambda: leaked[0] + 1.0)

    assert run(computation) == 7.0


def test_a_result_that_cannot_be_looked_into_is_silent() -> None:
    @dataclass
    class Pair:
        first: Any
        second: Any

    def computation(x: Any) -> Any:
        pair = tpu.outside_compilation(lambda v: Pair(v + 1.0, v + 2.0), x)
        return pair.first * pair.second

    assert run(computation) == 20.0


def test_the_gradient_of_a_host_operation_may_take_its_insides() -> None:
    def computation(x: Any) -> Any:
        y = tpu.outside_compilation(lambda v: tf.square(v * 2.0), x)
        return tf.compat.v1.gradients(y, x)[0]

    assert run(computation) == 24.0


@pytest.mark.parametrize("mode", ["graph", "function"])
def test_the_error_names_where_the_device_uses_a_host_tensor(mode: str) -> None:
    def computation(x: Any) -> Any:
        leaked = []
        tpu.outside_compilation(lambda v: leaked.append(v * 2.0), x)
        return leaked[0] + 1.0

    @tf.function
    def step() -> Any:
        return tpu.rewrite(computation, [tf.constant(3.0)])

    with pytest.raises(tpu.EscapedTensorError, match="does not return it") as caught:
        run(computation) if mode == "graph" else step()
    assert caught.value.rule == "TPU207"
    assert caught.value.place.endswith(f":{computation.__code__.co_firstlineno + 3}")


def test_options_are_those_of_a_step() -> None:
    with tpu.options(deadline=5.0) as outer, tpu.options(host_variables="snapshot") as inner:
        assert (outer.deadline, inner.deadline, inner.host_variables) == (5.0, 5.0, "snapshot")
    with pytest.raises(TypeError), tpu.options(no_such_option=1):
        pass
