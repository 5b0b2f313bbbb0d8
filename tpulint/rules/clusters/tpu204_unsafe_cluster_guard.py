"""TPU204: a hand-written guard against nested clusters that does not guard."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.finding import Severity
from tpulint.queries.nesting_guards import COUNTER, Guard, guards
from tpulint.rules.base import Report, Rule, register


@register
class UnsafeClusterGuard(Rule):
    code = "TPU204"
    name = "unsafe-cluster-guard"
    severity = Severity.WARNING
    summary = "a hand-written nesting guard that is wrong"

    def check(self, program: Program, report: Report) -> None:
        for module in program.modules:
            for guard in guards(module):
                report(guard.site.span, message(guard))


def message(guard: Guard) -> str:
    if guard.kind == COUNTER:
        return (
            f"`{guard.name}` is never decremented, so this guard stays set after the first cluster:"
            " test `_outside_compilation_cluster` instead"
        )
    return (
        f"`{guard.name}` stays set if the host function raises: reset it in a `finally`,"
        " or the next trace opens no clusters"
    )
