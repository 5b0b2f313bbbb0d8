"""TPU715: a TPU computation is built in a tf.function made of a lambda, and gets a name of it."""

from __future__ import annotations

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.objects import RENAMED, TracedCall
from tpulint.absint.domain.site import Site
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import named
from tpulint.frontends.tensorflow.knowledge.strategies import RUNS_EAGERLY
from tpulint.queries.eager_calls import may_be_other_function, may_be_tpus
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import Comprehension

# Each makes a graph of its own, and the innermost gives the computation its name; in another
# computation or in a host cluster, the error is another rule's.
GRAPHS = frozenset(
    [scopes.FUNCTION, scopes.COND, scopes.WHILE, scopes.DATA, scopes.COMPUTATION, scopes.CLUSTER]
)
OTHER_GRAPHS = (scopes.GRAPH, scopes.INIT_SCOPE, scopes.AFTER_RETURN)


@register
class FunctionOfLambda(Rule):
    code = "TPU715"
    name = "function-of-lambda"
    severity = Severity.ERROR
    summary = "a tf.function made of a lambda that builds a TPU computation"
    fixes = (Applicability.SAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            context = computation.context
            # The innermost of the graphs around it; None where another one is, or it is not seen.
            graphs = (scope.payload for scope in reversed(context.scopes) if scope.kind in GRAPHS)
            call = next(graphs, None)
            if not isinstance(call, TracedCall) or RENAMED in call.function.hints:
                continue
            if any(context.with_blocks(effect, scopes.FUNCTION) for effect in OTHER_GRAPHS):
                continue
            # framework/ops.py: `<` and `>` are refused in the name of a root scope.
            if call.function.code.is_lambda and may_be_tpus(computation):
                site = Site(call.function.module, call.function.code.place)
                report(
                    site.span,
                    f"the tf.function of this lambda calls `{computation.kind}`, so the TPU"
                    " computation gets the invalid name `cluster_<lambda>`: use a named function"
                    " instead",
                    certainty=certainty(program, computation, call),
                    trace=traces.host_path(
                        computation, "names the TPU computation after the lambda"
                    ),
                    fix=named(site),
                )


def certainty(program: Program, computation: Computation, call: TracedCall) -> Certainty:
    """Return the certainty: there may be a graph between the two that the analysis does not see."""
    context = computation.context
    is_uncertain = (
        context.with_blocks(scopes.DECORATED, scopes.FUNCTION)
        or context.with_blocks(scopes.UNSEEN, scopes.FUNCTION)
        or context.hides_faults
        or may_be_converted(computation, call)
        or may_be_other_function(computation)
        or program.named_any(RUNS_EAGERLY)
    )
    return Certainty.POSSIBLE if is_uncertain else computation.certainty


def may_be_converted(computation: Computation, call: TracedCall) -> bool:
    """Return whether a test or a loop of Python's is between the tf.function and the computation.

    On a tensor, autograph makes a graph of it.
    """
    context = computation.context
    loops = [scope for scope in context.since(scopes.FUNCTION) if scope.kind == scopes.LOOP]
    if not all(loop.site.module.node_at(loop.site.place, Comprehension) for loop in loops):
        return True
    return any(
        key.kind in (scopes.PLACE, scopes.VALUE) for key, _ in context.forks - call.conditions
    )
