"""Functions that take no `params`."""

from __future__ import annotations

from tpulint.analysis.domain.arity import signature_of
from tpulint.analysis.domain.events import Context
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.program import Feed, Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Partial, Value, options
from tpulint.diagnostics import traces
from tpulint.finding import Certainty
from tpulint.rules.base import Report


def check_params(program: Program, report: Report) -> None:
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
