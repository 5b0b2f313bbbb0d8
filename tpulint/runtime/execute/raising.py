"""Python functions of a running graph, and the runtime's own errors that come out of it.

TensorFlow knows a failed operation by its status only, and makes a new exception, of a class of its
own, wherever the status leaves C++. A fault therefore travels as a token in the message of an
unknown error; when that error would be made, the fault that waits under the token comes out.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime import python_functions
from tpulint.runtime.emulator import Listeners
from tpulint.runtime.errors import RuntimeFault, UnfetchableError, combine_classes, internal_error
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import sessions
from tpulint.runtime.tensorflow_internals import threads
from tpulint.runtime.tensorflow_internals.tracebacks import frames_hidden

_TOKEN = re.compile(r"tpulint fault #(\d+)#")


@dataclass
class _WaitingFault:
    """A fault that no error has come out of yet.

    `function` is the token of the Python function of a graph that raises it. One that no longer
    `explains` what has been cancelled is still there for an error that names it.
    """

    fault: RuntimeFault
    function: str | None = None
    explains: bool = True


_waiting: dict[int, _WaitingFault] = {}
_waiting_lock = threading.Lock()
report_error: Listeners[Exception] = Listeners()
"""To be called with each error that a step raises, when it is built or when it runs."""
faults_sent_to = report_error.including
"""A context that passes each error that a step raises to a function, at once.

The program may handle it, or see another error of TensorFlow's instead, of what the step has
cancelled. Of a step that runs, only the runtime's own faults are passed.
"""


class FaultToken(Exception):
    """Raised in the graph in place of a fault, which waits under its `number`."""

    number: int


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Report the error that ends the context, in which a step is built."""
    try:
        yield
    except Exception as error:
        report_error(error)
        raise


def token_for(fault: RuntimeFault) -> FaultToken:
    """Return the exception to raise in the graph so that the step raises `fault`."""
    with _waiting_lock:
        number = next(threads.moments)
        _waiting[number] = _WaitingFault(fault)
    report_error(fault)
    token = _token_class(type(fault).__name__)(f"{fault}\n  (tpulint fault #{number}#)")
    token.number = number
    return token


