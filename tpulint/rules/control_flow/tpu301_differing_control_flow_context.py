"""TPU301: a host cluster ends in another control-flow context than it started in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tpulint.absint.domain.context import CLEARS, CLUSTER, CONTROL, FUNCTION, STACK
from tpulint.absint.domain.events import Cluster, Computation, ContextChange
from tpulint.diagnostics import traces
from tpulint.queries.certainty import on_tpu_if
from tpulint.rules.base import Program, Report, Rule, Severity, register

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
            computation, host = cluster.computation, traces.callee_name(cluster.callee)
            # In function mode TensorFlow does not compare.
            if computation is None or computation.mode != "graph":
                continue
            for change in unbalanced(computation, cluster):
                if change.change == "enter":
                    does = "enters this control-flow context on the host and never exits it"
                else:
                    does = "exits a control-flow context on the host that it never entered"
                is_always = change.context.reached_whenever(cluster.context)
                report(
                    change.site.span,
                    f"{host} {does}: use `with`",
                    certainty=on_tpu_if(computation, cluster.context, is_always),
                )


def unbalanced(computation: Computation, cluster: Cluster) -> Iterator[ContextChange]:
    """Yield the changes of context in `cluster` that no other change takes back."""
    by_holder: dict[int, list[ContextChange]] = defaultdict(list)
    for change in computation.context_changes:
        # The body of a tf.function has a graph, and thereby contexts, of its own.
        in_function = any(scope.kind == FUNCTION for scope in change.context.since(CLUSTER))
        if change.context.cluster is cluster and not in_function:
            by_holder[id(change.holder)].append(change)
    for changes in by_holder.values():
        entered: list[ContextChange] = []
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
                yield change
        yield from entered
