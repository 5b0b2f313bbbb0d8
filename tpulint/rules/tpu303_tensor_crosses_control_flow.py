"""TPU303: a tensor of a branch or a loop body is used outside it."""

from __future__ import annotations

from tpulint.analysis.domain.context import COND, WHILE, Layer
from tpulint.analysis.domain.program import Computation, Program, Use
from tpulint.finding import Certainty, Step
from tpulint.rules.base import Report
from tpulint.rules.trace_steps import device, way

PLACES = {COND: "a branch", WHILE: "a loop's body"}


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        for use in computation.uses:
            layer = _ended(use)
            # Python's own `if` and `for` carry what they assign.
            if layer.kind not in PLACES or layer.autograph or use.alternative:
                continue
            sure = computation.certainty
            if use.where.is_guess or use.certainty is Certainty.POSSIBLE:
                sure = Certainty.POSSIBLE
            report(
                use.site.span,
                f"a tensor that is made in {PLACES[layer.kind]} is used outside it: return it "
                "from there",
                certainty=sure,
                trace=_told(computation, use, layer),
            )


def _told(computation: Computation, use: Use, layer: Layer) -> tuple[Step, ...]:
    assert use.tensor.site is not None
    made = device(use.tensor.site, f"is made in {PLACES[layer.kind]}")
    return way(computation, use.where, made, device(use.site, "is used outside it"))


def _ended(use: Use) -> Layer:
    """The outermost layer of the tensor's home that has ended where it is used."""
    assert use.tensor.made is not None
    around = {id(layer) for layer in use.where.layers}
    kinds = (COND, WHILE, "computation", "cluster", "function")
    layers = use.tensor.made.layers
    return next(each for each in layers if each.kind in kinds and id(each) not in around)
