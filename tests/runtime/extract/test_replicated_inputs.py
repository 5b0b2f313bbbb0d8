"""A program may make `TPUReplicatedInput`s around a computation itself, as Mesh TensorFlow does."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.ops import control_flow_util
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu


@pytest.mark.parametrize("in_loop", [False, True])
def test_each_replica_gets_its_own_value(in_loop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only a loop of TensorFlow 1 lets `control_dependencies(None)` lead out of its body.
    monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", False)

    def number() -> Any:
        with tf.control_dependencies(None):
            return tpu_ops.tpu_replicated_input([5.0, 7.0], name="number")

    def computation() -> Any:
        if in_loop:
            return tpu.training_loop.repeat(3, lambda total: total + number(), [0.0])
        return 3.0 * number()

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        results = session.run(tpu.replicate(computation, [[], []]))
    assert [float(value) for (value,) in results] == [15.0, 21.0]


def test_each_replica_writes_its_own_copy() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        copies = [
            tf.compat.v1.get_variable(f"v{i}", initializer=float(i), use_resource=True)
            for i in (1, 2)
        ]

        def computation(x: Any) -> Any:
            with tf.control_dependencies(None):
                handle = tpu_ops.tpu_replicated_input([v.handle for v in copies], name="handle")
            return tf.raw_ops.AssignAddVariableOp(resource=handle, value=x)

        step = tpu.replicate(computation, [[tf.constant(10.0)], [tf.constant(20.0)]])
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(step)
        session.run(step)
        assert session.run(copies) == [21.0, 42.0]
