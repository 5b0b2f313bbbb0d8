"""What a program made before the first use of the runtime, which installs the patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import errors_impl
from tensorflow.python.framework.function import Defun

import tpulint.runtime as tpu
from tpulint.runtime.tensorflow_internals import patching
from tpulint.runtime.tensorflow_internals.patching import When

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _not_installed() -> Iterator[None]:
    tpu.install()
    patching._stacks.pop(When.ALWAYS).close()
    patching._users.clear()
    yield
    tpu.install()


def doubled(value: Any) -> Any:
    return tpu.outside_compilation(lambda x: x + 1.0, value * 2.0)


def is_installed() -> bool:
    return When.ALWAYS in patching._stacks


def test_a_session_runs_a_computation_that_is_built_later() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        assert not is_installed()
        (result,) = tpu.rewrite(doubled, [tf.constant(3.0)])
        assert is_installed()
        assert session.run(result) == 7.0


def test_a_session_keeps_the_options_that_it_was_given() -> None:
    config = v1.ConfigProto(intra_op_parallelism_threads=1, allow_soft_placement=True)
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        (result,) = tpu.rewrite(doubled, [tf.constant(3.0)])
        assert session.run(result) == 7.0
        assert session._config.intra_op_parallelism_threads == 1
        assert session._config.allow_soft_placement
    assert not config.graph_options.place_pruned_graph


@pytest.mark.parametrize("use_resource", [True, False])
def test_variables_of_a_session_keep_their_values(use_resource: bool) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        variable = v1.get_variable(
            "v", initializer=tf.constant([1.0, 2.0]), use_resource=use_resource
        )
        local = v1.get_variable(
            "local",
            initializer=5,
            use_resource=use_resource,
            collections=[v1.GraphKeys.LOCAL_VARIABLES],
        )
        later = v1.get_variable("later", initializer=1.0, use_resource=use_resource)
        session.run([variable.initializer, local.initializer])
        session.run(v1.assign_add(variable, [10.0, 10.0]))
        count = len(session.graph.get_operations())
        tpu.install()
        assert len(session.graph.get_operations()) == count
        (result,) = tpu.rewrite(doubled, [tf.identity(variable)])
        assert session.run(result).tolist() == [23.0, 25.0]
        assert session.run(local) == 5
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(later)


def test_a_closed_session_stays_closed() -> None:
    with tf.Graph().as_default():
        session = v1.Session()
        session.close()
        tpu.install()
        with pytest.raises(RuntimeError, match="closed"):
            session.run(tf.constant(1))


@pytest.mark.parametrize("is_first", [True, False])
def test_autograph_leaves_the_runtime_as_it_is(is_first: bool) -> None:
    """So it does not come to the function that the user has given to it, as in TensorFlow."""

    def branches(value: Any) -> Any:
        return value * 2.0 if value > 2.0 else value

    @tf.function
    def step(value: Any) -> Any:
        return tpu.rewrite(branches, [value])[0]

    if not is_first:
        tpu.install()
    with pytest.raises(errors_impl.OperatorNotAllowedInGraphError):
        step(tf.constant(3.0))
    assert is_installed()


def test_an_enqueue_of_the_function_that_is_being_traced_is_independent() -> None:
    """It would wait for the step otherwise, and the step for it."""

    @tf.function
    def feed_and_step() -> Any:
        def computation() -> Any:
            return tf.raw_ops.InfeedDequeue(dtype=tf.float32, shape=[]) * 2.0

        (result,) = tpu.rewrite(computation)
        tf.raw_ops.InfeedEnqueue(input=tf.constant(4.0), shape=[], device_ordinal=0)
        return result

    with tpu.options(deadline=60.0):
        assert float(feed_and_step()) == 8.0


def test_a_defun_leaves_out_marked_nodes() -> None:
    with tf.Graph().as_default(), v1.Session() as session:

        @Defun(tf.float32)
        def function(value: Any) -> Any:
            return tpu.rewrite(lambda x: x * 2.0, [value])[0]

        assert session.run(function(tf.constant(3.0))) == 6.0


def test_an_enqueue_that_was_made_before_is_refused() -> None:
    with tf.Graph().as_default():
        tf.raw_ops.InfeedEnqueue(input=tf.constant(4.0), shape=[], name="early")
        with pytest.raises(RuntimeError, match=r"'early' was made before .*install\(\)"):
            tpu.rewrite(doubled, [tf.constant(3.0)])
    with tf.Graph().as_default(), v1.Session() as session:
        tpu.install()
        tf.raw_ops.InfeedEnqueue(input=tf.constant(4.0), shape=[])
        (result,) = tpu.rewrite(doubled, [tf.constant(3.0)])
        assert session.run(result) == 7.0
