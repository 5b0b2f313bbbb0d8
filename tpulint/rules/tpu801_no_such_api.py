"""TPU801: a name, or a keyword, that the target TensorFlow does not have."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics.broken_requirements import grouped
from tpulint.diagnostics.renames import advice, rename, shown
from tpulint.finding import Certainty
from tpulint.knowledge import names
from tpulint.queries.absent_names import Absent, absent, first_with, newest
from tpulint.queries.targets import target_at
from tpulint.rules.base import Report
from tpulint.rules.tpu801_keywords import (
    corrected,
    is_guessed_call,
    release_of,
    unknown_keywords,
)

PACKAGE = "tensorflow."


def check(program: Program, report: Report) -> None:
    found = grouped(each for each in absent(program) if not each.gone)
    for each in found.single:
        report(
            each.spelled.span,
            f"`{shown(each.spelled)}` {_why(each)}{advice(each)}",
            certainty=each.certainty,
            fix=rename(each, program),
        )
    for broken in found.broken:
        report(broken.span, broken.message, certainty=Certainty.POSSIBLE, trace=broken.trace)
    for call in program.all_calls():
        keyed = call.path.startswith(PACKAGE) and any(each.keyword for each in call.arguments)
        if keyed and names.parameters(call.path):
            target = target_at(program, call.site, call.path)
            sure = Certainty.POSSIBLE if is_guessed_call(call, target) else Certainty.DEFINITE
            for argument, near in unknown_keywords(call, target):
                meant = f"; did you mean `{near}`?" if near else ""
                takes = f"`{call.last}` takes no `{argument.keyword}`"
                report(
                    argument.site.span,
                    f"{takes} {release_of(call, target)}{meant}",
                    certainty=sure,
                    fix=corrected(argument, near) if near else None,
                )


def _why(absent: Absent) -> str:
    if not absent.spelled.having:
        return "does not exist in any release of TensorFlow"
    return (
        f"does not exist yet in TensorFlow {newest(absent.spelled.target.mask)}"
        f" ({first_with(absent.spelled)} has it)"
    )
