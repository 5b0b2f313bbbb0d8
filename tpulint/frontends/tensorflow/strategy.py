"""The value of a distribution strategy, and the strategy under whose scope a place is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tpulint.absint.domain.context import BaseContext
from tpulint.absint.domain.objects import ContextManagerValue
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, Opaque, Value

# Effects of blocks that strategies open.
SCOPE = "strategy scope"
OTHER_STRATEGY = "another strategy"
EACH_REPLICA = "what each replica runs, though no computation is built"
CROSS_REPLICA = "the cross-replica context of merge_call"
# An attribute of resolvers that is no name of Python's: the hosts that it is asked for.
HOSTS = "hosts of the TPU"


@dataclass(eq=False, slots=True)
class Strategy(Value):
    """A distribution strategy: `kind` is "tpu", "other" or "unknown"; `resolver` names a TPU.

    made: where. used: the answer to whether this is the strategy that the program runs on.
    """

    is_true: ClassVar[bool] = True
    kind: str
    site: Site | None
    path: str = ""
    resolver: Value = NONE
    made: BaseContext | None = None
    used: Opaque = field(default_factory=lambda: Opaque("TPUStrategy"))

    @property
    def is_object(self) -> bool:
        return True

    def is_same(self, other: Value) -> bool:
        """Return whether neither is a TPU's: projects choose among many, and which is no matter."""
        return isinstance(other, Strategy) and self.kind == other.kind == "other"

    def __repr__(self) -> str:
        return f"strategy of kind {self.kind}"


def is_of_tpu(value: object) -> bool:
    """Return whether this is the strategy of a TPU, or its scope."""
    if isinstance(value, ContextManagerValue) and value.effect == SCOPE:
        value = value.payload
    return isinstance(value, Strategy) and value.kind == "tpu"


def scope_strategy(context: BaseContext | None) -> Strategy | None:
    """Return the strategy under whose scope `context` is."""
    scope = next(iter(context.with_blocks(SCOPE, "")), None) if context is not None else None
    payload = scope.payload if scope is not None else None
    return payload if isinstance(payload, Strategy) else None
