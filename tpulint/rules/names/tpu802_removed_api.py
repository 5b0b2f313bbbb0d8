"""TPU802: a name that the target TensorFlow removed or renamed."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics.broken_requirements import grouped
from tpulint.diagnostics.renames import advice, rename, shown
from tpulint.finding import Certainty
from tpulint.queries.absent_names import absent, first_without
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    found = grouped(each for each in absent(program) if each.gone)
    for each in found.single:
        report(
            each.spelled.span,
            f"`{shown(each.spelled)}` no longer exists in TensorFlow {first_without(each.spelled)}"
            f"{advice(each)}",
            certainty=each.certainty,
            fix=rename(each, program),
        )
    for broken in found.broken:
        report(broken.span, broken.message, certainty=Certainty.POSSIBLE, trace=broken.trace)
