"""TPU505: a host cluster inside a device loop costs one round trip an iteration."""

from __future__ import annotations

from tpulint.absint.domain.context import WHILE, Scope
from tpulint.absint.domain.events import Computation, Context
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import path_to
from tpulint.finding import DEVICE_LANE
from tpulint.frontends.tensorflow.branch_tests import asks_about
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.operations import builds
from tpulint.queries.certainty import (
    definite_if,
    doubt_about_setting,
    is_for_one_setting,
    is_guessed,
    is_on_tpu,
)
from tpulint.queries.device_code import moved_calls
from tpulint.rules.base import Program, Report, Rule, Severity, register

COST = "one round trip per iteration; collect the values, and send them after the loop"


@register
class HostTransferInLoop(Rule):
    code = "TPU505"
    name = "host-transfer-in-loop"
    severity = Severity.WARNING
    summary = "one host round trip per iteration"

    def check(self, program: Program, report: Report) -> None:
        for cluster in program.clusters():
            computation = cluster.computation
            # A nested cluster moves with the outer one, which is reported.
            loop = loop_around(cluster.context) if cluster.parent is None else None
            if computation is None or loop is None:
                continue
            report(
                cluster.named.span,
                f"{traces.callee_name(cluster.callee)} runs on the host in every iteration of a"
                f" loop on the device: {COST}",
                certainty=definite_if(_is_certain(computation, cluster.context)),
                trace=(
                    traces.entry(computation),
                    traces.device_step(loop.site, "in each iteration of this loop"),
                    *traces.calls(DEVICE_LANE, computation.context, cluster.context, skip=1),
                    traces.host_step(cluster.named, "crosses to the host, and back"),
                ),
            )
        check_what_is_moved(program, report)


def check_what_is_moved(program: Program, report: Report) -> None:
    """Soft placement lets operations without a kernel run on the host: each is a host cluster."""
    for computation, call in moved_calls(program):
        built = builds(call.path)
        if built is None or loop_around(call.context) is None:
            continue
        report(
            call.site.span,
            f"`{call.last}` has no TPU kernel, and soft placement runs it on the host in every"
            f" iteration of a loop on the device: {COST}",
            certainty=definite_if(
                built.lacks_kernel and not built.writer, _is_certain(computation, call.context)
            ),
            trace=path_to(computation, call, "is moved to the host"),
            doubt=doubt_about_setting(computation, call.context),
        )


def loop_around(context: Context) -> Scope | None:
    """Return the device loop whose every iteration gets here; None under a condition in it.

    A loop over a static shape is unrolled: one transfer per operation is meant then.
    """
    control = context.control()
    is_looped = bool(control) and control[-1].kind == WHILE
    return control[-1] if is_looped and not asks_about(context, naming.SHAPE) else None


def _is_certain(computation: Computation, context: Context) -> bool:
    """Return whether a TPU runs this, whichever of several strategies the step is given to."""
    is_guess = is_guessed(context, computation) or is_for_one_setting(computation, context)
    return not is_guess and is_on_tpu(computation, context)
