"""TPU701: `TPUStrategy.run` is reached eagerly, with no tf.function around it."""

from __future__ import annotations

from tpulint.absint.domain.events import Computation
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import step_compiled
from tpulint.finding import HOST_LANE, Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.eager_calls import is_eager, is_traced_function
from tpulint.rules.base import Report, Rule, register


@register
class RunOutsideFunction(Rule):
    code = "TPU701"
    name = "run-outside-function"
    severity = Severity.ERROR
    summary = "TPUStrategy.run in eager mode"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            # A callee that is a tf.function is compiled by itself, whatever is around `run`.
            if computation.kind not in tf_names.RUNS_ON_REPLICAS:
                continue
            is_plain = is_traced_function(computation.callee) is False
            if not is_plain or not is_eager(program, computation):
                continue
            report(
                computation.site.span,
                message(computation),
                certainty=certainty(computation),
                trace=(
                    *traces.calls(
                        HOST_LANE, computation.context._replace(call_chain=()), computation.context
                    ),
                    traces.step(HOST_LANE, computation.site, f"calls `{computation.kind}` eagerly"),
                ),
                fix=step_compiled(computation.callee, computation.site),
            )


def certainty(computation: Computation) -> Certainty:
    """Return how sure it is: the check in TensorFlow came with the name `run`."""
    return computation.certainty if computation.kind == "run" else Certainty.POSSIBLE


def message(computation: Computation) -> str:
    function = traces.callee_name(computation.callee)
    return (
        f"{function} is given to `{computation.kind}` outside a tf.function: a TPUStrategy cannot"
        f" run a step eagerly; call `{computation.kind}` in a tf.function"
    )
