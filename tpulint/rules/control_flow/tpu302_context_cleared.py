"""TPU302: outside_compilation where the TPU context has been cleared."""

from __future__ import annotations

from collections import defaultdict

from tpulint.absint.domain.context import CLEARS, COMPUTATION, INIT_SCOPE, WITH, Scope
from tpulint.absint.domain.events import Cluster
from tpulint.absint.domain.site import Site
from tpulint.diagnostics.traces import device_path, device_step
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.device_code import OPENED_BY_CALL
from tpulint.rules.base import Program, Report, Rule, Severity, register

NAMES = {CLEARS: "tf.control_dependencies(None)", INIT_SCOPE: "tf.init_scope()"}


@register
class ContextCleared(Rule):
    code = "TPU302"
    name = "context-cleared"
    severity = Severity.WARNING
    summary = "outside_compilation where the TPU context has been cleared"

    def check(self, program: Program, report: Report) -> None:
        by_call: dict[Site, list[Cluster]] = defaultdict(list)
        for cluster in program.clusters():
            if cluster.kind in OPENED_BY_CALL:
                # A site opens a cluster in each context in which it is read: all must be cleared.
                by_call[cluster.named].append(cluster)
        for site, clusters in by_call.items():
            clearing = [_clearing_scope(cluster) for cluster in clusters]
            by = [
                (cluster, scope) for cluster, scope in zip(clusters, clearing, strict=True) if scope
            ]
            if not by:
                continue
            cluster, cleared = by[0]
            assert cluster.computation is not None
            name = NAMES[cleared.effect]
            report(
                site.span,
                f"`{name}` has cleared the TPU context: the function runs in "
                "place, outside the computation; call it outside this block",
                certainty=definite_if(*map(_is_certain, clusters, clearing)),
                trace=device_path(
                    cluster.computation,
                    cluster.context,
                    device_step(cleared.site, f"`{name}` clears the TPU context"),
                    device_step(cluster.site, "finds no TPU context"),
                ),
            )


def _is_certain(cluster: Cluster, cleared: Scope | None) -> bool:
    """Return whether one of the clusters that a call opens certainly has lost its context."""
    assert cluster.computation is not None
    is_cleared = cleared is not None and not cleared.is_uncertain
    return is_cleared and is_on_tpu(cluster.computation, cluster.context)


def _clearing_scope(cluster: Cluster) -> Scope | None:
    """Return the context between the computation and the call that clears the computation's."""
    around = (scope for scope in cluster.context.since(COMPUTATION) if scope.kind == WITH)
    return next((scope for scope in around if scope.effect in NAMES), None)
