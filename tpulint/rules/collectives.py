"""Find collectives under traced control flow, and the condition that decides on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.analysis.domain.context import Layer
from tpulint.analysis.domain.program import ApiCall, Computation, Program
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import Built, Const, Tensor, Value, Variable, options
from tpulint.finding import Step
from tpulint.knowledge import seam
from tpulint.rules.trace_steps import device, way

# Keras' way to say that gradients are already summed, in older and newer releases.
ALONE = {"experimental_aggregate_gradients": False, "skip_gradients_aggregation": True}


def under_control(program: Program) -> Iterator[tuple[Computation, ApiCall, tuple[Layer, ...]]]:
    """Collectives of device code, each with the traced control flow around it."""
    for computation in program.computations:
        for call in computation.calls:
            layers = call.where.control()
            if layers and call.where.on_device and synchronizes(computation, call):
                yield computation, call, layers


def synchronizes(computation: Computation, call: ApiCall) -> bool:
    """Return whether replicas wait for one another in `call`."""
    if call.last in seam.COLLECTIVES:
        return True
    if call.last not in ("apply_gradients", "minimize"):
        return False
    alone = any(
        each.keyword in ALONE and each.value == Const(ALONE[each.keyword])
        for each in call.arguments
    )
    wrapped = isinstance(call.receiver, Built) and "CrossShard" in call.receiver.path
    return wrapped or (computation.kind in seam.STRATEGY_RUN and not alone)


def deciding(layers: Iterable[Layer]) -> list[Tensor | Variable]:
    """The tensors and variables that decide, but for those that all replicas have alike."""
    found: list[Tensor | Variable] = []
    for layer in layers:
        payload: Value | None = layer.payload
        if payload is None:
            continue
        found += [each for each in options(payload) if isinstance(each, Variable)]
        found += [each for each in tensors(payload) if not each.uniform]
    return found


def differs(decider: Tensor | Variable) -> bool:
    """Return whether each replica has its own of it."""
    return isinstance(decider, Tensor) and decider.per_replica


def told(computation: Computation, call: ApiCall, layers: tuple[Layer, ...]) -> tuple[Step, ...]:
    """The conditions on the way to a collective, and the wait."""
    decides = [device(layer.site, "decides whether what follows is reached") for layer in layers]
    waits = device(call.site, f"`{call.last}` waits for every replica")
    return way(computation, call.where, *decides, waits)
