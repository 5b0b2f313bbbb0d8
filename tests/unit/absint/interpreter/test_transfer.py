"""The tensors that cross between device and host clusters, and those that leave their scope."""

from __future__ import annotations

from tests.unit.reading import program
from tpulint.absint.domain.events import Computation

HEAD = """\
import tensorflow as tf
tpu = tf.compat.v1.tpu
def host(x):
    return tf.exp(x)
def step(x):
"""


def computation(body: str) -> Computation:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    read = program(f"{HEAD}{lines}tpu.rewrite(step, [1.0])\n")
    (only,) = read.computations
    return only


def test_an_argument_crosses_to_the_host() -> None:
    (cluster,) = computation("return tpu.outside_compilation(host, tf.abs(x))").clusters
    assert {use.taker for use in cluster.receives} == {"outside_compilation", "exp"}
    assert all(use.tensor.computed for use in cluster.receives)
    assert cluster.computed_inputs


def test_an_argument_of_the_computation_is_not_computed_by_the_device() -> None:
    (cluster,) = computation("return tpu.outside_compilation(host, x)").clusters
    assert not cluster.computed_inputs


def test_a_tensor_that_the_host_function_closes_over_crosses() -> None:
    body = "y = tf.abs(x)\nreturn tpu.outside_compilation(lambda: tf.exp(y))"
    (cluster,) = computation(body).clusters
    assert [use.tensor.computed for use in cluster.receives] == [True]


def test_the_device_waits_for_the_result_that_it_takes() -> None:
    body = "y = tpu.outside_compilation(host, x)\nreturn tf.abs(y)"
    (cluster,) = computation(body).clusters
    assert [use.taker for use in cluster.uses][:1] == ["abs"]


def test_nobody_waits_for_a_result_that_is_dropped() -> None:
    (cluster,) = computation("tpu.outside_compilation(host, x)\nreturn tf.abs(x)").clusters
    assert cluster.uses == []


def test_a_result_feeds_the_next_cluster() -> None:
    body = (
        "y = tpu.outside_compilation(host, x)\n"
        "z = tpu.outside_compilation(host, y)\n"
        "return tf.abs(z)"
    )
    first, second = computation(body).clusters
    assert set(first.feeds) == {second}
    assert set(second.fed_by) == {first}
    assert not first.uses
    assert second.uses


def test_facts_flow_through_operations() -> None:
    body = "y = tpu.outside_compilation(host, x)\ntf.print(tf.abs(y + 1.0))\nreturn x"
    actual = computation(body)
    (call,) = [api_call for api_call in actual.calls if api_call.last == "print"]
    tensor = call.arguments[0].value
    assert tensor.clusters == set(actual.clusters)  # type: ignore[attr-defined]


def test_a_tensor_of_a_branch_leaves_it_by_a_side_door() -> None:
    body = (
        "kept = []\n"
        "def branch():\n"
        "    kept.append(tf.abs(x))\n"
        "    return x\n"
        "tf.cond(x > 0.0, branch, lambda: x)\n"
        "return tf.exp(kept[0])"
    )
    assert [use.taker for use in computation(body).uses][:1] == ["exp"]


def test_an_output_of_a_branch_does_not() -> None:
    assert not computation("y = tf.cond(x > 0.0, lambda: tf.abs(x), lambda: x)\nreturn y").uses
