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
from tensorflow.python.ops import functional_ops

import tpulint.runtime as tpu
from tpulint.runtime.pods.sessions import keep_sessions

tf1 = tf.compat.v1


def call(computation: Any, *arguments: Any) -> Any:
    """Return a call of a function whose body is `computation`."""

    @function.Defun()
    def subgraph() -> Any:
        return computation(*arguments)

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
        leaked: list[Any] = []
        tpu.replicate(lambda: leaked.append(tf.constant(3.0) * 2.0), [[], []])
        return tf.identity(leaked[0])

    refused = pytest.raises((tpu.UnfetchableError, tpu.EscapedTensorError))
    with tf.Graph().as_default(), tf1.Session() as session, refused:
        session.run(call(subgraph))


def test_a_function_without_a_computation_is_as_ever() -> None:
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf.constant([1.0, 2.0])
        np.testing.assert_allclose(session.run(call(lambda y: y * 2.0, x))[0], [2.0, 4.0])


def test_abort_found_in_ci_the_session_outlives_a_call_that_could_not_be_instantiated() -> None:
    def subgraph() -> Any:
        leaked: list[Any] = []
        tpu.replicate(lambda: leaked.append(tf.constant(3.0) * 2.0), [[], []])
        return tf.identity(leaked[0])

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


def called_by_type(x: Any) -> Any:
    """Return the result of an operation whose type is the function's name."""

    @function.Defun(tf.float32)
    def doubled(y: Any) -> Any:
        return 2.0 * y

    return doubled(x)


def loop_of_old_functions(x: Any) -> Any:
    @function.Defun(tf.float32, tf.float32)
    def goes_on(count: Any, total: Any) -> Any:
        return count < 3.0

    @function.Defun(tf.float32, tf.float32)
    def add(count: Any, total: Any) -> Any:
        return count + 1.0, total + called_by_type(count)

    return functional_ops.While([tf.constant(0.0), x], goes_on, add)[1]


def gradient_of_an_old_function(x: Any) -> Any:
    return tf.gradients(called_by_type(x) * x, x)[0]


@pytest.mark.parametrize(
    ("computation", "expected"),
    [(called_by_type, 10.0), (loop_of_old_functions, 11.0), (gradient_of_an_old_function, 20.0)],
)
def test_old_functions_inside_a_computation(computation: Any, expected: float) -> None:
    def with_cluster(x: Any) -> Any:
        return tpu.outside_compilation(lambda y: y + 0.0, computation(x))

    for program in (computation, with_cluster):
        with tf.Graph().as_default(), tf1.Session() as session:
            (result,) = tpu.rewrite(program, [tf.constant(5.0)])
            assert session.run(result) == expected


def test_ctc_loss_of_dense_labels() -> None:
    logits = tf.random.stateless_normal([10, 2, 6], [1, 2])

    def losses(labels: Any) -> Any:
        return tf.nn.ctc_loss(labels, logits, tf.fill([2], 3), tf.fill([2], 10), blank_index=5)

    @tf.function
    def step(labels: Any) -> Any:
        return tpu.rewrite(losses, [labels])[0]

    labels = tf.constant([[1, 2, 3], [0, 2, 2]])
    np.testing.assert_allclose(step(labels), losses(labels), rtol=1e-4)
