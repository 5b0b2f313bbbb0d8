"""TPU208: the host function cannot take the arguments that are given with it."""

from __future__ import annotations

from tpulint.analysis.domain.arity import misfit
from tpulint.analysis.domain.program import Program
from tpulint.queries.nesting import OPENED_BY_CALL
from tpulint.rules.base import Report
from tpulint.rules.callable_arity import misfit_in


def check(program: Program, report: Report) -> None:
    for cluster in [*program.clusters(), *program.loose_clusters]:
        wrong = misfit_in(cluster, misfit) if cluster.kind in OPENED_BY_CALL else None
        if wrong is not None:
            report(
                cluster.named.span,
                f"{wrong.name} does not accept the arguments of outside_compilation: {wrong.words}",
                certainty=wrong.certainty,
            )
