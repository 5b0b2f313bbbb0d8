"""TPU203: outside_compilation where no TPU computation can be active."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes.clusters import called_in_place
from tpulint.rules.base import Report
from tpulint.rules.tpu203_orphan_clusters import places


def check(program: Program, report: Report) -> None:
    for cluster, place in places(program):
        report(
            cluster.named.span,
            f"outside_compilation has no effect {place}: no TPU computation is active, and"
            f" {traces.callee_name(cluster.callee)} runs as a plain call",
            fix=called_in_place(cluster),
        )
