"""Cancel, from another thread, the work that TensorFlow does for a Python thread."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import (
    cancellation,
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
    managers = [cancellation.CancellationManager()]
    run = pywrap_tfe.TFE_Py_Execute
    cancellable = pywrap_tfe.TFE_Py_ExecuteCancelable

    def execute(
        handle: Any, device: Any, operation: Any, inputs: Any, attrs: Any, outputs: Any
    ) -> Any:
        if not eager_context.context().has_function(operation):
            return run(handle, device, operation, inputs, attrs, outputs)
        manager = managers[-1]._impl
        return cancellable(handle, device, operation, inputs, attrs, manager, outputs)

    def cancel() -> None:
        managers.append(cancellation.CancellationManager())
        managers[-2].start_cancel()

    with patched("tensorflow.python.pywrap_tfe.TFE_Py_Execute", execute):
        yield cancel


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
