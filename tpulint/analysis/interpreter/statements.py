"""Reading statements in order; a block answers whether it surely ends early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tpulint.analysis.domain.program import Site
from tpulint.analysis.domain.structures import drop, put
from tpulint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    Mapping,
    Sequence,
    Value,
)
from tpulint.analysis.interpreter import attributes, branches, context_managers, operators
from tpulint.analysis.interpreter.definitions import define_class, define_function
from tpulint.analysis.interpreter.expressions import first_place, value
from tpulint.analysis.interpreter.frame import Activation

Names = dict[str, Value]


def block(act: Activation, body: list[Any]) -> bool:
    """Read `body`; True when what follows it is never reached."""
    ended = False
    for statement in body:
        act.statement = statement
        ended = _HANDLERS[statement[0]](act, statement)
        if ended:
            break
    return ended


def place_of(statement: Any) -> int:
    """Where a statement stands, by what in it has a place; -1 where nothing has."""
    if statement and statement[0] in ("return", "if", "for", "while", "with"):
        return int(statement[1])
    return first_place(statement) if statement else -1


def assign(act: Activation, target: Any, item: Value) -> None:
    """Bind `target` (a name, attribute, item or nest of them) to `item`."""
    op = target[0]
    if op == "name":
        act.store(target[2], item)
    elif op == "attr":
        attributes.put(act, value(act, target[2]), target[3], item)
    elif op == "sub":
        base, index = value(act, target[2]), value(act, target[3])
        if isinstance(base, Mapping):
            if isinstance(index, Const):
                put(base, index.value, item, act.where)
            else:
                base.open = True
                base.items[("?", len(base.items))] = item
        elif isinstance(base, Sequence):
            base.open = True
            base.items.append(item)
    elif op in ("tuple", "list"):
        _assign_all(act, target, item)
    elif op == "star":
        assign(act, target[1], Sequence("list", [], True))


def _assign_all(act: Activation, target: Any, item: Value) -> None:
    site = act.site(target[1])
    if any(each[0] == "star" for each in target[2]):
        for each in target[2]:
            assign(act, each, UNKNOWN)
        return
    for each, part in zip(
        target[2], operators.unpack(act, item, len(target[2]), site), strict=True
    ):
        assign(act, each, part)


def _assign(act: Activation, node: Any) -> bool:
    item = value(act, node[2])
    for target in node[1]:
        assign(act, target, item)
    return False


def _aug(act: Activation, node: Any) -> bool:
    before = value(act, node[2])
    item = value(act, node[3])
    site = act.site(first_place(node[2]))
    if isinstance(before, Sequence) and isinstance(item, Sequence) and node[1] == "Add":
        before.items.extend(item.items)
        before.open = before.open or item.open or not act.where.runs_once_with(before.made)
        return False
    assign(act, node[2], operators.binary(act, node[1], before, item, site))
    return False


def _ann(act: Activation, node: Any) -> bool:
    if node[3] is not None:
        assign(act, node[1], value(act, node[3]))
    return False


def _expr(act: Activation, node: Any) -> bool:
    value(act, node[1])
    return False


def _return(act: Activation, node: Any) -> bool:
    act.returns.append(NONE if node[2] is None else value(act, node[2]))
    return True


def _with(act: Activation, node: Any) -> bool:
    before = act.where
    opened: list[tuple[Value, Site]] = []
    for manager_node, target in node[2]:
        manager = value(act, manager_node)
        site = act.site(first_place(manager_node))
        bound = context_managers.enter(act, manager, site)
        opened.append((manager, site))
        if target is not None:
            assign(act, target, bound)
    built = act.machine.operations
    ended = block(act, node[3])
    for manager, site in reversed(opened):
        context_managers.leave(act, manager, site, act.machine.operations - built)
    act.where = act.where._replace(layers=before.layers)
    return ended


def _def(act: Activation, node: Any) -> bool:
    function = define_function(act, act.module.facts.functions[node[1]])
    act.store(act.module.facts.functions[node[1]].name, function)
    return False


def _class(act: Activation, node: Any) -> bool:
    code = act.module.facts.classes[node[1]]
    act.store(code.name, define_class(act, code))
    return False


def _import(act: Activation, node: Any) -> bool:
    for dotted, asname in node[1]:
        if asname is not None:
            act.store(asname, act.machine.imported(act.module, dotted, 0))
        else:
            first = dotted.split(".")[0]
            act.machine.imported(act.module, dotted, 0)
            act.store(first, act.machine.imported(act.module, first, 0))
    return False


def _from(act: Activation, node: Any) -> bool:
    module, level, names = node[1], node[2], node[3]
    source = act.machine.imported(act.module, module, level)
    if names == "*":
        act.module.star_imports.append(source)
        return False
    for name, asname in names:
        found = act.machine.import_name(act.module, source, module, level, name)
        act.store(asname or name, found)
    return False


def _nothing(act: Activation, node: Any) -> bool:
    return False


def _jump(act: Activation, node: Any) -> bool:
    act.jumps.append(dict(act.env.names))
    return False


def _raise(act: Activation, node: Any) -> bool:
    for item in node[1]:
        value(act, item)
    return True


def _assert(act: Activation, node: Any) -> bool:
    for item in node[1]:
        value(act, item)
    return False


def _del(act: Activation, node: Any) -> bool:
    for target in node[1]:
        if target[0] == "name":
            act.env.names.pop(target[2], None)
        elif target[0] == "sub":
            base, index = value(act, target[2]), value(act, target[3])
            if isinstance(base, Mapping) and isinstance(index, Const):
                drop(base, index.value, act.where)
            elif isinstance(base, (Mapping, Sequence)):
                base.open = True
    return False


_HANDLERS: dict[str, Callable[[Activation, Any], bool]] = {
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
