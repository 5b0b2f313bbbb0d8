"""TPU608: a specification, a model_fn or an input_fn has a form that TPUEstimator refuses."""

from __future__ import annotations

from tpulint.analysis.domain.events import MODEL_FN
from tpulint.analysis.domain.program import Program
from tpulint.diagnostics.fixes.estimators import for_tpus
from tpulint.diagnostics.trace_steps import device_path, device_step
from tpulint.finding import Certainty
from tpulint.queries.premises import certainty_at
from tpulint.rules.base import Report
from tpulint.rules.tpu608_params import check_params
from tpulint.rules.tpu608_specifications import pair_fault, plain_specifications

PAIRS = {"eval_metrics": 4, "host_call": 7}  # arguments of TPUEstimatorSpec


def check(program: Program, report: Report) -> None:
    _check_pairs(program, report)
    check_params(program, report)
    for computation, made, sure in plain_specifications(program):
        report(
            made.site.span,
            "`EstimatorSpec` is made here, but evaluation on a TPU requires `TPUEstimatorSpec`,"
            " with `eval_metrics` in place of `eval_metric_ops`",
            certainty=certainty_at(computation, made.context) if sure else Certainty.POSSIBLE,
            trace=device_path(
                computation, made.context, device_step(made.site, "makes the specification")
            ),
            fix=for_tpus(made),
        )


def _check_pairs(program: Program, report: Report) -> None:
    for computation in program.computations:
        if computation.kind != MODEL_FN:
            continue
        for call in computation.calls:
            for kind, position in PAIRS.items() if call.last == "TPUEstimatorSpec" else ():
                given = call.argument(kind, position)
                fault = pair_fault(computation, given.value) if given is not None else None
                if given is not None and fault is not None:
                    sure = not call.context.is_guess
                    report(
                        given.site.span,
                        f"`{kind}` {fault}: TPUEstimator expects a pair of a function and the list"
                        " or dict of tensors that it takes",
                        certainty=certainty_at(computation, call.context)
                        if sure
                        else Certainty.POSSIBLE,
                        trace=device_path(computation, call.context),
                    )
