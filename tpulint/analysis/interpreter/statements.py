"""Reading statements in order; a block answers whether it surely ends early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tpulint.analysis.domain.objects import Mapping, Sequence
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import drop, put
from tpulint.analysis.domain.values import NONE, UNKNOWN, Const, Value
from tpulint.analysis.interpreter import (
    attributes,
    branches,
    context_managers,
    expected_failures,
    operators,
)
from tpulint.analysis.interpreter.definitions import define_class, define_function
from tpulint.analysis.interpreter.expressions import value
from tpulint.analysis.interpreter.frame import Frame
from tpulint.syntax.places import first_place

Names = dict[str, Value]


def block(frame: Frame, body: list[Any]) -> bool:
    """Read `body`; True when what follows it is never reached."""
    ended = False
    for statement in body:
        frame.statement = statement
        ended = _HANDLERS[statement[0]](frame, statement)
        if ended:
            break
    return ended


def assign(frame: Frame, target: Any, item: Value) -> None:
    """Bind `target` (a name, attribute, item or nest of them) to `item`."""
    op = target[0]
    if op == "name":
        frame.store(target[2], item)
    elif op == "attr":
        attributes.put(frame, value(frame, target[2]), target[3], item)
    elif op == "sub":
        base, index = value(frame, target[2]), value(frame, target[3])
        if isinstance(base, Mapping):
            if not isinstance(index, Const) and attributes.is_dict_of(target[2]):
                attributes.put_any(value(frame, target[2][2]))
            elif isinstance(index, Const):
                put(base, index.value, item, frame.context)
            else:
                base.open = True
                base.items[("?", len(base.items))] = item
        elif isinstance(base, Sequence):
            base.open = True
            base.items.append(item)
    elif op in ("tuple", "list"):
        _assign_all(frame, target, item)
    elif op == "star":
        assign(frame, target[1], Sequence("list", [], True))


def _assign_all(frame: Frame, target: Any, item: Value) -> None:
    site = frame.site(target[1])
    if any(each[0] == "star" for each in target[2]):
        for each in target[2]:
            assign(frame, each, UNKNOWN)
        return
    for each, part in zip(
        target[2], operators.unpack(frame, item, len(target[2]), site), strict=True
    ):
        assign(frame, each, part)


def _assign(frame: Frame, node: Any) -> bool:
    item = value(frame, node[2])
    for target in node[1]:
        assign(frame, target, item)
    return False


def _aug(frame: Frame, node: Any) -> bool:
    before = value(frame, node[2])
    item = value(frame, node[3])
    site = frame.site(first_place(node[2]))
    if isinstance(before, Sequence) and isinstance(item, Sequence) and node[1] == "Add":
        before.items.extend(item.items)
        before.open = before.open or item.open or not frame.context.runs_once_with(before.made)
        return False
    assign(frame, node[2], operators.binary(frame, node[1], before, item, site))
    return False


def _ann(frame: Frame, node: Any) -> bool:
    if node[3] is not None:
        assign(frame, node[1], value(frame, node[3]))
    return False


def _expr(frame: Frame, node: Any) -> bool:
    value(frame, node[1])
    return False


def _return(frame: Frame, node: Any) -> bool:
    frame.returns.append(NONE if node[2] is None else value(frame, node[2]))
    return True


def _with(frame: Frame, node: Any) -> bool:
    if not expected_failures.is_entered(node[2]):
        return _with_block(frame, node)
    with expected_failures.unrecorded(frame):
        _with_block(frame, node)
    return False


def _with_block(frame: Frame, node: Any) -> bool:
    opened: list[tuple[Value, Site]] = []
    with frame.scopes_closed():
        for manager_node, target in node[2]:
            manager = value(frame, manager_node)
            site = frame.site(first_place(manager_node))
            bound = context_managers.enter(frame, manager, site)
            opened.append((manager, site))
            if target is not None:
                assign(frame, target, bound)
        built, returned = frame.session.operations, len(frame.returns)
        ended = block(frame, node[3])
        for manager, site in reversed(opened):
            operations, values = frame.session.operations - built, tuple(frame.returns[returned:])
            context_managers.leave(frame, manager, site, operations, values)
    return ended


def _def(frame: Frame, node: Any) -> bool:
    function = define_function(frame, frame.module.facts.functions[node[1]])
    frame.store(frame.module.facts.functions[node[1]].name, function)
    return False


def _class(frame: Frame, node: Any) -> bool:
    code = frame.module.facts.classes[node[1]]
    frame.store(code.name, define_class(frame, code))
    return False


def _import(frame: Frame, node: Any) -> bool:
    for dotted, asname in node[1]:
        if asname is not None:
            frame.store(asname, frame.session.imported(frame.module, dotted, 0))
        else:
            first = dotted.split(".")[0]
            frame.session.imported(frame.module, dotted, 0)
            frame.store(first, frame.session.imported(frame.module, first, 0))
    return False


def _from(frame: Frame, node: Any) -> bool:
    module, level, names = node[1], node[2], node[3]
    source = frame.session.imported(frame.module, module, level)
    if names == "*":
        frame.session.import_all(frame.module, source)
        return False
    for name, asname in names:
        found = frame.session.import_name(frame.module, source, module, level, name)
        frame.store(asname or name, found)
    return False


def _nothing(frame: Frame, node: Any) -> bool:
    return False


def _jump(frame: Frame, node: Any) -> bool:
    frame.jumps.append(dict(frame.env.names))
    return False


def _raise(frame: Frame, node: Any) -> bool:
    for item in node[1]:
        value(frame, item)
    return True


def _assert(frame: Frame, node: Any) -> bool:
    for item in node[1]:
        value(frame, item)
    return False


def _del(frame: Frame, node: Any) -> bool:
    for target in node[1]:
        if target[0] == "name":
            frame.env.names.pop(target[2], None)
        elif target[0] == "sub":
            base, index = value(frame, target[2]), value(frame, target[3])
            if isinstance(base, Mapping) and isinstance(index, Const):
                drop(base, index.value, frame.context)
            elif isinstance(base, (Mapping, Sequence)):
                base.open = True
    return False


_HANDLERS: dict[str, Callable[[Frame, Any], bool]] = {
    "assign": _assign,
    "aug": _aug,
    "ann": _ann,
    "expr": _expr,
    "return": _return,
    "if": branches.if_,
    "for": branches.for_,
    "while": branches.while_,
    "with": _with,
    "try": branches.try_,
    "def": _def,
    "class": _class,
    "import": _import,
    "from": _from,
    "global": _nothing,
    "nonlocal": _nothing,
    "del": _del,
    "raise": _raise,
    "assert": _assert,
    "pass": _nothing,
    "break": _jump,
    "continue": _jump,
    "match": branches.match_,
}
