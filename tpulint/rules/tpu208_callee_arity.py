"""TPU208: the host function cannot take the arguments that are given with it."""

from __future__ import annotations

from tpulint.finding import Certainty
from tpulint.program import trace
from tpulint.program.arity import misfit
from tpulint.program.model import Program
from tpulint.program.nesting import OPENED_BY_CALL
from tpulint.program.values import options
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for cluster in [*program.clusters(), *program.loose_clusters]:
        if cluster.kind not in OPENED_BY_CALL:
            continue
        callees = options(cluster.callee)
        wrong = [(each, misfit(each, cluster.arguments)) for each in callees]
        said = [(trace.callee_name(each), words) for each, words in wrong if words is not None]
        if not said:
            continue
        sure = len(said) == len(callees) and not cluster.where.is_guess
        name, words = said[0]
        report(
            cluster.named.span,
            f"{name} cannot take what outside_compilation calls it with: {words}",
            certainty=Certainty.DEFINITE if sure else Certainty.POSSIBLE,
        )
