"""TPU503: a TensorArray that grows is silently truncated on the device."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall
from tpulint.analysis.domain.values import NONE, Const
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, Severity, Step
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.rules.base import Report, Rule, register

EMPTY = (None, NONE, Const(0))
WRITES = frozenset(["write", "scatter"])
FILLS = frozenset(["unstack", "split"])  # the result has the size of what it is given


@register
class DynamicTensorArray(Rule):
    code = "TPU503"
    name = "dynamic-tensor-array"
    severity = Severity.ERROR
    summary = "a growing TensorArray is silently truncated on the device"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            for made in computation.calls:
                if not (made.last == "TensorArray" and made.context.on_device and grows(made)):
                    continue
                used = [each for each in computation.calls if each.receiver is made.result]
                writes = [each for each in used if each.last in WRITES]
                if not writes and any(each.last in FILLS for each in used):
                    continue
                report(
                    made.site.span,
                    "this TensorArray starts empty and cannot grow on the device, where writes to"
                    " it are silently dropped: pass its `size`",
                    certainty=definite_if(
                        bool(writes),
                        not made.context.is_guess,
                        is_on_tpu(computation, made.context),
                    ),
                    trace=(
                        traces.entry(computation),
                        *traces.calls(DEVICE_LANE, computation.context, made.context, skip=1),
                        traces.step(DEVICE_LANE, made.site, "allocates no element"),
                        *write_steps(writes[:1]),
                    ),
                )


def grows(made: ApiCall) -> bool:
    """Return whether it is made empty, with `dynamic_size=True`."""
    size, dynamic = made.argument("size", 1), made.argument("dynamic_size", 2)
    if dynamic is None or dynamic.value != Const(True):
        return False
    return (size.value if size is not None else None) in EMPTY


def write_steps(writes: list[ApiCall]) -> list[Step]:
    return [traces.step(DEVICE_LANE, each.site, "writes beyond its end") for each in writes]
