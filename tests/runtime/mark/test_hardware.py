"""TensorFlow does the work where a real TPU is attached (a stand-in is attached here)."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import THEIRS
from tests.runtime.oracle.snapshot import snapshot
from tpulint.runtime.emulate.system import real_tpu
from tpulint.runtime.tensorflow_internals import graphs

TPU = [tf.config.LogicalDevice("/device:TPU:0", "TPU")]


def an_attached_tpu() -> Any:
    return mock.patch.multiple(
        tf.config, list_logical_devices=lambda kind: TPU, list_physical_devices=lambda kind: TPU
    )


def build(api: Any) -> Any:
    def computation(x: Any) -> Any:
        return api.outside_compilation(tf.sin, x) + 1.0

    with tf.Graph().as_default() as graph:
        return graph, api.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]])


def test_there_is_none_on_this_machine() -> None:
    assert not real_tpu()


def test_a_tpu_that_is_seen_before_devices_are_set_up_counts() -> None:
    with (
        an_attached_tpu(),
        mock.patch.object(graphs, "is_context_initialized", return_value=False),
    ):
        assert real_tpu()


def test_the_names_go_to_tensorflows_own() -> None:
    with an_attached_tpu():
        ours, results = build(tpu)
    theirs, _ = build(THEIRS)
    assert results[0][0].op.inputs[0].op.type == "TPUReplicatedOutput"
    assert snapshot(ours) == snapshot(theirs)


def test_an_error_is_tensorflows_own() -> None:
    with an_attached_tpu(), tf.Graph().as_default(), pytest.raises(TypeError) as caught:
        tpu.replicate(lambda x: x, [tf.constant(1.0)])
    assert caught.type is TypeError
