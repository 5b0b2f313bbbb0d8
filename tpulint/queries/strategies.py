"""Find the strategy that a method is called on, and whether a replica calls it."""

from __future__ import annotations

from tpulint.analysis.domain.context import COMPUTATION, DATA, WITH
from tpulint.analysis.domain.effects import CROSS_REPLICA
from tpulint.analysis.domain.events import Context
from tpulint.analysis.domain.values import Opaque, Value
from tpulint.frontends.tensorflow.branch_tests import asks_about
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.knowledge import naming
from tpulint.queries.device_code import LEADS_OUT


def strategy_of(receiver: Value | None) -> Strategy | None:
    """Return the strategy that `receiver` is, or that something unknown is by what it ran."""
    if isinstance(receiver, Strategy):
        return receiver
    if isinstance(receiver, Opaque):
        whole = receiver.parent if receiver.last == "extended" else receiver
        known = whole.taken_for.get(Strategy) if whole is not None else None
        return known if isinstance(known, Strategy) else None
    return None


def is_on_replica(context: Context) -> bool:
    """Return whether the context is that of a replica, and no test on the way asks for it."""
    within = list(context.since(COMPUTATION))
    entered = {each.effect for each in within if each.kind == WITH}
    if entered & {CROSS_REPLICA, *LEADS_OUT} or any(each.kind == DATA for each in within):
        return False
    return not asks_about(context, naming.REPLICA)
