"""TPU608: a specification, a model_fn or an input_fn has a form that TPUEstimator refuses."""

from __future__ import annotations

from tpulint.analysis.domain.arity import signature_of
from tpulint.analysis.domain.events import MODEL_FN, Context
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.program import Feed, Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Partial, Value, options
from tpulint.diagnostics import traces
from tpulint.finding import Certainty
from tpulint.rules.base import Report
from tpulint.rules.tpu608_specifications import pair_fault, plain_specifications
from tpulint.rules.trace_steps import device, way

PAIRS = {"eval_metrics": 4, "host_call": 7}  # arguments of TPUEstimatorSpec


def check(program: Program, report: Report) -> None:
    _check_pairs(program, report)
    _check_params(program, report)
    for computation, made, sure in plain_specifications(program):
        report(
            made.site.span,
            "`EstimatorSpec` is made here, but evaluation on a TPU requires `TPUEstimatorSpec`,"
            " with `eval_metrics` in place of `eval_metric_ops`",
            certainty=computation.certainty if sure else Certainty.POSSIBLE,
            trace=way(computation, made.context, device(made.site, "makes the specification")),
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
                        f"`{kind}` {fault}: it is a pair of a function and the list or dict of"
                        " tensors that it takes",
                        certainty=computation.certainty if sure else Certainty.POSSIBLE,
                        trace=way(computation, call.context),
                    )


def _check_params(program: Program, report: Report) -> None:
    for computation in program.computations:
        given = computation.call.argument("model_fn", 0)
        if computation.call.last == "TPUEstimator" and given is not None:
            _check_function("model_fn", computation.callee, computation.context, given.site, report)
    for feed in program.feeds:
        if isinstance(feed.owner, ExternalObject) and feed.function is not None:
            _check_function("input_fn", feed.function, feed.context, _named(program, feed), report)


def _named(program: Program, feed: Feed) -> Site:
    """The argument of `train` and its kin that is the input function, else the whole call."""
    call = next((each for each in program.at.get(feed.site, ()) if each.last == feed.kind), None)
    given = call.argument("input_fn", 0) if call is not None else None
    return given.site if given is not None else feed.site


def _check_function(
    kind: str, function: Value, context: Context, site: Site, report: Report
) -> None:
    if all(map(lacks_params, options(function))):
        report(
            site.span,
            f"{traces.callee_name(function)} is given as `{kind}` but takes no `params`, in which"
            " TPUEstimator passes the batch size",
            certainty=Certainty.POSSIBLE if context.is_guess else Certainty.DEFINITE,
        )


def lacks_params(function: Value) -> bool:
    """Return whether TPUEstimator finds no `params` among the arguments (`_call_input_fn`)."""
    if isinstance(function, Partial):
        return False  # what it fixes counts as absent, and its function may be seen only in part
    signature = signature_of(function)
    if signature is None or any(
        each.kind is each.VAR_KEYWORD for each in signature.parameters.values()
    ):
        return False
    return "params" not in signature.parameters
