"""TPU301: a host cluster ends in another control-flow context than it started in."""

from __future__ import annotations

from collections import defaultdict

from tpulint.absint.domain.context import CLEARS, CONTROL, STACK
from tpulint.absint.domain.events import Cluster, ContextChange
from tpulint.diagnostics import traces
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import on_tpu_if
from tpulint.rules.base import Report, Rule, register

# An unreferenced `init_scope` is left when it is collected; dependencies change no context.
CHANGES = frozenset([CLEARS, CONTROL])


@register
class DifferingControlFlowContext(Rule):
    code = "TPU301"
    name = "differing-control-flow-context"
    severity = Severity.ERROR
    summary = "a host cluster ends in another control-flow context than it started in"

    def check(self, program: Program, report: Report) -> None:
        for cluster in program.clusters():
            for change in unbalanced(cluster):
                host = traces.callee_name(cluster.callee)
                if change.change == "enter":
                    message = (
                        f"{host} enters this control-flow context on the host and never exits it:"
                        " use `with`"
                    )
                else:
                    message = (
                        f"{host} exits a control-flow context on the host that it never entered:"
                        " use `with`"
                    )
                report(change.site.span, message, certainty=_certainty(cluster, change))


def unbalanced(cluster: Cluster) -> list[ContextChange]:
    """Return the changes of context in `cluster` that no other change takes back."""
    computation = cluster.computation
    assert computation is not None
    if computation.mode != "graph":
        return []
    by_holder: dict[int, list[ContextChange]] = defaultdict(list)
    for change in computation.context_changes:
        # The body of a tf.function has a graph, and thereby contexts, of its own.
        if change.context.cluster is cluster and not _is_function(change):
            by_holder[id(change.holder)].append(change)
    return [change for changes in by_holder.values() for change in _unmatched_changes(changes)]


def _is_function(change: ContextChange) -> bool:
    """In a tf.function TensorFlow does not compare."""
    return any(scope.kind == "function" for scope in change.context.since("cluster"))


def _unmatched_changes(changes: list[ContextChange]) -> list[ContextChange]:
    """Return the changes of one holder that nothing undoes; a stack leaves all it holds."""
    entered: list[ContextChange] = []
    left: list[ContextChange] = []
    for change in changes:
        if change.change == "enter":
            if change.effect in CHANGES:
                entered.append(change)
        # `ExitStack.close` leaves all that was entered.
        elif change.effect == STACK:
            entered.clear()
        elif entered:
            entered.pop()
        elif change.effect in CHANGES:
            left.append(change)
    return entered + left


def _certainty(cluster: Cluster, change: ContextChange) -> Certainty:
    assert cluster.computation is not None
    return on_tpu_if(
        cluster.computation, cluster.context, change.context.reached_whenever(cluster.context)
    )
