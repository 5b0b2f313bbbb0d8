"""TPU501: an operation with no TPU kernel in device code."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tpulint.analysis.domain.events import MODEL_FN, ApiCall, Computation, Context, Tensor
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Const
from tpulint.diagnostics.traces import path_to_site
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.branch_tests import asks_about, is_for, is_for_gpu
from tpulint.knowledge import naming
from tpulint.knowledge.operations import BuiltOperation
from tpulint.queries.device_code import certainty, compiled_calls, is_compiled, placed_softly
from tpulint.queries.targets import operation_built
from tpulint.rules.base import Report, Rule, register

# The operations of a table or a queue are never compiled: its state lives on the host.
HELD_BY_THE_HOST = {"table": "a lookup table", "queue": "a queue"}
AHEAD = "do it in the input pipeline"
# Functions that a model_fn calls to drop the summaries that its helpers made.
EMPTIES = frozenset(["clear_collection", "get_collection_ref", "remove_summaries"])
V1_SUMMARIES = frozenset(
    ["ScalarSummary", "HistogramSummary", "ImageSummary", "AudioSummaryV2", "TensorSummaryV2"]
)


@register
class UnsupportedOp(Rule):
    code = "TPU501"
    name = "unsupported-op"
    severity = Severity.ERROR
    summary = "an operation with no TPU kernel in device code"

    def check(self, program: Program, report: Report) -> None:
        emptied = set(folders_that_empty(program))
        for computation, call in compiled_calls(program):
            built = operation_built(program, call)
            if built is None or is_for_gpu(call.context):
                continue
            if not is_left_out(built, call, computation, emptied):
                sure = certainty(program, computation, call.context)
                if not _surely(built, call, program, computation):
                    if built.writer and asks_about(call.context, naming.SUMMARIES):
                        continue
                    sure = Certainty.POSSIBLE
                what = " or ".join(f"`{each}`" for each in built.operations)
                report(
                    call.site.span,
                    f"`{call.last}` builds {what}, which has no TPU kernel:"
                    f" {instead(call, built, computation)}",
                    certainty=sure,
                    trace=path_to_site(
                        computation, call.context, call.site, f"builds {what} on the device"
                    ),
                )
        for computation, site, context, kind, name in _host_state(program):
            if placed_softly(program, computation):
                continue
            report(
                site.span,
                f"`{name}` is {kind} of the host, whose operations have no TPU kernel: {AHEAD}",
                certainty=certainty(program, computation, context),
                trace=path_to_site(computation, context, site, f"uses {kind} on the device"),
            )


def instead(call: ApiCall, built: BuiltOperation, computation: Computation) -> str:
    """Return what to do instead of the operation on the device."""
    if built.writer or V1_SUMMARIES.issuperset(built.operations):
        in_estimator = computation.kind == MODEL_FN
        return "write it in `host_call`" if in_estimator else "write it outside the computation"
    if naming.PREPARES_INPUT.is_in(call.path):
        return AHEAD
    return "send it to the host with `outside_compilation`"


def _surely(
    built: BuiltOperation, call: ApiCall, program: Program, computation: Computation
) -> bool:
    """Return whether the operation is there for sure, and has no kernel in any release."""
    if is_for(call.context, naming.DEBUGGING):
        return False
    if built.writer and not has_writer(program, computation):
        return False  # without a default writer a summary builds nothing
    folded = bool(call.arguments) and all(isinstance(e.value, Const) for e in call.arguments)
    return built.host and (not folded or call.last in ("print", "Print"))


def _host_state(program: Program) -> Iterator[tuple[Computation, Site, Context, str, str]]:
    for computation in program.computations:
        for each in computation.accesses:
            kind = HELD_BY_THE_HOST.get(each.variable.sort)
            if kind and each.mode != "create" and is_compiled(each.context):
                yield computation, each.site, each.context, kind, each.variable.name


def is_left_out(
    built: BuiltOperation, call: ApiCall, computation: Computation, emptied: set[str]
) -> bool:
    """Return whether a summary of TensorFlow 1 is never fetched: only an Estimator merges them."""
    merged = computation.kind == "model_fn" and _folder(call) not in emptied
    return V1_SUMMARIES.issuperset(built.operations) and not merged


def has_writer(program: Program, computation: Computation) -> bool:
    """Return whether the device's code makes a writer the default one: graphs have this, too."""
    makers = [name for name in program.named if naming.WRITER.is_in(name)]
    made = {each.site for name in makers for each in program.named[name]}
    return any(
        each.last == "as_default" and each.context.on_device and each.receiver.site in made
        for each in computation.calls
        if isinstance(each.receiver, (Tensor, ExternalObject))
    )


def folders_that_empty(program: Program) -> Iterator[str]:
    """Yield the folders of code that takes summaries away again: their model_fns are read apart."""
    for calls in (program.calls, *(computation.calls for computation in program.computations)):
        yield from (_folder(each) for each in calls if each.last in EMPTIES)


def _folder(call: ApiCall) -> str:
    return os.path.dirname(call.site.module.path)
