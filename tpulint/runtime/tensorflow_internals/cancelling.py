"""Cancel, from another thread, the work that TensorFlow does for a Python thread."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import (
    eager_context,
    pywrap_tfe,
    session,
)
from tpulint.runtime.tensorflow_internals.patching import patched


@contextlib.contextmanager
def cancellable_calls() -> Iterator[Callable[[], None]]:
    """Yield a function that cancels all functions of TensorFlow that are running.

    Those that are called afterwards run.
    """
    calls = _Calls()
    run = pywrap_tfe.TFE_Py_Execute
    run_cancellable = pywrap_tfe.TFE_Py_ExecuteCancelable

    def execute(
        handle: Any, device: Any, operation: Any, inputs: Any, attrs: Any, outputs: Any
    ) -> Any:
        context = eager_context.context()
        # A call of an asynchronous executor returns before it has run.
        if context.is_async() or not context.has_function(operation):
            return run(handle, device, operation, inputs, attrs, outputs)
        # TensorFlow cancels the manager of a call that fails: each call needs its own.
        manager = pywrap_tfe.TFE_NewCancellationManager()
        return execute_cancellable(handle, device, operation, inputs, attrs, manager, outputs)

    def execute_cancellable(
        handle: Any,
        device: Any,
        operation: Any,
        inputs: Any,
        attrs: Any,
        manager: Any,
        outputs: Any,
    ) -> Any:
        with calls.cancellable_by(manager):
            return run_cancellable(handle, device, operation, inputs, attrs, manager, outputs)

    with (
        patched("tensorflow.python.pywrap_tfe.TFE_Py_Execute", execute),
        patched("tensorflow.python.pywrap_tfe.TFE_Py_ExecuteCancelable", execute_cancellable),
    ):
        yield calls.cancel


class _Calls:
    """The cancellation managers of the calls that run now, in any thread."""

    def __init__(self) -> None:
        self._managers: dict[object, Any] = {}
        """By call, as several may share one of the user's. It has no lock: a single operation on a
        dict is atomic in CPython."""

    @contextlib.contextmanager
    def cancellable_by(self, manager: Any) -> Iterator[None]:
        """Let `cancel` cancel the call that is made in the context through `manager`."""
        call = object()
        try:
            self._managers[call] = manager
            yield
        finally:
            self._managers.pop(call, None)

    def cancel(self) -> None:
        """Cancel the calls that run now."""
        for manager in tuple(self._managers.values()):
            pywrap_tfe.TFE_CancellationManagerStartCancel(manager)


def close_sessions_of_thread(thread: int) -> None:
    """Close the sessions that the Python thread of that number runs, which ends their steps."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code.co_filename == session.__file__:
            caller = frame.f_locals.get("self")  # a session, or a result of `make_callable`
            running: Any = caller if _is_session(caller) else getattr(caller, "_session", None)
            if _is_session(running):
                running.close()
                return
        frame = frame.f_back


def _is_session(value: Any) -> bool:
    return isinstance(value, session.BaseSession)
