"""`install`: the patches of TensorFlow that the runtime needs from its import on.

`tensorflow_internals/patch_table.py` lists them, and those of `emulated_tpu`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.execute.compile_errors import refused
from tpulint.runtime.execute.raising import cause_of_cancelling, fault_in
from tpulint.runtime.execute.thread_starvation import run_watched
from tpulint.runtime.execute.undeclared_outputs import undeclared_output
from tpulint.runtime.fetching import fetches_checked
from tpulint.runtime.host_feeds import feeds_of_this_host
from tpulint.runtime.mark.scratch_graph import captured_by_scratch_graphs
from tpulint.runtime.results import unrunnable

_installed: list[ExitStack] = []


def install() -> Callable[[], None]:
    """Patch TensorFlow, unless it is patched, and return the function that restores it."""
    if not _installed:
        _installed.append(tfi.install(_patches()))
    return _uninstall


def _uninstall() -> None:
    while _installed:
        _installed.pop().close()


def _patches() -> Sequence[AbstractContextManager[None]]:
    return (
        tfi.own_frames_hidden(),
        tfi.not_converted_by_autograph(),
        tfi.sessions_place_only_what_they_run(),
        tfi.sessions_outlive_failed_calls(),
        tfi.errors_become("UnknownError", fault_in),
        tfi.errors_become("CancelledError", cause_of_cancelling),
        tfi.errors_become("InvalidArgumentError", refused, undeclared_output),
        tfi.python_functions_run_by(run_watched),
        feeds_of_this_host(),
        tfi.independent_operations(),
        tfi.gradients_through_marked_nodes(),
        tfi.functions_leave_out(unrunnable),
        captured_by_scratch_graphs(),
        fetches_checked(),
    )
