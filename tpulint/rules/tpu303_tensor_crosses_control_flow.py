"""TPU303: a tensor of a branch or a loop body is used outside it."""

from __future__ import annotations

from tpulint.finding import Certainty, Step
from tpulint.program.model import Computation, Program, Use
from tpulint.program.where import COND, WHILE, Layer
from tpulint.rules.base import Report
from tpulint.rules.ways import device, way

PLACES = {COND: "a branch", WHILE: "a loop's body"}


def check(program: Program, report: Report) -> None:
    for computation in program.computations:
        for use in computation.uses:
            layer = _ended(use)
            # Python's own `if` and `for` carry what they assign.
            if layer is None or layer.kind not in PLACES or layer.autograph or use.alternative:
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
    made = use.tensor.site
    steps = [] if made is None else [device(made, f"is made in {PLACES[layer.kind]}")]
    return way(computation, use.where, *steps, device(use.site, "is used outside it"))


def _ended(use: Use) -> Layer | None:
    """The outermost layer of the tensor's home that has ended where it is used."""
    around = {id(layer) for layer in use.where.layers}
    home = use.tensor.made
    layers = home.layers if home is not None else ()
    kinds = (COND, WHILE, "computation", "cluster", "function")
    ended = [each for each in layers if each.kind in kinds and id(each) not in around]
    return ended[0] if ended else None
