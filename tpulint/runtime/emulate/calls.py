"""What the program's Python does with the device: it launches functions and reads their results.

A launch is one call of a compiled function, or one run of a session, with all the steps inside it.
A read copies a value of the device to the host: `float(loss)`, `loss.numpy()`, `print(loss)`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import tensorflow as tf

from tpulint.runtime.emulator import Listeners
from tpulint.runtime.pods.devices import PLACED
from tpulint.runtime.source_location import user_location
from tpulint.runtime.tensorflow_internals.patching import emulated_patch, emulated_patch_value
from tpulint.runtime.tensorflow_internals.tracebacks import frames_hidden

_COUNTED = "launches and reads of results are counted for the report of a run"
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
_open: dict[int, int] = {}
"""The numbers of the launches that last, by thread. What is done with it is atomic in CPython."""


def current_launch() -> int | None:
    """Return the number of the launch that lasts, of several the last one; None without any."""
    return max(tuple(_open.values()), default=None)


@contextmanager
def launch() -> Iterator[None]:
    """Note a launch, unless this thread is in one."""
    thread = threading.get_ident()
    if thread in _open:
        yield
        return
    _open[thread] = next(_numbers)
    try:
        yield
    finally:
        del _open[thread]


def note_computed(operation: str, arguments: Sequence[Any], results: Any) -> None:
    """Note the results of an eager operation: what it computes of the device's is read from it."""
    if _readers and operation not in _KNOWN_TO_HOST and any(map(_is_of_device, arguments)):
        mark_as_computed(results)


def _is_of_device(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_of_device, value))
    # A strategy's variable is passed as it is.
    value = getattr(value, "_handle", value)
    return getattr(value, _OF_DEVICE, False) or hasattr(value, PLACED)


def mark_as_computed(results: Any) -> None:
    """Note that the eager tensors in `results` are of the device."""
    for result in results if isinstance(results, list) else [results]:
        if tf.is_tensor(result):
            setattr(result, _OF_DEVICE, True)


@emulated_patch_value(f"{_SESSION}._call_tf_sessionrun", why=_COUNTED)
@emulated_patch_value(f"{_SESSION}._Callable.__call__", why=_COUNTED)
def _count_runs(run: Callable[..., Any]) -> Callable[..., Any]:
    @frames_hidden
    def run_session(*arguments: Any, **options: Any) -> Any:
        with launch():
            return run(*arguments, **options)

    return run_session


@emulated_patch("tensorflow.python.framework.ops._EagerTensorBase._numpy", why=_COUNTED)
def _read(original: Callable[[Any], Any], tensor: Any) -> Any:
    # A string is no value of a device: it is the topology, which the host has.
    if _readers and _is_of_device(tensor) and tensor.dtype != tf.string:
        read = HostRead(user_location(), tensor.shape.num_elements() * tensor.dtype.size)
        _readers(read)
    return original(tensor)
