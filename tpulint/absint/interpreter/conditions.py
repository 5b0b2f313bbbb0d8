"""The truth of Python tests, and the keys by which two tests are the same."""

from __future__ import annotations

from tpulint.absint.domain.context import GUARD, NAME, PLACE, STATE, VALUE, ConditionKey
from tpulint.absint.domain.objects import Class, Instance, Mapping, Sequence, mro
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import (
    Choice,
    Const,
    ContextQuery,
    External,
    Opaque,
    Value,
    options,
)
from tpulint.absint.interpreter.frame import Library
from tpulint.syntax.nodes import Attribute, BoolOperation, CallNode, Compare, Expression, Name, Not


def truth(value: Value) -> bool | None:
    """Python's truth of `value`, None where it is not known."""
    if not isinstance(value, Choice):
        return _truth(value)
    results = set(map(_truth, value.options))
    return results.pop() if len(results) == 1 else None


def _truth(value: Value) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, (Sequence, Mapping)):
        return None if value.open else bool(value.items)
    if isinstance(value, Instance):
        return None if any(_may_be_false(base) for base in mro(value.cls)) else True
    return True if value.is_true else None


def _may_be_false(cls: Value) -> bool:
    """Return whether objects of a class may say that they are false, or empty."""
    if isinstance(cls, Class):
        return "__bool__" in cls.names or "__len__" in cls.names
    return cls != External("builtins.object")


def condition_key(library: Library, value: Value, node: Expression, site: Site) -> ConditionKey:
    """Return the identity of an unknown test: the same opaque thing, else the place of the test."""
    if is_state(value):
        return ConditionKey(STATE, site, test=node)
    if isinstance(value, Opaque) and _compares(value):
        return ConditionKey(VALUE, id(value), value)
    if library.device_answer(node) is None and guards_creation(node):
        return ConditionKey(GUARD, site, test=node)
    if isinstance(value, Opaque):
        return ConditionKey(VALUE, id(value), value)
    if isinstance(value, External):
        return ConditionKey(NAME, value.path)
    return ConditionKey(PLACE, site, test=node)


def _compares(value: Opaque) -> bool:
    """Return whether this is the answer to a comparison with a constant, or its opposite."""
    return (value.negates or value).compared is not None


def is_state(value: Value) -> bool:
    """Return whether this is a flag that takes several values, or asks what is open."""
    alternatives = options(value)
    if any(isinstance(value, ContextQuery) for value in alternatives):
        return True
    return len(alternatives) > 1 and all(isinstance(value, Const) for value in alternatives)


def guards_creation(test: Expression) -> bool:
    """Return whether a test is true the first time only, as those around lazily made state are."""
    match test:
        case Not(operand=operand):
            return isinstance(operand, Attribute) or guards_creation(operand)
        case BoolOperation(items=items):
            return any(guards_creation(item) for item in items)
        case Compare(comparisons=comparisons):
            return any(
                comparison.op in ("Is", "IsNot", "In", "NotIn") for comparison in comparisons
            )
        case CallNode(callee=Name(id=name)):
            return name in ("hasattr", "getattr")
    return False
