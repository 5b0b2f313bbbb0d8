"""TPU802: a name that the target TensorFlow removed or renamed."""

from __future__ import annotations

from tpulint.diagnostics.absent_names import absent, advice, first_without, grouped, rename, shown
from tpulint.finding import Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.rules.base import Report, Rule, register


@register
class RemovedApi(Rule):
    code = "TPU802"
    name = "removed-api"
    severity = Severity.ERROR
    summary = "a name that the target TensorFlow removed or renamed"
    fixes = (
        Applicability.SAFE,
        Applicability.UNSAFE,
    )

    def check(self, program: Program, report: Report) -> None:
        groups = grouped(name for name in absent(program) if name.gone)
        for absent_name in groups.single:
            report(
                absent_name.spelled.span,
                f"`{shown(absent_name.spelled)}` no longer exists in TensorFlow"
                f" {first_without(absent_name.spelled)}{advice(absent_name)}",
                certainty=absent_name.certainty,
                fix=rename(absent_name, program),
            )
        for broken in groups.broken:
            report(broken.span, broken.message, certainty=Certainty.POSSIBLE, trace=broken.trace)
