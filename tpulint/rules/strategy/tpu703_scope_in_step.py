"""TPU703: `strategy.scope()` is entered inside the step, or again around each step of a loop."""

from __future__ import annotations

from tpulint.absint.domain.context import LOOP, UNSEEN, WHILE, WITH, Scope
from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.site import Site
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import without_scope
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.strategy import SCOPE, Strategy, is_of_tpu
from tpulint.queries.certainty import definite_if
from tpulint.queries.eager_calls import is_built_in_graph, may_be_tpus
from tpulint.queries.strategies import is_on_replica, strategy_of
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import For, While, walk


@register
class ScopeInStep(Rule):
    code = "TPU703"
    name = "scope-in-step"
    severity = Severity.WARNING
    summary = "strategy.scope() inside the step"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind not in tf_names.RUNS_ON_REPLICAS:
                continue
            for call in computation.calls:
                context = call.context
                strategy = strategy_of(call.receiver) if call.last == "scope" else None
                if strategy is not None and context.on_device and is_on_replica(context):
                    report(
                        call.site.span,
                        "`strategy.scope()` is entered in the function given to `run`, where a"
                        " replica cannot enter it: create the variables before the step",
                        # No strategy lets a replica enter its scope, not only a TPU's.
                        certainty=definite_if(
                            not context.with_blocks(UNSEEN), not context.is_guess
                        ),
                        trace=traces.path_to(computation, call, "enters the scope on a replica"),
                        fix=without_scope(call.site),
                    )
            for scope, loop in scopes_in_loops(computation):
                is_certain_scope = is_of_tpu(scope.payload) and not scope.is_uncertain
                is_sure = is_certain_scope and not computation.context.is_guess
                report(
                    scope.site.span,
                    "`strategy.scope()` is entered again around each step of this loop: enter it"
                    " once, where variables are created; `run` needs no scope",
                    certainty=computation.certainty if is_sure else Certainty.POSSIBLE,
                    trace=(
                        traces.host_step(loop.site, "for each step"),
                        traces.host_step(scope.site, "enters the scope again"),
                        traces.host_step(computation.site, f"calls `{computation.kind}` in it"),
                    ),
                    fix=without_scope(scope.site),
                )


def scopes_in_loops(computation: Computation) -> list[tuple[Scope, Scope]]:
    """Scopes around the `run`, each with the Python loop that enters it again for each step.

    A scope with a loop of its own is entered once for many steps; so is one around a `fit`.
    """
    is_run = computation.call.last in tf_names.RUNS_ON_REPLICAS
    if not is_run or is_built_in_graph(computation) or not may_be_tpus(computation):
        return []
    pairs: list[tuple[Scope, Scope]] = []
    loop: Scope | None = None
    for scope in computation.context.scopes:
        # A scope outside the innermost loop is entered once for all of its steps.
        if scope.kind in (LOOP, WHILE):
            loop, pairs = scope, []
        elif scope.kind == WITH and scope.effect == SCOPE and loop is not None:
            strategy = scope.payload
            created = strategy.made if isinstance(strategy, Strategy) else None
            # Where each round makes a strategy of its own, that has one scope.
            is_of_round = created is not None and loop in created.scopes
            if not is_of_round and is_written_in(loop.site, scope.site):
                pairs.append((scope, loop))
    return pairs


def is_written_in(outer: Site, inner: Site) -> bool:
    """Return whether `inner` is in the loop at `outer`, in the same function."""
    module = outer.module
    loop = module.node_at(outer.place, For) or module.node_at(outer.place, While)
    nodes = walk(loop) if loop is not None and module is inner.module else ()
    return any(getattr(node, "place", None) == inner.place for node in nodes)
