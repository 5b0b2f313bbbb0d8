"""Tensors that leave a branch, a loop, a function or a host cluster by a side door."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu


@pytest.fixture(params=["graph, V1 control flow", "graph, V2 control flow", "function"])
def build(request: Any) -> Iterator[Any]:
    """Build a computation of one replica."""
    before = tf.compat.v1.control_flow_v2_enabled()

    def in_function(computation: Any) -> None:
        @tf.function(autograph=False)
        def step() -> Any:
            return tpu.rewrite(computation, [tf.constant(1.0)])

        step.get_concrete_function()

    def in_graph(computation: Any) -> None:
        with tf.Graph().as_default():
            tpu.rewrite(computation, [tf.constant(1.0)])

    if request.param == "graph, V1 control flow":
        tf.compat.v1.disable_control_flow_v2()
    else:
        tf.compat.v1.enable_control_flow_v2()
    yield in_function if request.param == "function" else in_graph
    (tf.compat.v1.enable_control_flow_v2 if before else tf.compat.v1.disable_control_flow_v2)()


def in_branch(tensors: list[Any], x: Any) -> Any:
    def taken() -> Any:
        tensors.append(x * 2.0)
        return tensors[0] + 1.0

    return tf.cond(x > 0.0, taken, lambda: x)


def in_loop(tensors: list[Any], x: Any) -> Any:
    def body(y: Any) -> Any:
        tensors.append(y * 2.0)
        return (tensors[0],)

    return tf.while_loop(lambda y: y < 9.0, body, (x,), maximum_iterations=9)


def in_cluster(tensors: list[Any], x: Any) -> Any:
    def host(v: Any) -> Any:
        tensors.append(v * 2.0)
        return v + 1.0

    return tpu.outside_compilation(host, x)


def of_device(make: Any) -> Any:
    def computation(x: Any) -> Any:
        leaked: list[Any] = []
        y = make(leaked, x)
        return y + leaked[0]

    return computation


def branch_in_cluster(tensors: list[Any], x: Any) -> Any:
    return tpu.outside_compilation(lambda v: in_branch(tensors, v), x)


def loop_in_cluster(tensors: list[Any], x: Any) -> Any:
    return tpu.outside_compilation(lambda v: in_loop(tensors, v), x)


def function_in_cluster(tensors: list[Any], x: Any) -> Any:
    called = tf.function(lambda v: in_cluster_body(tensors, v), autograph=False)
    return tpu.outside_compilation(called, x)


def in_cluster_body(tensors: list[Any], v: Any) -> Any:
    tensors.append(v * 2.0)
    return v + 1.0


def cluster_in_branch(tensors: list[Any], x: Any) -> Any:
    return tf.cond(x > 0.0, lambda: in_cluster(tensors, x), lambda: x)


def used_in_the_branch(tensors: list[Any], x: Any) -> Any:
    def taken() -> Any:
        return in_cluster(tensors, x) + tensors[0]

    y = tf.cond(x > 0.0, taken, lambda: x)
    tensors[0] = x
    return y


def used_in_a_branch_beside(tensors: list[Any], x: Any) -> Any:
    def taken() -> Any:
        y = branch_in_cluster(tensors, x)
        return y + tensors[0]

    return tf.cond(x > 0.0, taken, lambda: x)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (in_branch, "TPU303"),
        (in_loop, "TPU303"),
        (in_cluster, "TPU207"),
        (branch_in_cluster, "TPU207"),
        (loop_in_cluster, "TPU207"),
        (function_in_cluster, "TPU207"),
        (cluster_in_branch, "TPU303"),
        (used_in_the_branch, "TPU207"),
        (used_in_a_branch_beside, "TPU207"),
    ],
)
def test_it_is_a_matter_of_what_it_leaves_first(build: Any, make: Any, rule: str) -> None:
    with pytest.raises(tpu.EscapedTensorError) as caught:
        build(of_device(make))
    assert caught.value.rule == rule
    assert "test_escapes.py" in str(caught.value.place)


@pytest.mark.parametrize(
    ("make", "rule"), [(in_branch, "TPU303"), (in_loop, "TPU303"), (branch_in_cluster, "TPU207")]
)
def test_an_escaped_tensor_is_no_output(build: Any, make: Any, rule: str) -> None:
    def computation(x: Any) -> Any:
        leaked: list[Any] = []
        make(leaked, x)
        return leaked[0]

    with pytest.raises(tpu.EscapedTensorError) as caught:
        build(computation)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    "use",
    [
        lambda v, x: x + v,
        lambda v, x: v.assign_add(x),
        lambda v, x: tpu.outside_compilation(lambda a: a + v, x) * 2.0,
        lambda v, x: tf.cond(x > 0.0, lambda: v + x, lambda: x),
        lambda v, x: (x, v),
        lambda v, x: x + v.graph.get_tensor_by_name("other:0"),
    ],
    ids=["read", "written", "in a cluster", "in a branch", "returned", "a tensor"],
)
def test_what_is_of_another_program_has_left_no_branch(use: Any) -> None:
    """It is TensorFlow's own error, and no rule's."""
    with tf.Graph().as_default():
        v = tf.compat.v1.get_variable("v", initializer=1.0, use_resource=True)
        tf.identity(1.0, name="other")
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"[gG]raph") as error:
        tpu.rewrite(lambda x: use(v, x), [tf.constant(1.0)])
    assert not hasattr(error.value, "rule")
