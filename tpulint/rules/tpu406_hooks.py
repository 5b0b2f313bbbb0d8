"""The hooks of a TPUEstimatorSpec."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Argument, Computation
from tpulint.analysis.domain.objects import Sequence
from tpulint.analysis.domain.values import Value

HOOKS = ("training_hooks", "evaluation_hooks", "prediction_hooks")


def hooks_of_spec(computation: Computation) -> Iterator[ApiCall]:
    """The calls that made the hooks of a TPUEstimatorSpec, which run outside the computation."""
    for number, spec in enumerate(computation.calls):
        if spec.last != "TPUEstimatorSpec":
            continue
        hooks = [each for name in HOOKS for each in _items(spec.argument(name))]
        # Later calls may add to the same list, where no TPU is meant.
        for call in computation.calls[:number]:
            if call.last.endswith("Hook") and any(call.result is each for each in hooks):
                yield call


def _items(argument: Argument | None) -> list[Value]:
    if argument is None or not isinstance(argument.value, Sequence):
        return []
    return argument.value.items
