"""Raise the runtime's own errors out of a running graph.

TensorFlow knows a failed operation by its status only, and makes a new exception, of a class of its
own, wherever the status leaves C++. A fault therefore travels as a ticket in the message of an
unknown error; when that error would be made, the fault that waits under the ticket comes out.
"""

from __future__ import annotations

import functools
import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from tpulint.runtime import python_functions
from tpulint.runtime.errors import RuntimeFault
from tpulint.runtime.extract.region import Tensor
from tpulint.runtime.internal import internal_error

_TICKET = re.compile(r"tpulint fault #(\d+)#")
_RECENT = 2.0
"""Seconds for which a fault counts as the cause of what is cancelled."""
_numbers = itertools.count()
_waiting: dict[int, tuple[float, RuntimeFault]] = {}
_lock = threading.Lock()
_listeners: list[Callable[[RuntimeFault], None]] = []


class Ticket(Exception):
    """Raised in the graph in place of a fault."""


@contextmanager
def faults_sent_to(listener: Callable[[RuntimeFault], None]) -> Iterator[None]:
    """Pass each fault that a step raises in the context to `listener`, at once.

    The program may see another error of TensorFlow's instead, of what the step has cancelled.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def ticket_for(fault: RuntimeFault) -> Ticket:
    """Return the exception to raise in the graph so that the step raises `fault`."""
    with _lock:
        number = next(_numbers)
        _waiting[number] = time.monotonic(), fault
    for listener in tuple(_listeners):
        listener(fault)
    return _ticket_class(type(fault).__name__)(f"{fault}\n  (tpulint fault #{number}#)")


@functools.cache
def _ticket_class(name: str) -> type[Ticket]:
    """Return a class of the fault's name, by which TensorFlow's log tells what has happened."""
    return type(name, (Ticket,), {"__module__": "tpulint"})


def failing(
    make: Callable[..., RuntimeFault], given: Sequence[Tensor] = (), dtypes: Sequence[Any] = ()
) -> list[Tensor]:
    """Return tensors of `dtypes`, or one bool, that fail with `make(*values of given)`."""

    def fail(*values: Any) -> Any:
        raise ticket_for(make(*values))

    return python_functions.python_function(safely(fail), given, list(dtypes) or [tf.bool])


def safely(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, of tpulint, with its own errors reported as tpulint's.

    The graph calls it, and an error in it is no fault of the program.
    """

    def call(*values: Any) -> Any:
        try:
            return function(*values)
        except Ticket:
            raise
        except Exception as error:
            raise ticket_for(internal_error(error)) from error

    return call


class _SameAgain(type(RuntimeFault)):  # type: ignore[misc]
    """The metaclass of a fault that stays the same when TensorFlow copies it from a message."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.fault


def delivered(
    fault: RuntimeFault, replaces: type[Exception] = tf.errors.UnknownError
) -> RuntimeFault:
    """Return `fault`, of a class of its own that TensorFlow cannot replace by making it again.

    The class is also a subclass of the error that it `replaces`, because Python accepts no other.
    It is no subclass of CancelledError but in place of one: TPUEstimator raises every other error
    of its threads first.
    """
    kind = type(fault)
    namespace = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "__init__": lambda self, *args, **kwargs: None,
        "fault": fault,
    }
    fault.__class__ = _SameAgain(kind.__name__, (kind, replaces), namespace)
    return fault


def fault_in(message: str) -> RuntimeFault | None:
    """Return the fault whose ticket is in `message`, or None."""
    found = _TICKET.search(message)
    if not found:
        return None
    with _lock:
        fault = _taken(int(found[1]))
    return fault and delivered(fault)


def _taken(number: int) -> RuntimeFault | None:
    """Return the fault under ticket `number`, if it waits.

    Equal faults of other replicas may still be asked for, but no longer explain a cancelled step.
    """
    fault = _waiting.pop(number, (0.0, None))[1]
    for other, (_, like) in _waiting.items():
        if fault and (like.rule, like.place) == (fault.rule, fault.place):
            _waiting[other] = -_RECENT, like
    return fault


def cause_of_cancelling(message: str) -> RuntimeFault | None:
    """Return the fault that cancelled the rest of its step, which TensorFlow may report first."""
    del message
    with _lock:
        now = time.monotonic()
        recent = [number for number, (at, _) in _waiting.items() if now - at < _RECENT]
        fault = _taken(recent[0]) if recent else None
    return fault and delivered(fault, tf.errors.CancelledError)
