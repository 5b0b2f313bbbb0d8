"""State that TensorFlow leaks after an error is as it was before the call."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import THEIRS
from tests.runtime.oracle.compare import marking_only


class OfTheUser(Exception):
    pass


def fails(*_: Any) -> Any:
    raise OfTheUser


def scope_after_a_failing_computation(api: Any) -> tuple[Any, Any]:
    with tf.Graph().as_default(), marking_only():
        scope = tf.compat.v1.get_variable_scope()
        scope.set_use_resource(False)
        with pytest.raises(OfTheUser):
            api.rewrite(fails)
        return scope.use_resource, scope.custom_getter


def test_the_variable_scope_is_restored() -> None:
    assert scope_after_a_failing_computation(tpu) == (False, None)


def test_tensorflow_leaves_the_variable_scope_changed() -> None:
    assert scope_after_a_failing_computation(THEIRS) != (False, None)


def cluster_after_a_failing_cluster(api: Any) -> Any:
    """Return the result of a cluster after one that raised, with the device scopes still right."""

    def computation(x: Any) -> Any:
        with tf.device(api.core(0)):
            with pytest.raises(OfTheUser):
                api.outside_compilation(fails)
            y = api.outside_compilation(tf.sin, x)
            return y * 2.0

    with tf.Graph().as_default() as graph, marking_only():
        api.rewrite(computation, [tf.constant(1.0)])
        return graph.get_operation_by_name("Sin"), graph.get_operation_by_name("mul")


def test_a_cluster_is_closed_when_its_function_raises() -> None:
    sin, mul = cluster_after_a_failing_cluster(tpu)
    assert sin.get_attr("_xla_outside_compilation") == b"1"
    assert "_xla_outside_compilation" not in mul.node_def.attr
    assert (sin.device, mul.device) == ("", "/device:TPU_REPLICATED_CORE:0")


def test_tensorflow_leaves_the_cluster_open() -> None:
    with pytest.raises(IndexError) as caught:  # leaving the device scope fails as well
        cluster_after_a_failing_cluster(THEIRS)
    assert "Cannot nest outside_compilation clusters" in str(caught.value.__context__)


def test_a_cluster_in_a_function_is_closed_when_its_function_raises() -> None:
    marks = []

    @tf.function(autograph=False)
    def step(x: Any) -> Any:
        def computation(v: Any) -> Any:
            with pytest.raises(OfTheUser):
                tpu.outside_compilation(fails)
            y = v + 1.0
            marks.append("_xla_outside_compilation" in y.op.node_def.attr)
            return y

        with marking_only():
            return tpu.rewrite(computation, [x])

    step.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert marks == [False]
