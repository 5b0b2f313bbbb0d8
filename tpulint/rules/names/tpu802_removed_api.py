"""TPU802: a name that the target TensorFlow removed or renamed."""

from __future__ import annotations

from tpulint.diagnostics.absent_names import advice, grouped, rename, shown
from tpulint.finding import Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.absent_names import absent, first_without
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
        found = grouped(each for each in absent(program) if each.gone)
        for each in found.single:
            report(
                each.spelled.span,
                f"`{shown(each.spelled)}` no longer exists in TensorFlow"
                f" {first_without(each.spelled)}{advice(each)}",
                certainty=each.certainty,
                fix=rename(each, program),
            )
        for broken in found.broken:
            report(broken.span, broken.message, certainty=Certainty.POSSIBLE, trace=broken.trace)
