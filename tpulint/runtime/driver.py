"""The order of a TPU computation: mark it, extract its program, schedule it, execute it.

Each step is one function, called from here only. A fault of the program is an error of
`tpulint.runtime.errors`, which names the rule; a fault of tpulint's own is an `InternalError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from tpulint.runtime.emulate.cores import mark_computation
from tpulint.runtime.emulator import Options
from tpulint.runtime.errors import warn, wrap_internal_errors
from tpulint.runtime.execute.step import execute
from tpulint.runtime.extract.program import extract
from tpulint.runtime.mark.marked import Marked, ReplicateRequest, StepOutputs
from tpulint.runtime.mark.replicate import MarkResult, mark, warn_of_idle_padding
from tpulint.runtime.mark.validate import check_marked
from tpulint.runtime.pods import sessions
from tpulint.runtime.results import guard_fetches
from tpulint.runtime.schedule.schedule import schedule
from tpulint.runtime.schedule.work import record_program
from tpulint.runtime.tensorflow_internals import gradients, graphs


def run(request: ReplicateRequest, options: Options) -> tuple[MarkResult, StepOutputs] | None:
    """Mark the computation of `request`, and build the step that runs it.

    None where there are no replicas. The step is in the graph that is being built.
    """
    with wrap_internal_errors(with_user_code=True):
        outcome = mark(request)
    if outcome is None:
        return None
    check_marked(outcome.context, outcome.marked, request.device_assignment)
    warn_of_idle_padding(request, outcome)
    # A function that holds a computation must not be compiled as a whole.
    mark_computation()
    if not outcome.marked.in_function:
        guard_fetches(outcome.marked.graph)
    with isolated_scopes():
        return outcome, run_marked(outcome.marked, options)


@tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
def run_marked(marked: Marked, options: Options) -> StepOutputs:
    """Build the step that runs `marked`, of which gradients see the marked nodes only."""
    with gradients.no_recording(), wrap_internal_errors():
        program = extract(marked)
        recorded = record_program(program)
        scheduled = schedule(recorded.program if recorded else program, options)
        for warning in scheduled.warnings:
            warn(warning)
        return execute(scheduled, recorded)


@contextmanager
def isolated_scopes() -> Iterator[None]:
    """Keep operations made in the context out of the user's name, device and colocation scopes."""
    with graphs.without_callbacks(), graphs.without_device(sessions.OWN_SCOPE):
        yield
