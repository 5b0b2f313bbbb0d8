"""The current place in the user's own code: the innermost frame that is not a library's."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from traceback import walk_tb
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals import operations, threads
from tpulint.runtime.tensorflow_internals.patching import set_default

_LIBRARIES = (
    os.path.dirname(os.path.abspath(tf.__file__)),
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    os.path.dirname(os.path.abspath(os.__file__)),
)
_COMMANDS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli", "")
_HOST_FUNCTIONS = "_tpulint_host_functions"
_SITE_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def user_location() -> str | None:
    """Return "file:line" of the innermost current frame of the user's code, or None."""
    return _innermost(operations.current_stack())


def is_called_by_strategy() -> bool:
    """Return whether TPUStrategy has called us on behalf of the user."""
    # The innermost caller counts: a program may call a strategy in a step of another one.
    for filename, _ in reversed(operations.current_stack()):
        if is_users(filename):
            return False
        if os.path.basename(filename) == "tpu_strategy.py":
            return True
    return False


def place_in_thread(thread: int) -> str | None:
    """Return "file:line" of the innermost frame of the user's code in a Python thread, or None."""
    return _innermost(threads.stack_of_thread(thread))


def operation_location(op: Any) -> str | None:
    """Return "file:line" of the user's code that made `op`, or None."""
    return _innermost(_stack_of(op))


def is_made_by_user(op: Any) -> bool:
    """Return whether the user's code, and no library but TensorFlow, called what made `op`."""
    for filename, _ in reversed(_stack_of(op)):
        if is_users(filename):
            return True
        is_generated = filename.startswith("<") or "__autograph_generated_file" in filename
        if not (is_generated or filename.startswith(_LIBRARIES)):
            return False
    return False


def note_host_function(graph: Any, first: int, function: Callable[..., Any]) -> None:
    """Note that the operations of `graph` from number `first` on were made by a host function."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__).strip("<>")
    names: dict[str, str] = set_default(graph, _HOST_FUNCTIONS, {})
    names.update((op.name, name) for op in graph.get_operations()[first:])


def host_function_of(op: Any) -> str:
    """Return the name of the function that was sent to the host and made `op`, or ""."""
    original = _original(op)
    names: dict[str, str] = getattr(original.graph, _HOST_FUNCTIONS, {})
    return names.get(original.name, "")


def place_of(error: BaseException) -> str | None:
    """Return "file:line" of the innermost frame of the user's code that `error` passed, or None."""
    frames = walk_tb(error.__traceback__)
    return _innermost((frame.f_code.co_filename, line) for frame, line in frames)


def _stack_of(op: Any) -> list[tuple[str, int]]:
    """Return (file, line) of each frame in which `op` was made, outermost first."""
    return [(frame.filename, frame.lineno) for frame in _original(op).traceback or ()]


def _original(op: Any) -> Any:
    """Return the operation that the user's code made, of which `op` may be a copy."""
    originals: dict[str, Any] = getattr(op.graph, operations.ORIGINALS, {})
    return originals.get(op.name, op)


def is_of_gradient(op: Any) -> bool:
    """Return whether TensorFlow made `op` while it took a gradient."""
    files = ("gradients_util.py", "backprop.py", "gradients_impl.py")
    return any(frame.filename.endswith(files) for frame in op.traceback)


def _innermost(frames: Iterable[tuple[str, int]]) -> str | None:
    for filename, line in reversed(list(frames)):
        if filename.startswith(_COMMANDS):  # the frames around it have started the program
            return None
        if is_users(filename):
            return f"{filename}:{line}"
    return None


def is_users(filename: str) -> bool:
    """Return whether `filename` is neither of a library nor made up by the interpreter."""
    if filename.startswith("<") or "__autograph_generated_file" in filename:
        return False
    if any(part in filename for part in _SITE_PACKAGES):
        return _is_of_program(filename)
    return not filename.startswith(_LIBRARIES)


def _is_of_program(filename: str) -> bool:
    """Return whether an installed file is of the package whose module runs as `__main__`."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is None:
        return False
    package = sys.modules.get(spec.name.partition(".")[0])
    folders = (os.path.join(path, "") for path in getattr(package, "__path__", ()))
    return filename == spec.origin or filename.startswith(tuple(folders))
