"""TPU203: outside_compilation where no TPU computation can be active."""

from __future__ import annotations

from tpulint.program import trace
from tpulint.program.loose import places
from tpulint.program.model import Program
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for cluster, place in places(program):
        report(
            cluster.named.span,
            f"outside_compilation has no effect {place}: no TPU computation is active, and"
            f" {trace.callee_name(cluster.callee)} is simply called",
        )
