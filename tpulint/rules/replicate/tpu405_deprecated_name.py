"""TPU405: `name=` given to the replicate family, where it does nothing."""

from __future__ import annotations

from tpulint.absint.domain.values import NONE
from tpulint.diagnostics.fixes import without_argument
from tpulint.queries.entry_calls import certainty_if, replicate_calls
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import (
    Await,
    CallNode,
    Comprehension,
    NamedExpression,
    Yield,
    YieldFrom,
    walk,
)

ACTS = (CallNode, Await, Yield, YieldFrom, NamedExpression, Comprehension)


@register
class DeprecatedName(Rule):
    code = "TPU405"
    name = "deprecated-name"
    severity = Severity.WARNING
    summary = "name= does nothing"
    fixes = (Applicability.SAFE, Applicability.UNSAFE)

    def check(self, program: Program, report: Report) -> None:
        for entry in replicate_calls(program):
            name = entry.call.argument("name")
            if name is None or name.value == NONE:
                continue
            # The value may do something when it is computed, which would be lost.
            acts = name.node is not None and any(isinstance(it, ACTS) for it in walk(name.node))
            kind = Applicability.UNSAFE if acts else Applicability.SAFE
            report(
                name.site.span,
                f"`name=` has no effect in `{entry.kind}`: remove it",
                certainty=certainty_if(entry),
                fix=without_argument(entry.call.site, name.keyword, "drop `name=`", kind),
            )
