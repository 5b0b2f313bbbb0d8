"""Callees of which one is meant: those that a run on a TPU can reach, each once.

That a program runs on a TPU is no doubt, but the premise of what is said of it: of the methods of
several strategies it calls the TPU's.
"""

from __future__ import annotations

from tpulint.analysis.domain.branch_tests import is_for_another
from tpulint.analysis.domain.context import VALUE, BaseContext, ConditionKey
from tpulint.analysis.domain.objects import Function, function_of
from tpulint.analysis.domain.values import NONE, Bound, Choice, Strategy, Value


def callees(context: BaseContext, choice: Choice) -> list[Value]:
    """Return the callees among the options: none is None, for calling that ends in an error."""
    found = [each for each in choice.options if each != NONE]
    found = [each for each in found if not _is_left_aside(each, context)] or found
    if any(is_used(each) for each in found):
        found = [each for each in found if _strategy_of(each) is None or is_used(each)]
    return _of_one_body(found or list(choice.options))


def is_used(callee: Value) -> ConditionKey | None:
    """Return the test whether the program runs on the TPU's strategy that this is a method of."""
    strategy = _strategy_of(callee)
    if strategy is None or strategy.kind != "tpu":
        return None
    return ConditionKey(VALUE, id(strategy.used), strategy.used)


def _strategy_of(callee: Value) -> Strategy | None:
    receiver = callee.receiver if isinstance(callee, Bound) else None
    return receiver if isinstance(receiver, Strategy) else None


def _is_left_aside(callee: Value, context: BaseContext) -> bool:
    """Return whether this is a method of a TPU's strategy, and the way here leaves that aside."""
    strategy = _strategy_of(callee)
    if strategy is None or strategy.kind != "tpu":
        return False
    return is_for_another(context, strategy)


def _of_one_body(found: list[Value]) -> list[Value]:
    """Leave one of a function and the tf.function of it: either way its body is reached."""
    kept: list[Value] = []
    for each in found:
        same = [number for number, other in enumerate(kept) if _are_one(each, other)]
        if not same:
            kept.append(each)
        elif _is_traced(each):
            kept[same[0]] = each
    return kept


def _are_one(callee: Value, other: Value) -> bool:
    """Return whether both run the same code with the same names, for the same object."""
    if isinstance(callee, Bound) and isinstance(other, Bound):
        return callee.receiver is other.receiver and _are_one(callee.function, other.function)
    if isinstance(callee, Function) and isinstance(other, Function):
        return callee.code is other.code and callee.env is other.env
    return False


def _is_traced(callee: Value) -> bool:
    function = function_of(callee)
    return function is not None and function.traced