def note_raising_functions(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `original`, a `FuncRegistry.__call__`, noting the function that a fault comes from.

    By it a fault belongs to the calls whose graphs have this function.
    """

    @frames_hidden
    @functools.wraps(original)
    def __call__(self: Any, token: Any, device: Any, args: Any) -> Any:
        try:
            return original(self, token, device, args)
        except FaultToken as raised:
            with _waiting_lock:
                if raised.number in _waiting:
                    _waiting[raised.number].function = token
            sessions.end_runs_with(token)
            raise

    return __call__


@functools.cache
def _token_class(name: str) -> type[FaultToken]:
    """Return a class of the fault's name, by which TensorFlow's log tells what has happened."""
    return type(name, (FaultToken,), {"__module__": "tpulint"})


def failing_tensors(
    make: Callable[..., RuntimeFault], arguments: Sequence[Tensor] = (), dtypes: Sequence[Any] = ()
) -> list[Tensor]:
    """Return tensors of `dtypes`, or one bool, that fail with the fault that `make` returns.

    `make` takes the values of `arguments`.
    """

    def fail(*values: Any) -> Any:
        raise token_for(make(*values))

    return compute_by_python(fail, arguments, list(dtypes) or [tf.bool])


def report_internal_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, of tpulint, with its own errors reported as tpulint's.

    The graph calls it, and an error in it is no fault of the program.
    """

    def call(*values: Any) -> Any:
        try:
            return function(*values)
        # It has a fault already.
        except FaultToken:
            raise
        except Exception as error:
            # Else the user would see a failed operation that they have not written.
            raise token_for(internal_error(error)) from error

    return call


class _SingletonError(type(RuntimeFault)):  # type: ignore[misc]
    """The metaclass of a fault that stays the same when TensorFlow copies it from a message."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.fault


def as_tensorflow_error(
    fault: RuntimeFault, replaces: type[Exception] = tf.errors.UnknownError
) -> RuntimeFault:
    """Return `fault`, of a class of its own that TensorFlow cannot replace by making it again.

    The class is also a subclass of the error that it `replaces`, because Python accepts no other.
    It is no subclass of CancelledError but in place of one: TPUEstimator raises every other error
    of its threads first.
    """
    kind = type(fault)
    # TensorFlow copies an exception by calling its class with a message, and Python then calls
    # `__init__`: the first gives the fault again, the second leaves it as it is.
    namespace = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "__init__": lambda self, *args, **kwargs: None,
        "fault": fault,
    }
    # The very object: the place and the rule are on it, and `except` compares classes.
    fault.__class__ = _SingletonError(kind.__name__, (kind, replaces), namespace)
    return fault


def fault_in(message: str) -> RuntimeFault | None:
    """Return the fault whose token is in `message`, or None."""
    match = _TOKEN.search(message)
    fault = _take_fault(int(match[1])) if match else None
    return fault and as_tensorflow_error(fault)


def _take_fault(number: int) -> RuntimeFault | None:
    """Return the fault of token `number`, if it waits.

    Equal faults of other replicas may still be asked for, but no longer explain a cancelled step.
    """
    with _waiting_lock:
        taken = _waiting.pop(number, None)
        if taken is None:
            return None
        fault = taken.fault
        for other in _waiting.values():
            if (other.fault.rule, other.fault.place) == (fault.rule, fault.place):
                other.explains = False
        return fault


def cause_of_cancelling(
    message: str, replaces: type[Exception] = tf.errors.CancelledError
) -> RuntimeFault | None:
    """Return the fault that cancelled the rest of its step, which TensorFlow may report first.

    The error is one that `replaces` the one that TensorFlow reports.

    TensorFlow does not say by what a call has been cancelled. It is a fault that a function of the
    call's own graph has raised since the call began.
    """
    named = _TOKEN.search(message)
    number = int(named[1]) if named else _cause_of(threads.call_of_error(message))
    fault = None if number is None else _take_fault(number)
    return fault and as_tensorflow_error(fault, replaces)


def _cause_of(call: threads.GraphCall | None) -> int | None:
    """Return the token of the first fault that may have cancelled `call`, or None."""
    if call is None:
        return None
    with _waiting_lock:
        since = {
            number: waiting.function
            for number, waiting in _waiting.items()
            if number > call.began and waiting.explains and waiting.function
        }
    # To read the whole graph takes its time.
    functions = call.contents().tokens if since else ()
    return next((number for number, function in since.items() if function in functions), None)


steps_stopped = threading.Event()
"""While it is set, every step fails at its next operation that calls Python."""


class StepsStopped(Exception):
    """Raised in the graph where every step is to end."""


def call_python(
    function: Callable[..., Any],
    arguments: Sequence[Tensor] = (),
    waits_for: Sequence[Operation] = (),
) -> Operation:
    """Return an operation that calls `function`, which waits for nothing, with the values given.

    It comes after `waits_for`.
    """
    called = report_internal_errors(function)

    def call(*values: Any) -> None:
        if steps_stopped.is_set():
            raise StepsStopped("the program is being ended")
        called(*values)

    with tf.control_dependencies(waits_for):
        return python_functions.own_operation(call, arguments)


def compute_by_python(
    function: Callable[..., Any], arguments: Sequence[Tensor], dtypes: Sequence[Any]
) -> list[Tensor]:
    """Return tensors of `dtypes` that `function`, of tpulint, computes of the values given."""
    return python_functions.python_function(report_internal_errors(function), arguments, dtypes)


def call_python_if(
    condition: Tensor, function: Callable[..., Any], arguments: Sequence[Tensor]
) -> Operation:
    """Return an operation that calls `function`, as `call_python` does, if `condition` is true."""

    def note() -> Tensor:
        with tf.control_dependencies([call_python(function, arguments)]):
            return tf.constant(True)

    return tf.cond(condition, note, lambda: tf.constant(False)).op


_CALLBACKS = "_tpulint_after_failures"


def after_failures(graph: Any, callback: Callable[[], None]) -> None:
    """Call `callback` when the step that is marked in `graph` begins again, after it has failed."""
    callbacks = getattr(graph, _CALLBACKS, ())
    if callback not in callbacks:
        setattr(graph, _CALLBACKS, (*callbacks, callback))


class Failures:
    """The failures of the step that is marked in `graph`, of which one run is made at a time."""

    def __init__(self, graph: Any) -> None:
        self._callbacks: Sequence[Callable[[], None]] = getattr(graph, _CALLBACKS, ())
        self.watches = bool(self._callbacks)
        self._is_running = False

    def begin(self) -> list[Operation]:
        """Return operations that make the calls, if the run before has not ended."""
        return [call_python(self._begin)] if self.watches else []

    def end(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that note that the run has ended."""
        return [call_python(self._end, waits_for=waits_for)] if self.watches else []

    def _begin(self) -> None:
        # It was not unset: the run before has failed, and its session does not tell.
        if self._is_running:
            for callback in self._callbacks:
                callback()
        self._is_running = True

    def _end(self) -> None:
        self._is_running = False


_NO_KERNEL_FOR_MARKS = re.compile(r"No OpKernel was registered to support Op 'TPUReplicat")
_UNDECLARED_OUTPUT = (
    "Undeclared output of TPU computation. A common cause of this error is variable initializers "
    "that depend on the TPU computation. What it made is used outside it, and it did not return it"
)


def undeclared_output_fault(message: str) -> RuntimeFault | None:
    """Return the fault of marked nodes that an InvalidArgumentError reports, or None."""
    if not _NO_KERNEL_FOR_MARKS.search(message):
        return None
    sessions.keep_sessions()
    kind = combine_classes(UnfetchableError, tf.errors.InvalidArgumentError)
    fault: RuntimeFault = kind(_UNDECLARED_OUTPUT)
    return as_tensorflow_error(fault)
