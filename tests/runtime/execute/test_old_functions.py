"""Computations in functions that `Defun` makes, as TPUEstimator exports them."""

from __future__ import annotations

import gc
import weakref
from typing import Any
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session as tf_session
from tensorflow.python.framework import function

import tpulint.runtime as tpu
from tpulint.runtime.tensorflow_internals.sessions import keep_sessions

tf1 = tf.compat.v1


def call(computation: Any, *given: Any) -> Any:
    """Return a call of a function whose body is `computation`."""

    @function.Defun()
    def subgraph() -> Any:
        return computation(*given)

    return tf1.raw_ops.StatefulPartitionedCall(
        args=subgraph.captured_inputs,
        Tout=[arg.type for arg in subgraph.definition.signature.output_arg],
        f=subgraph,
    )


def test_the_function_runs_and_leaves_its_marks_out() -> None:
    def computation(x: Any) -> Any:
        variable = tf1.get_variable("variable", initializer=2.0, use_resource=True)
        y = x * variable
        text = tpu.outside_compilation(tf.strings.as_string, y)
        return y, tpu.outside_compilation(tf.strings.length, text)

    def subgraph(x: Any) -> Any:
        return tpu.rewrite(computation, [x])

    with tf.Graph().as_default() as graph, tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [])
        results = call(subgraph, x)
        session.run(tf1.global_variables_initializer())
        assert session.run(results, {x: 3.0}) == [6.0, 8]
        assert session.run(results, {x: 10.0}) == [20.0, 9]
        kinds = {node.op for f in graph.as_graph_def().library.function for node in f.node_def}
        assert not kinds & {"TPUReplicateMetadata", "TPUReplicatedInput", "TPUReplicatedOutput"}


def test_what_it_did_not_return_is_an_error_when_it_is_used() -> None:
    def subgraph() -> Any:
        made: list[Any] = []
        tpu.replicate(lambda: made.append(tf.constant(3.0) * 2.0), [[], []])
        return tf.identity(made[0])

    refused = pytest.raises((tpu.UnfetchableError, tpu.EscapedTensorError))
    with tf.Graph().as_default(), tf1.Session() as session, refused:
        session.run(call(subgraph))


def test_a_function_without_a_computation_is_as_ever() -> None:
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf.constant([1.0, 2.0])
        np.testing.assert_allclose(session.run(call(lambda y: y * 2.0, x))[0], [2.0, 4.0])


def test_abort_found_in_ci_the_session_outlives_a_call_that_could_not_be_instantiated() -> None:
    def subgraph() -> Any:
        made: list[Any] = []
        tpu.replicate(lambda: made.append(tf.constant(3.0) * 2.0), [[], []])
        return tf.identity(made[0])

    with tf.Graph().as_default(), mock.patch.object(tf_session, "TF_CloseSession") as closed:
        session = tf1.Session()
        with pytest.raises((tpu.UnfetchableError, tpu.EscapedTensorError)):
            session.run(call(subgraph))
        session.close()
        with pytest.raises(RuntimeError, match="closed"):
            session.run(tf.constant(1.0))
        dropped = weakref.ref(session)
        del session
        gc.collect()
        assert dropped() is not None
        assert not closed.called
        with tf1.Session() as another:
            assert another.run(tf.constant(1.0)) == 1.0
        assert closed.call_count == 1


def test_a_session_is_let_go_after_the_next_failures() -> None:
    sessions = []
    for _ in range(10):
        session = tf1.Session(graph=tf.Graph())
        sessions.append(weakref.ref(session))
        keep_sessions()
        session.close()
        del session
    gc.collect()
    assert sessions[0]() is None
    assert sessions[-1]() is not None
