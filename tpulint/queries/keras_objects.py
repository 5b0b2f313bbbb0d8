"""Classify Keras objects, and find those that have their variables already."""

from __future__ import annotations

from tpulint.analysis.domain.events import Tensor, Variable
from tpulint.analysis.domain.objects import ExternalObject, Sequence
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Const, Value
from tpulint.knowledge.strategies import (
    INPUT_SHAPES,
    INPUTS,
    MAKE_VARIABLES,
    MODELS_WITH_VARIABLES,
)

NO_MOMENTUM = (Const(0), Const(0.0))


def is_optimizer(value: Value | None) -> bool:
    if not isinstance(value, ExternalObject):
        return False
    return ".optimizers." in value.path and "keras" in value.path and value.last[:1].isupper()


def has_slots(optimizer: Value) -> bool:
    """Return whether the optimizer makes variables beside the model's; plain SGD does not."""
    assert isinstance(optimizer, ExternalObject)
    if optimizer.last != "SGD":
        return True
    momentum = dict(optimizer.arguments).get("momentum", Const(0))
    return momentum not in NO_MOMENTUM


def has_variables(program: Program, weights: Variable) -> bool:
    """Return whether the model or layer of `weights` has them before the step, not in it."""
    call = next(iter(program.at.get(weights.site, ())), None) if weights.site else None
    if call is None:
        return False
    if ".applications." in call.path or call.last in MODELS_WITH_VARIABLES:
        return True
    if call.last == "Model":
        return len(call.arguments) >= 2
    if call.last == "Sequential" and call.arguments and _begins_with_input(call.arguments[0].value):
        return True
    return any(
        each.receiver is call.result
        for name in MAKE_VARIABLES
        for each in program.named.get(name, ())
    )


def _begins_with_input(layers: Value) -> bool:
    """Return whether the first of the layers says the shape of its input."""
    first = layers.items[0] if isinstance(layers, Sequence) and layers.items else None
    if isinstance(first, Tensor):
        return True  # `Input(...)`
    if not isinstance(first, ExternalObject):
        return False
    return first.last in INPUTS or any(keyword in INPUT_SHAPES for keyword, _ in first.arguments)
