"""Tests of Python's that ask for the truth of a tensor, where nothing converts them."""

from __future__ import annotations

from tpulint.analysis.domain.events import Effect, Tensor
from tpulint.analysis.domain.values import Choice, Value, options
from tpulint.analysis.interpreter.frame import Frame
from tpulint.syntax.expression_nodes import BoolOperation
from tpulint.syntax.nodes import Expression
from tpulint.syntax.places import first_place

ASKS = "asks"


def note(frame: Frame, test: Value, node: Expression, asks: str, *, converts: bool = True) -> None:
    """Write down that `asks`, a word of Python's, needs the truth of the tensor `test`.

    converts: such a test becomes an operation, where control flow is converted at all.
    """
    if not isinstance(test, (Tensor, Choice)):
        return
    context = frame.context
    if context.muted or not context.on_device or (converts and context.converts_control_flow):
        return
    found = options(test)
    asked = [each for each in found if _is_data(each)]
    if not asked:
        return
    computation = context.computation
    assert computation is not None
    first = isinstance(node, BoolOperation) and asked[0] is found[0]  # `and` asks it first
    site = frame.site(first_place(node))
    sure = first or len(found) == 1
    computation.effects.append(Effect(ASKS, asks, site, context, site, sure))


def _is_data(value: Value) -> bool:
    """Return whether this is a tensor whose value is known at run time only.

    A part of the inputs may be a dict of tensors, which is asked whether it is empty.
    """
    return isinstance(value, Tensor) and value.sort == "tensor" and value.data and value.computed
