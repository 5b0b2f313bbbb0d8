"""Methods of values whose kind is known: containers, context managers, tensors."""

from __future__ import annotations

from dataclasses import replace

from tpulint.analysis.domain.events import Tensor
from tpulint.analysis.domain.objects import ContextManagerValue, Function, Mapping, Sequence
from tpulint.analysis.domain.structures import copied, drop, put
from tpulint.analysis.domain.values import NONE, UNKNOWN, Const, Value, join
from tpulint.analysis.interpreter import context_managers, transfer
from tpulint.analysis.interpreter.calls import call
from tpulint.analysis.models.call import Call
from tpulint.finding import Certainty

OF_DICTS = frozenset(["get", "pop", "values", "keys", "items", "copy"])
REORDERS = frozenset(["clear", "remove", "discard", "sort", "reverse", "update"])
CHANGES_TEXT = frozenset(["lower", "upper", "strip", "casefold"])
ASKS_TEXT = frozenset(["startswith", "endswith"])
SHAPES = frozenset(["get_shape", "set_shape", "as_list", "with_rank", "is_fully_defined"])

RECEIVERS = (Sequence, Mapping, ContextManagerValue, Tensor, Const, Function)


def answer(this: Call) -> Value | None:
    receiver = this.receiver
    if isinstance(receiver, Sequence):
        return _of_sequence(this, receiver)
    if isinstance(receiver, Mapping):
        return _of_mapping(this, receiver)
    if isinstance(receiver, ContextManagerValue):
        return context_managers.by_hand(this.frame, receiver, this.name, this.values, this.site)
    if isinstance(receiver, Tensor):
        return _of_tensor(this, receiver)
    if isinstance(receiver, Const):
        return _of_constant(this, receiver)
    if isinstance(receiver, Function):
        return _of_function(this, receiver)
    return None


def _of_sequence(this: Call, receiver: Sequence) -> Value:
    name, values = this.name, this.values
    conditional = not this.frame.context.runs_once_with(receiver.made)
    if name in ("append", "add", "appendleft") and values:
        receiver.add(values[0])
        receiver.open = receiver.open or conditional
    elif name == "insert" and len(values) == 2:
        receiver.add(values[1])
        receiver.open = True
    elif name == "extend" and values:
        source = values[0]
        receiver.extend(source.items if isinstance(source, Sequence) else [UNKNOWN])
        known = isinstance(source, Sequence) and not source.open
        receiver.open = receiver.open or conditional or not known
    elif name in ("pop", "popleft"):
        receiver.open = True
        return join(receiver.items) if receiver.items else UNKNOWN
    elif name in ("copy", "union"):
        return Sequence(receiver.kind, list(receiver.items), receiver.open, this.site)
    else:
        receiver.open = receiver.open or name in REORDERS
        return UNKNOWN
    return NONE


def _of_mapping(this: Call, receiver: Mapping) -> Value:
    name, values = this.name, this.values
    key = values[0].value if values and isinstance(values[0], Const) else None
    if name in ("get", "pop", "setdefault"):
        found = receiver.items.get(key)
        default = values[1] if len(values) > 1 else NONE
        if found is not None and key in receiver.perhaps:
            found = join([found, default])
        if name == "pop" and key is not None:
            drop(receiver, key, this.frame.context)
        if found is not None:
            return found
        if name == "setdefault" and key is not None:
            put(receiver, key, default, this.frame.context)
        return UNKNOWN if receiver.open else default
    if name == "update":
        return _update(this, receiver)
    items = list(receiver.items.items())
    if name == "values":
        return Sequence("list", [item for _, item in items], receiver.open)
    if name == "keys":
        keys: list[Value] = [Const(key) for key, _ in items if not isinstance(key, tuple)]
        return Sequence("list", keys, receiver.open)
    if name == "items":
        pairs: list[Value] = [
            Sequence("tuple", [UNKNOWN if isinstance(key, tuple) else Const(key), item])
            for key, item in items
        ]
        return Sequence("list", pairs, receiver.open)
    if name in ("clear", "popitem"):
        receiver.perhaps.update(receiver.items)
        receiver.open = True
    if name == "copy":
        return copied(receiver, this.frame.context)
    return UNKNOWN


def _update(this: Call, receiver: Mapping) -> Value:
    for each in this.arguments:
        if each.keyword is not None:
            put(receiver, each.keyword, each.value, this.frame.context)
        elif isinstance(each.value, Mapping):
            for key, item in list(each.value.items.items()):
                new = ("?", len(receiver.items)) if isinstance(key, tuple) else key
                put(receiver, new, item, this.frame.context)
            receiver.complete = receiver.complete and not each.value.open
            receiver.open = receiver.open or each.value.open
        else:
            receiver.open = True
            for key, item in receiver.items.items():
                receiver.set(key, join([item, UNKNOWN]))
    return NONE


def _of_tensor(this: Call, receiver: Tensor) -> Value:
    """Call a method of a tensor, an operation on it; of a structure of tensors, a part of it."""
    if this.name in SHAPES:
        return UNKNOWN
    if receiver.sort == "structure" or (receiver.sort == "unseen" and this.name in OF_DICTS):
        return _of_structure(this, receiver)
    transfer.touch(this.frame, [receiver, *this.values], this.site, this.name, Certainty.DEFINITE)
    return transfer.result(this.frame, [receiver, *this.values], this.site)


def _of_structure(this: Call, receiver: Tensor) -> Value:
    """Call a method of a structure of tensors, which gives a part of it; keys are no tensors."""
    if this.name == "items":
        return Sequence("list", [Sequence("tuple", [UNKNOWN, replace(receiver)])], True)
    if this.name in OF_DICTS and this.name != "keys":
        return replace(receiver)
    return UNKNOWN


def _of_constant(this: Call, receiver: Const) -> Value:
    """Call a method of a string that gives another one, or says how it begins or ends."""
    text, given = receiver.value, [e.value for e in this.values if isinstance(e, Const)]
    if not isinstance(text, str) or not all(isinstance(each, str) for each in given):
        return UNKNOWN
    if this.name in CHANGES_TEXT and not this.arguments:
        return Const(getattr(text, this.name)())
    if this.name in ASKS_TEXT and len(given) == len(this.arguments) == 1:
        return Const(getattr(text, this.name)(given[0]))
    return UNKNOWN


def _of_function(this: Call, receiver: Function) -> Value:
    if this.name == "get_concrete_function":
        return replace(receiver, traced=True)
    if this.name in ("python_function", "__wrapped__"):
        return call(this.frame, replace(receiver, traced=False), this.arguments, this.site)
    return UNKNOWN
