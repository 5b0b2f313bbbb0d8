"""TPU802: a name that the target TensorFlow removed or renamed."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics.renames import advice, rename, shown
from tpulint.finding import Certainty
from tpulint.queries.absent_names import Absent, absent, first_without
from tpulint.rules.base import Report
from tpulint.rules.tpu802_open_requirements import by_requirement, is_grouped


def check(program: Program, report: Report) -> None:
    grouped: list[Absent] = []
    for each in absent(program):
        if not each.gone:
            continue
        if is_grouped(each):
            grouped.append(each)
            continue
        report(
            each.spelled.span,
            f"`{shown(each.spelled)}` no longer exists in TensorFlow {first_without(each.spelled)}"
            f"{advice(each)}",
            certainty=each.certainty,
            fix=rename(each, program),
        )
    for broken in by_requirement(grouped):
        report(broken.span, broken.message, certainty=Certainty.POSSIBLE, trace=broken.trace)
