"""TPU303: a tensor of a branch or a loop body is used outside it."""

from __future__ import annotations

from tpulint.absint.domain.context import COND, LOOP, WHILE, Scope
from tpulint.absint.domain.events import Use
from tpulint.diagnostics.traces import device_path, device_step, in_calls
from tpulint.finding import DEVICE_LANE, Step
from tpulint.queries.certainty import definite_if, is_in_every_trace
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

PLACES = {COND: "a branch", WHILE: "a loop's body"}


@register
class TensorCrossesControlFlow(Rule):
    code = "TPU303"
    name = "tensor-crosses-control-flow"
    severity = Severity.ERROR
    summary = "a tensor of a branch or a loop body is used outside it"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            for use in computation.uses:
                scope, place = _left_scope(use), use.tensor.site
                # Python's own `if` and `for` carry what they assign.
                if scope.kind not in PLACES or scope.converted or use.alternative:
                    continue
                # `if a: x = f()` and later `if a: g(x)`: no run takes the one without the other.
                if place is None or is_exclusive(use):
                    continue
                culprit = in_calls(computation.calls, use.site, use.tensor)
                report(
                    culprit.span,
                    f"{culprit.called('this tensor')} is made in {PLACES[scope.kind]} and used"
                    " outside it: return it from there",
                    certainty=definite_if(
                        use.certainty is Certainty.DEFINITE,
                        not use.context.is_guess,
                        is_in_every_trace(computation, use.context),
                    ),
                    trace=device_path(
                        computation,
                        use.context,
                        device_step(place, f"is made in {PLACES[scope.kind]}"),
                        Step(DEVICE_LANE, culprit.span, "is used outside it"),
                    ),
                )


def is_exclusive(use: Use) -> bool:
    """Return whether one Python test leads each run to the tensor's home or to its use."""
    assert use.tensor.made is not None
    home, used = use.tensor.made, use.context
    if any(scope.kind == LOOP and scope in used.scopes for scope in home.scopes):
        return False  # another round may go the other way
    taken = dict(home.conditions)
    return any(taken.get(key, branch) != branch for key, branch in used.conditions)


def _left_scope(use: Use) -> Scope:
    """Return the outermost scope of the tensor's home that has ended where it is used."""
    assert use.tensor.made is not None
    around = {id(scope) for scope in use.context.scopes}
    kinds = (COND, WHILE, "computation", "cluster", "function")
    scopes = use.tensor.made.scopes
    return next(scope for scope in scopes if scope.kind in kinds and id(scope) not in around)
