"""Each call of a function has its own cancellation manager, and Ctrl-C reaches them all.

What a step has cancelled by failing names its fault, and no other call does.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import cancellation
from tensorflow.python.eager import context as eager_context

import tpulint.runtime as tpu
from tpulint.runtime.execute.raising import call_python, failing_tensors, token_for
from tpulint.runtime.tensorflow_internals import threads

LONG = 120

Cancel = Callable[[], None]


@pytest.fixture
def cancel() -> Iterator[Cancel]:
    with threads.cancellable_calls() as cancel:
        yield cancel


@tf.function
def positive(value: Any) -> Any:
    tf.debugging.assert_positive(value)
    return value


class Endless:
    """A call, in a thread of its own, that waits until it is cancelled."""

    def __init__(self, cancellable: Callable[[Any], Callable[[], Any]] | None = None) -> None:
        self._runs = threading.Event()
        self._queue = tf.queue.FIFOQueue(1, tf.bool)  # must outlive the call

        def note() -> Any:
            self._runs.set()
            return True

        @tf.function
        def wait() -> Any:
            with tf.control_dependencies([tf.numpy_function(note, [], tf.bool)]):
                return self._queue.dequeue()

        function = wait.get_concrete_function()
        self._function = cancellable(function) if cancellable else function
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._runs.wait(LONG)

    def _run(self) -> None:
        try:
            self._function()
        except BaseException as error:  # the test looks at it
            self._error = error

    def still_waits(self) -> bool:
        return self._thread.is_alive()

    def ends_cancelled(self) -> bool:
        self._thread.join(LONG)
        return type(self._error) is tf.errors.CancelledError


def test_a_call_that_fails_cancels_no_later_call(cancel: Cancel) -> None:
    for value in (1, -1, 2, -2, 3):
        if value > 0:
            assert int(positive(tf.constant(value))) == value
        else:
            with pytest.raises(tf.errors.InvalidArgumentError):
                positive(tf.constant(value))


def test_a_call_that_fails_cancels_no_call_of_another_thread(cancel: Cancel) -> None:
    endless = Endless()
    with pytest.raises(tf.errors.InvalidArgumentError):
        positive(tf.constant(-1))
    assert endless.still_waits()
    cancel()
    assert endless.ends_cancelled()


def test_a_nested_call_that_fails_leaves_the_outer_call_alone(cancel: Cancel) -> None:
    def caught(value: Any) -> Any:
        try:
            return positive(value)
        except tf.errors.InvalidArgumentError:
            return -value

    @tf.function
    def outer(value: Any) -> Any:
        inner = tf.py_function(caught, [value], tf.int32)
        return tf.py_function(caught, [inner + 1], tf.int32)

    assert int(outer(tf.constant(-3))) == 4


def test_all_calls_that_run_are_cancelled_and_no_others(cancel: Cancel) -> None:
    calls = [Endless(), Endless()]
    cancel()
    assert all(call.ends_cancelled() for call in calls)
    assert int(positive(tf.constant(1))) == 1


def test_a_call_with_a_cancellation_manager_of_the_users_is_cancelled(cancel: Cancel) -> None:
    call = Endless(cancellation.CancellationManager().get_cancelable_function)
    cancel()
    assert call.ends_cancelled()
    assert int(positive(tf.constant(1))) == 1


def unordered(body: Callable[..., Any], *dtypes: tf.DType) -> Any:
    """Return a function without the order that tf.function gives to operations with effects."""
    return tf.compat.v1.wrap_function(body, [tf.TensorSpec([], dtype) for dtype in dtypes])


def deadlock(text: str) -> tpu.DeadlockError:
    return tpu.DeadlockError(text, place=f"{text}.py:1")


def test_a_cancelled_call_names_no_fault_of_another_that_has_just_failed(cancel: Cancel) -> None:
    """Was a false cause: any fault of the last two seconds explained what was cancelled."""

    both = threading.Barrier(2)

    def fault(text: str) -> tpu.DeadlockError:
        both.wait(LONG)
        return deadlock(text)

    def failing() -> Any:
        return [failing_tensors(lambda text=text: fault(text)) for text in ("first", "second")]

    with pytest.raises(tpu.DeadlockError):
        unordered(failing)()
    call = Endless()
    cancel()
    assert call.ends_cancelled()


def test_a_cancelled_call_names_its_own_fault_however_late_it_ends(cancel: Cancel) -> None:
    """Missed before: the fault explained only what was cancelled within two seconds."""
    empty = tf.queue.FIFOQueue(1, tf.float32)

    runs = threading.Event()

    def fail() -> None:
        assert runs.wait(LONG)
        raise token_for(deadlock("first"))

    def cancel_late() -> Any:
        runs.set()
        time.sleep(2.1)
        cancel()
        # The queue has time to report first that it was cancelled.
        time.sleep(0.3)
        return np.float32(0.0)

    def fail_and_end_late() -> Any:
        with tf.control_dependencies([call_python(fail)]):
            failed = tf.constant(0.0)
        return failed + tf.numpy_function(cancel_late, [], tf.float32)

    def step(fails: Any) -> Any:
        # As one operation, the conditional reports its error when all in it has ended.
        branch = unordered(fail_and_end_late)
        (value,) = tf.raw_ops.If(
            cond=fails, input=[], Tout=[tf.float32], then_branch=branch, else_branch=branch
        )
        return value + empty.dequeue()

    with pytest.raises(tpu.DeadlockError, match="first") as raised:
        unordered(step, tf.bool)(tf.constant(True))
    assert isinstance(raised.value, tf.errors.CancelledError)


def test_a_fork_without_threads_is_told_before_it_waits_for_them() -> None:
    function = tf.function(lambda x: x + 1.0)
    calls = threads._Calls()
    calls.note_fork()
    calls.begin()  # TensorFlow had no threads yet, and starts them in the fork
    calls.note_fork()
    with threads.cancellable_calls(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(threads, "_calls", calls)
        assert float(tf.constant(1.0) + 1.0) == 2.0  # an operation needs no thread
        with pytest.raises(RuntimeError, match="start the process before the first step"):
            function(tf.constant(1.0))


@pytest.mark.parametrize("with_workers", [True, False])
def test_the_manager_of_a_call_outlives_it_where_workers_answer_later(with_workers: bool) -> None:
    managers: list[Any] = []

    def execute(*arguments: Any) -> Any:
        managers.append(weakref.ref(arguments[-2]))
        return []

    class Manager:
        """Stands for TensorFlow's, to which there are no weak references."""

    context = eager_context.context()
    function = tf.function(lambda: None).get_concrete_function()
    with threads.cancellable_calls(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(threads.pywrap_tfe, "TFE_NewCancellationManager", Manager)
        patched.setattr(threads.pywrap_tfe, "TFE_Py_ExecuteCancelable", execute)
        patched.setattr(threads, "_calls", threads._Calls())
        patched.setattr(context, "_server_def", object() if with_workers else None)
        function()
        (manager,) = managers
        assert (manager() is not None) == with_workers
