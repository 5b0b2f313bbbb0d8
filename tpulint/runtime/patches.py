"""`install`: the patches of TensorFlow that the runtime needs from its import on.

`tensorflow_internals/patch_table.py` lists them, and those of `emulated_tpu`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

from tpulint.runtime import python_functions
from tpulint.runtime.execute.device_program import refused_segment
from tpulint.runtime.execute.raising import cause_of_cancelling, fault_in, undeclared_output_fault
from tpulint.runtime.execute.thread_starvation import run_watched
from tpulint.runtime.fetching import fetches_checked
from tpulint.runtime.host_feeds import feeds_of_this_host
from tpulint.runtime.mark.scratch_graph import captured_by_scratch_graphs
from tpulint.runtime.pods import sessions
from tpulint.runtime.results import unrunnable
from tpulint.runtime.tensorflow_internals import (
    feeds,
    functions,
    gradients,
    patching,
    tpu,
    tracebacks,
)

_installed: list[ExitStack] = []


def install() -> Callable[[], None]:
    """Patch TensorFlow, unless it is patched, and return the function that restores it."""
    if not _installed:
        _installed.append(patching.install(_patches()))
    return _uninstall


def _uninstall() -> None:
    while _installed:
        _installed.pop().close()


def _patches() -> Sequence[AbstractContextManager[None]]:
    return (
        tracebacks.own_frames_hidden(),
        tpu.not_converted_by_autograph(),
        sessions.sessions_place_only_what_they_run(),
        sessions.sessions_outlive_failed_calls(),
        tracebacks.errors_become("UnknownError", fault_in),
        tracebacks.errors_become("CancelledError", cause_of_cancelling),
        tracebacks.errors_become("InvalidArgumentError", refused_segment, undeclared_output_fault),
        python_functions.python_functions_run_by(run_watched),
        feeds_of_this_host(),
        feeds.independent_operations(),
        gradients.gradients_through_marked_nodes(),
        functions.functions_leave_out(unrunnable),
        captured_by_scratch_graphs(),
        fetches_checked(),
    )
