"""Tracebacks show the program's frames and TensorFlow's, and none of tpulint's."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tpulint
import tpulint.runtime as tpu

tf1 = tf.compat.v1
OWN = os.path.join(os.path.dirname(os.path.abspath(tpulint.__file__)), "")


def shown(raising: Callable[[], Any]) -> str:
    """Return what Python shows of the error."""
    with pytest.raises(Exception, match=r"\w") as caught:
        raising()
    return "".join(traceback.format_exception(caught.value))


def users_function(*_: Any) -> Any:
    raise ZeroDivisionError("the user's")


def strings(x: Any) -> Any:
    return tf.strings.length(tf.strings.as_string(x))


def host_error(x: Any) -> Any:
    return tf.py_function(users_function, [x], tf.float32)


def nested(x: Any) -> Any:
    return tf1.tpu.outside_compilation(lambda y: tf1.tpu.outside_compilation(tf.sin, y), x)


@pytest.mark.parametrize("autograph", [True, False])
@pytest.mark.parametrize(
    "replica_fn",
    [
        users_function,
        lambda x: tf1.tpu.outside_compilation(users_function, x),
        lambda x: tf1.tpu.outside_compilation(host_error, x),
        strings,
    ],
    ids=["the user's", "in a host cluster", "in a host function", "a fault"],
)
def test_an_error_in_a_step(strategy: Any, replica_fn: Any, autograph: bool) -> None:
    tf.config.set_soft_device_placement(False)

    def run(x: Any) -> Any:
        return strategy.run(replica_fn, args=(x,))

    text = shown(lambda: tf.function(run, autograph=autograph)(tf.constant(1.0)))
    assert OWN not in text
    assert "test_tracebacks.py" in text
    assert "Ticket" not in text


@pytest.mark.parametrize("computation", [users_function, nested])
def test_an_error_in_a_graph(computation: Any) -> None:
    def build() -> None:
        with tf.Graph().as_default():
            tpu.rewrite(computation, [tf.constant(1.0)])

    assert OWN not in shown(build)
    with tpu.emulated_tpu(num_replicas=2):
        assert OWN not in shown(build)


def test_a_fetch_that_is_refused() -> None:
    inside = []

    def computation(x: Any) -> Any:
        inside.append(x * 2.0)
        return x

    with tf.Graph().as_default(), tf1.Session() as session:
        tpu.rewrite(computation, [tf.constant(1.0)])
        assert OWN not in shown(lambda: session.run(inside[0]))


def test_a_session_in_which_a_step_fails() -> None:
    def host(x: Any) -> Any:
        return tf1.py_func(users_function, [x], tf.float32)

    with tpu.emulated_tpu(num_replicas=1), tf.Graph().as_default(), tf1.Session() as session:
        session.run(tf1.tpu.initialize_system())
        result = tf1.tpu.rewrite(lambda x: tf1.tpu.outside_compilation(host, x), [tf.constant(1.0)])
        text = shown(lambda: session.run(result))
        assert "the user's" in text
        assert OWN not in text


def test_all_frames_are_shown_where_tensorflow_shows_its_own(strategy: Any) -> None:
    tf.debugging.disable_traceback_filtering()
    try:
        text = shown(lambda: tpu.rewrite(users_function, [tf.constant(1.0)]))
    finally:
        tf.debugging.enable_traceback_filtering()
    assert OWN in text


def test_a_log_of_tensorflow_names_the_fault_and_not_how_it_travels(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with tpu.emulated_tpu(num_replicas=1):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
        strategy = tf.distribute.TPUStrategy(resolver)

        @tf.function
        def uninitialized() -> Any:
            return strategy.run(lambda: tf.constant(1.0))

        text = shown(uninitialized)
    logged = capfd.readouterr().err
    assert "UninitializedSystemError" in text
    assert "Ticket" not in text + logged
    assert OWN not in text + logged
