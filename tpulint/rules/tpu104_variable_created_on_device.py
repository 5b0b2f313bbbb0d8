"""TPU104: a variable or layer is created again at each trace of the function given to `run`."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, Certainty
from tpulint.knowledge import seam
from tpulint.rules.base import Report
from tpulint.rules.tpu104_variable_creation import Creation, creations, is_kept, is_traced_again


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        if computation.kind not in seam.STRATEGY_RUN or not is_traced_again(computation):
            continue
        for each in creations(computation):
            if is_kept(computation, each.context):
                continue
            sure = (
                computation.context.traced
                and each.context.conditions <= computation.context.conditions
            )
            certainty = computation.certainty if sure else Certainty.POSSIBLE
            steps = (
                traces.entry(computation),
                *traces.calls(DEVICE_LANE, computation.context, each.context, skip=1),
                traces.step(DEVICE_LANE, each.site, f"creates {each.words}"),
            )
            report(each.site.span, message(each), certainty=certainty, trace=steps)


def message(each: Creation) -> str:
    return (
        f"{each.words} is created again at each trace of the function given to `run`:"
        " create it once, outside"
    )
