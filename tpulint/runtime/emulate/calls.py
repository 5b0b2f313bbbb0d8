"""What the program's Python does with the device: it launches functions and reads their results.

A launch is one call of a compiled function, or one run of a session, with all the steps inside it.
A read copies a value of the device to the host: `float(loss)`, `loss.numpy()`, `print(loss)`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.emulate.cores import FunctionCores, core_of
from tpulint.runtime.emulator import Listeners
from tpulint.runtime.source_location import user_location
from tpulint.runtime.tensorflow_internals.patching import emulated_patch, emulated_patch_value
from tpulint.runtime.tensorflow_internals.tracebacks import frames_hidden

_COUNTED = "launches and reads of results are counted for the report of a run"
_EXECUTE = "tensorflow.python.pywrap_tfe"
_SESSION = "tensorflow.python.client.session.BaseSession"


class HostRead(NamedTuple):
    """A value of the device that the program has read on the host.

    `place` is the user's "file:line", None where no line of the user's has led there.
    """

    place: str | None
    bytes: int


_OF_DEVICE = "_tpulint_of_device"
"""The attribute of an eager tensor that a launch has made, or that was computed from one."""
_KNOWN_TO_HOST = frozenset({"OptionalHasValue", "Rank", "Shape", "ShapeN", "Size"})
_readers: Listeners[HostRead] = Listeners()
watch_reads = _readers.including
"""A context that passes each read of a value of the device to a function."""
_numbers = itertools.count()
_open: dict[int, None] = {}
"""The launches that last, in the order in which they began. Its operations are atomic."""
_in_thread = threading.local()


def current_launch() -> int | None:
    """Return the number of the launch that lasts, of several the last one; None without any."""
    return next(reversed(tuple(_open)), None)


@contextmanager
def _launch() -> Iterator[None]:
    """Note a launch, unless this thread is in one."""
    if getattr(_in_thread, "launches", False):
        yield
        return
    number = next(_numbers)
    _in_thread.launches = True
    _open[number] = None
    try:
        yield
    finally:
        _in_thread.launches = False
        _open.pop(number, None)


@emulated_patch(f"{_EXECUTE}.TFE_Py_Execute", why=_COUNTED)
@emulated_patch(f"{_EXECUTE}.TFE_Py_ExecuteCancelable", why=_COUNTED)
def _run_function(
    run: Callable[..., Any], handle: Any, device: Any, operation: Any, *others: Any
) -> Any:
    name = operation.decode() if isinstance(operation, bytes) else operation
    if not emulator.current_part(FunctionCores).holds_computation(name):
        return run(handle, device, operation, *others)
    with _launch():
        results = run(handle, device, operation, *others)
    _mark(results)
    return results


@emulated_patch(f"{_EXECUTE}.TFE_Py_FastPathExecute", why=_COUNTED)
def _run_operation(
    run: Callable[..., Any], ctx: Any, operation: str, name: Any, *arguments: Any
) -> Any:
    """Run an operation; what it computes from values of the device is read from there, too."""
    results = run(ctx, operation, name, *arguments)
    if _readers and operation not in _KNOWN_TO_HOST and any(map(_is_of_device, arguments)):
        _mark(results)
    return results


def _is_of_device(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_of_device, value))
    # A strategy's variable is passed as it is.
    value = getattr(value, "_handle", value)
    return getattr(value, _OF_DEVICE, False) or core_of(value) is not None


def _mark(results: Any) -> None:
    for result in results if isinstance(results, list) else [results]:
        if tf.is_tensor(result):
            setattr(result, _OF_DEVICE, True)


@emulated_patch_value(f"{_SESSION}._call_tf_sessionrun", why=_COUNTED)
@emulated_patch_value(f"{_SESSION}._Callable.__call__", why=_COUNTED)
def _count_runs(run: Callable[..., Any]) -> Callable[..., Any]:
    @frames_hidden
    def run_session(*arguments: Any, **options: Any) -> Any:
        with _launch():
            return run(*arguments, **options)

    return run_session


@emulated_patch("tensorflow.python.framework.ops._EagerTensorBase._numpy", why=_COUNTED)
def _read(original: Callable[[Any], Any], tensor: Any) -> Any:
    # A string is no value of a device: it is the topology, which the host has.
    if _readers and _is_of_device(tensor) and tensor.dtype != tf.string:
        read = HostRead(user_location(), tensor.shape.num_elements() * tensor.dtype.size)
        _readers(read)
    return original(tensor)
