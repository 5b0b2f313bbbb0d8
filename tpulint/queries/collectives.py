"""Find collectives under traced control flow, and the condition that decides on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.absint.domain.context import Scope
from tpulint.absint.domain.events import ApiCall, Computation, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.properties import uniform
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import Const, Value, options
from tpulint.frontends.tensorflow.knowledge import naming, seam
from tpulint.frontends.tensorflow.program import Program
from tpulint.ordering.truth import Truth

# Keras' way to say that gradients are already summed, in older and newer releases.
ALONE = {"experimental_aggregate_gradients": False, "skip_gradients_aggregation": True}


def under_control(program: Program) -> Iterator[tuple[Computation, ApiCall, tuple[Scope, ...]]]:
    """Yield collectives of device code, each with the traced control flow around it."""
    for computation in program.computations:
        for call in computation.calls:
            scopes = call.context.control()
            if scopes and call.context.on_device and synchronizes(computation, call):
                yield computation, call, scopes


def synchronizes(computation: Computation, call: ApiCall) -> bool:
    """Return whether replicas wait for one another in `call`."""
    if call.last in seam.COLLECTIVES:
        return True
    if call.last not in ("apply_gradients", "minimize"):
        return False
    # With either argument the caller has summed the gradients itself.
    alone = any(
        argument.keyword in ALONE and argument.value == Const(ALONE[argument.keyword])
        for argument in call.arguments
    )
    wrapped = isinstance(call.receiver, ExternalObject) and naming.CROSS_SHARD.is_in(
        call.receiver.path
    )
    # A strategy's `apply_gradients` sums the gradients itself (optimizer_v2.py).
    return wrapped or (computation.kind in seam.STRATEGY_RUN and not alone)


def deciding(scopes: Iterable[Scope]) -> list[Tensor | Variable]:
    """Return the tensors and variables that decide on traced control flow."""
    deciders: list[Tensor | Variable] = []
    for scope in scopes:
        payload = scope.payload
        if not isinstance(payload, Value):
            continue
        parts: list[Tensor | Variable] = [
            option for option in options(payload) if isinstance(option, Variable)
        ]
        deciders += [*parts, *tensors(payload)]
    return deciders


def alike(decider: Tensor | Variable) -> Truth:
    """Return whether all replicas have the same of it."""
    if uniform([decider]):
        return Truth.YES
    has_own = isinstance(decider, Tensor) and decider.per_replica
    return Truth.NO if has_own else Truth.MAYBE
