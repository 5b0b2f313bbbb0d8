"""TPU802: a name that the target TensorFlow removed or renamed."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.rules.api_names import absent, first_without, shown
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for each in absent(program):
        if each.gone:
            report(
                each.spelled.span,
                f"`{shown(each.spelled)}` is gone by TensorFlow {first_without(each.spelled)}"
                f"{each.advice}",
                certainty=each.certainty,
                fix=each.fix,
            )
