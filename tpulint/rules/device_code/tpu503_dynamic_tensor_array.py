"""TPU503: a TensorArray that grows is silently truncated on the device."""

from __future__ import annotations

from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.values import NONE, Const
from tpulint.diagnostics.traces import device_path, device_step
from tpulint.queries.certainty import on_tpu_if
from tpulint.rules.base import Program, Report, Rule, Severity, register

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
            for array in computation.calls:
                if not (array.last == "TensorArray" and array.context.on_device and grows(array)):
                    continue
                used = [call for call in computation.calls if call.receiver is array.result]
                writes = [call for call in used if call.last in WRITES]
                # `unstack` makes an array of the size of its argument.
                if not writes and any(call.last in FILLS for call in used):
                    continue
                report(
                    array.site.span,
                    "this TensorArray starts empty and cannot grow on the device, so writes to"
                    " it are silently dropped: pass its `size`",
                    certainty=on_tpu_if(computation, array.context, bool(writes)),
                    trace=device_path(
                        computation,
                        array.context,
                        device_step(array.site, "allocates no element"),
                        *(device_step(it.site, "writes beyond its end") for it in writes[:1]),
                    ),
                )


def grows(array: ApiCall) -> bool:
    """Return whether it is made empty, with `dynamic_size=True`."""
    is_dynamic = array.value("dynamic_size", 2) == Const(True)
    return is_dynamic and array.value("size", 1) in EMPTY
