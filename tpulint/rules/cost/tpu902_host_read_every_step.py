"""TPU902: the host reads a value of the device in each round of the loop that trains."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.context import LOOP
from tpulint.absint.domain.events import Context, Tensor
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.queries.certainty import definite_if
from tpulint.queries.launches import StepLoop, step_loops
from tpulint.rules.base import Program, Report, Rule, Severity, register

CONVERSIONS = frozenset(["builtins.float", "builtins.int", "builtins.bool", "builtins.print"])
METHODS = frozenset(["numpy", "item"])
OF_SHAPES = frozenset(["shape", "ndim"])  # which NumPy asks a tensor for
# tensorflow/python/ops/summary_ops_v2.py: what writes a value, and what says when.
SUMMARIES = frozenset(["scalar", "histogram", "image", "text"])
RECORDS = ("record_if", "should_record_summaries")
COMPARISONS = frozenset(
    ["LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual", "Equal", "NotEqual"]
)


@register
class HostReadEveryStep(Rule):
    code = "TPU902"
    name = "host-read-every-step"
    severity = Severity.PERFORMANCE
    summary = "a value of the device that the host reads after each step"

    def check(self, program: Program, report: Report) -> None:
        for steps in step_loops(program):
            rounds = "round" if steps.rounds is None else f"of {steps.rounds:,} rounds"
            for site, words, is_sure in reads_in(program, steps):
                report(
                    site.span,
                    f"{words} waits for the device in each {rounds} of this loop, and the next"
                    " step starts only then: move it under `if step % 100 == 0`, or after the loop",
                    certainty=definite_if(is_sure, steps.is_sure),
                    trace=(
                        traces.host_step(steps.loop.site, "in each round of this loop"),
                        traces.host_step(steps.launch.site, "launches one step"),
                        traces.host_step(site, "waits for its end"),
                    ),
                    doubt="if the loop has many rounds, and a TPU trains",
                )


def reads_in(program: Program, steps: StepLoop) -> Iterator[tuple[Site, str, bool]]:
    """Yield where each round reads a value of the device, by what, and whether it surely does."""
    values = {  # the metrics that the step updates
        id(call.receiver)
        for call in steps.computation.calls
        if call.last == "update_state" and isinstance(call.receiver, ExternalObject)
    }
    is_certain = not program.named_any(RECORDS)
    for call in program.calls:
        if not is_in_each_round(call.context, steps):
            continue
        taken = [call.receiver, *(argument.value for argument in call.arguments)]
        if not any(is_of_step(value, steps, values) for value in taken):
            continue
        if call.path in CONVERSIONS or call.last in METHODS:
            yield call.site, f"`{call.last}`", True
        elif call.path.startswith("numpy.") and call.last not in OF_SHAPES:
            yield call.site, f"`np.{call.last}`", True
        elif is_tensorflow(call.path) and ".summary." in call.path and call.last in SUMMARIES:
            if is_certain:
                yield call.site, f"`summary.{call.last}`", False
        elif isinstance(call.result, (Tensor, ExternalObject)):
            values.add(id(call.result))  # a sum over the replicas, the result of a metric
    for use in program.uses:
        if use.taker not in COMPARISONS or not is_in_each_round(use.context, steps):
            continue
        if is_of_step(use.tensor, steps, values):
            yield use.site, "this comparison", False


def is_in_each_round(context: Context, steps: StepLoop) -> bool:
    """Return whether each round of the loop gets here, on the host, and once."""
    loops = [scope for scope in context.scopes if scope.kind == LOOP]
    if not loops or loops[-1] is not steps.loop or context.traced:
        return False
    return context.conditions <= steps.computation.context.conditions


def is_of_step(value: Value | None, steps: StepLoop, values: set[int]) -> bool:
    """Return whether the value comes from the step that the loop launches."""
    if id(value) in values:
        return True
    origin = value.made if isinstance(value, Tensor) else None
    return origin is not None and any(scope is steps.launch for scope in origin.scopes)
