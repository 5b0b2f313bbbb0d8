"""Find the strategy that a method is called on."""

from __future__ import annotations

from tpulint.analysis.domain.values import Opaque, Strategy, Value


def strategy_of(receiver: Value | None) -> Strategy | None:
    """Return the strategy that `receiver` is, or that something unknown is by what it ran."""
    if isinstance(receiver, Strategy):
        return receiver
    if isinstance(receiver, Opaque):
        whole = receiver.parent if receiver.last == "extended" else receiver
        known = whole.taken_for.get(Strategy) if whole is not None else None
        return known if isinstance(known, Strategy) else None
    return None
