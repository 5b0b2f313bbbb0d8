"""Python functions that wait for threads of TensorFlow which Python functions hold.

Each program has a process of its own: how many threads there are is settled at its start.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import time
import tensorflow as tf
import tpulint.runtime as tpu
tf.config.threading.set_inter_op_parallelism_threads({threads})

@tf.function
def step(x):
    return tpu.replicate(lambda v: tf.reduce_sum(v) * 2.0, [[x], [x]])[0][0]

def on_host(function):
    def host(x):
        return tf.ensure_shape(tf.{through}(function, [x], tf.float32), [])
    return lambda x: tpu.outside_compilation(host, x) + 1.0

def ran(function, mode="function"):
    if mode == "function":
        def outer(x):
            return tpu.replicate(on_host(function), [[x], [x]])
        return [float(one[0]) for one in tf.function(outer)(tf.constant(3.0))]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = tpu.replicate(on_host(function), [[tf.constant(3.0)], [tf.constant(3.0)]])
        return [float(one[0]) for one in session.run(built)]
"""
STARVED = "Python functions hold all {threads} threads of TensorFlow"


def message_of(program: str, threads: int, through: str = "numpy_function") -> str:
    """Return the output of `program`, or the error that it ends with."""
    text = BEGIN.format(threads=threads, through=through) + program
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    return done.stdout if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("through", ["numpy_function", "py_function"])
def test_hang_found_by_reading_a_python_function_that_runs_a_step(through: str) -> None:
    program = "print(ran(lambda x: step(tf.constant(x)).numpy()))"
    output = message_of(program, 1, through)
    assert "DeadlockError: " + STARVED.format(threads=1) in output
    assert "waits for the function 'step'" in output
    assert "TPU101" not in output


@pytest.mark.any_release
def test_the_step_can_be_run_anew_when_it_has_failed() -> None:
    program = """
step(tf.constant(1.0))
for function in (lambda x: step(tf.constant(x)).numpy(), lambda x: x):
    try:
        print(ran(function))
    except tpu.DeadlockError as error:
        print("failed", repr(error.rule))
print(float(step(tf.constant(1.0))))
"""
    assert message_of(program, 1).split("\n")[:3] == ["failed ''", "[4.0, 4.0]", "2.0"]


@pytest.mark.any_release
def test_with_enough_threads_it_runs() -> None:
    program = "print(ran(lambda x: step(tf.constant(x)).numpy()))"
    assert message_of(program, 8) == "[7.0, 7.0]\n"


def test_a_session_in_a_python_function_of_a_session() -> None:
    program = """
inside = tf.Graph()
with inside.as_default():
    given = tf.compat.v1.placeholder(tf.float32, [])
    result = tf.sin(given)
session = tf.compat.v1.Session(graph=inside)
print(ran(lambda x: session.run(result, {given: x}), mode="session"))
"""
    output = message_of(program, 1)
    assert "DeadlockError: " + STARVED.format(threads=1) in output
    assert "waits for a session" in output


def test_functions_in_a_session_have_threads_of_their_own() -> None:
    program = "print(ran(lambda x: step(tf.constant(x)).numpy(), mode='session'))"
    assert message_of(program, 1) == "[7.0, 7.0]\n"


@pytest.mark.any_release
def test_a_python_function_may_take_its_time() -> None:
    """It holds the only thread for longer than a hang is watched, and computes nothing."""
    program = """
def slow(x):
    time.sleep(7.0)
    return x
print(ran(slow))
"""
    assert message_of(program, 1) == "[4.0, 4.0]\n"


@pytest.mark.any_release
def test_what_a_python_function_raises_in_the_last_thread_comes_out() -> None:
    program = """
def fails(x):
    raise KeyError("nothing here")
ran(fails)
"""
    assert "KeyError: 'nothing here'" in message_of(program, 1)
