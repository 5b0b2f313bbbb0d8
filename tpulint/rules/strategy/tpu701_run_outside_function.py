"""TPU701: `TPUStrategy.run` is reached eagerly, with no tf.function around it."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import step_compiled
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.queries.eager_calls import is_eager, is_traced_function
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register


@register
class RunOutsideFunction(Rule):
    code = "TPU701"
    name = "run-outside-function"
    severity = Severity.ERROR
    summary = "TPUStrategy.run in eager mode"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            run, function = computation.kind, computation.callee
            # A callee that is a tf.function is compiled by itself, whatever is around `run`.
            if run not in tf_names.RUNS_ON_REPLICAS or is_traced_function(function) is not False:
                continue
            if is_eager(program, computation):
                report(
                    computation.site.span,
                    f"{traces.callee_name(function)} is given to `{run}` outside a tf.function: a"
                    f" TPUStrategy cannot run a step eagerly; call `{run}` in a tf.function",
                    # The check in TensorFlow came with the name `run`.
                    certainty=computation.certainty if run == "run" else Certainty.POSSIBLE,
                    trace=traces.host_path(computation, f"calls `{run}` eagerly"),
                    fix=step_compiled(function, computation.site),
                )
