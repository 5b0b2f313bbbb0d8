"""Reading statements in order; a block answers whether it surely ends early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tpulint.program.evaluate import attributes, lanes, managers, operators
from tpulint.program.evaluate.activation import Activation
from tpulint.program.evaluate.definitions import define_class, define_function
from tpulint.program.evaluate.expressions import first_place, value
from tpulint.program.evaluate.truth import condition_key, guards_creation, truth
from tpulint.program.model import Site
from tpulint.program.values import (
    NONE,
    UNKNOWN,
    Built,
    Const,
    Mapping,
    Sequence,
    Tensor,
    Value,
    join,
)
from tpulint.program.where import COND, LOOP, ONCE, WHILE, Layer

Names = dict[str, Value]


def block(act: Activation, body: list[Any]) -> bool:
    """Read `body`; True when what follows it is never reached."""
    return any(_HANDLERS[statement[0]](act, statement) for statement in body)


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
                base.items[index.value] = item
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
        before.open = before.open or item.open or bool(act.where.conditions)
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


def _if(act: Activation, node: Any) -> bool:
    test = value(act, node[2])
    known = truth(test)
    if known is not None:
        return _settled(act, node, known)
    site = act.site(node[1])
    if isinstance(test, Tensor) and act.machine.autograph(act.where):
        return _traced_if(act, node, test)
    before = act.where
    key = condition_key(test, node[2], site)
    start = dict(act.env.names)
    act.where = before.when(key, True)
    ended = block(act, node[3])
    then_names, then_where = act.env.names, act.where
    act.env.names = start
    act.where = before.when(key, False)
    else_ended = block(act, node[4])
    if ended and else_ended:
        return True
    if ended:
        return False  # the rest of the block is the else side's, under its condition
    if else_ended:
        act.env.names, act.where = then_names, then_where
        return False
    act.where = before
    act.env.names = _joined(then_names, act.env.names)
    return False


def _settled(act: Activation, node: Any, known: bool) -> bool:
    """An `if` whose test is known here; what it makes the first time it makes once."""
    if not guards_creation(node[2]):
        return block(act, node[3] if known else node[4])
    before = act.where
    act.where = before.inside(Layer(ONCE, act.site(node[1])))
    ended = block(act, node[3] if known else node[4])
    leaves = not known and bool(node[3]) and node[3][-1][0] in ("return", "raise")
    if not leaves:
        act.where = replace(act.where, layers=before.layers)
    return ended


def _traced_if(act: Activation, node: Any, test: Tensor) -> bool:
    """`if tensor:` in code that autograph converts: a tf.cond whose outputs are the names set."""
    site = act.site(node[1])
    before = act.where
    start = dict(act.env.names)
    lanes.touch(act, [test], site, "predicate")
    act.where = before.inside(Layer(COND, site, test, autograph=True))
    ended = block(act, node[3])
    then_names = act.env.names
    act.env.names = dict(start)
    act.where = before.inside(Layer(COND, site, test, autograph=True))
    else_ended = block(act, node[4])
    act.where = before
    names = _joined(then_names, act.env.names)
    act.env.names = _through(act, start, names, test, site)
    return ended and else_ended


def _through(act: Activation, start: Names, names: Names, test: Value, site: Any) -> Names:
    """Names that traced control flow changed leave it as its outputs."""
    return {
        name: item if start.get(name) is item else lanes.leave_control(act, item, [test], site)
        for name, item in names.items()
    }


def _joined(left: Names, right: Names) -> Names:
    if left == right:
        return left
    names = dict(right)
    for name, item in left.items():
        other = names.get(name)
        names[name] = item if other is None or other is item else join([item, other])
    return names


def _for(act: Activation, node: Any) -> bool:
    source = value(act, node[3])
    site = act.site(node[1])
    traced = act.machine.autograph(act.where) and (
        isinstance(source, Tensor) or (isinstance(source, Built) and "range" in source.path)
    )
    kind = WHILE if traced else LOOP
    item = operators.element_of(act, source, site)
    known = operators.items_of(act, source)
    if known is not None and not known:
        return block(act, node[5])
    before = act.where
    start = dict(act.env.names)
    act.where = before.inside(Layer(kind, site, source, autograph=traced))
    assign(act, node[2], item)
    block(act, node[4])
    act.where = before
    if known is None:
        act.env.names = _joined(start, act.env.names)
    if traced:
        act.env.names = _through(act, start, act.env.names, source, site)
    block(act, node[5])
    return False


def _while(act: Activation, node: Any) -> bool:
    site = act.site(node[1])
    before = act.where
    start = dict(act.env.names)
    test = value(act, node[2])
    if truth(test) is False:
        return block(act, node[4])
    traced = isinstance(test, Tensor) and act.machine.autograph(act.where)
    act.where = before.inside(Layer(WHILE if traced else LOOP, site, test, autograph=traced))
    ended = block(act, node[3])
    act.where = before
    if truth(test) is not True:
        act.env.names = _joined(start, act.env.names)
    if traced:
        act.env.names = _through(act, start, act.env.names, test, site)
    block(act, node[4])
    return ended and truth(test) is True


def _with(act: Activation, node: Any) -> bool:
    before = act.where
    opened: list[tuple[Value, Site]] = []
    for manager_node, target in node[2]:
        manager = value(act, manager_node)
        site = act.site(first_place(manager_node))
        bound = managers.enter(act, manager, site)
        opened.append((manager, site))
        if target is not None:
            assign(act, target, bound)
    built = act.machine.operations
    ended = block(act, node[3])
    for manager, site in reversed(opened):
        managers.leave(act, manager, site, act.machine.operations - built)
    act.where = replace(act.where, layers=before.layers)
    return ended


def _try(act: Activation, node: Any) -> bool:
    start = act.where
    ended = block(act, node[1])
    after = act.where
    ends = []
    names = act.env.names
    for number, (caught, name, body) in enumerate(node[2]):
        if caught is not None:
            value(act, caught)
        act.where = start.when(("except", id(node)), number)
        act.env.names = dict(names)
        if name is not None:
            act.store(name, UNKNOWN)
        handler_ended = block(act, body)
        ends.append(handler_ended)
        if not handler_ended:
            names = _joined(names, act.env.names)
    act.env.names = names
    act.where = after
    if not ended:
        ended = block(act, node[3])
        if node[2]:
            ended = ended and all(ends)
    else:
        ended = all(ends)
    return block(act, node[4]) or ended


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
    return False


def _match(act: Activation, node: Any) -> bool:
    value(act, node[1])
    before = act.where
    start = dict(act.env.names)
    names = dict(start)
    for number, (guard, body) in enumerate(node[2]):
        act.env.names = dict(start)
        act.where = before.when(("match", id(node)), number)
        if guard is not None:
            value(act, guard)
        if not block(act, body):
            names = _joined(names, act.env.names)
    act.where, act.env.names = before, names
    return False


_HANDLERS: dict[str, Callable[[Activation, Any], bool]] = {
    "assign": _assign,
    "aug": _aug,
    "ann": _ann,
    "expr": _expr,
    "return": _return,
    "if": _if,
    "for": _for,
    "while": _while,
    "with": _with,
    "try": _try,
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
    "break": _nothing,
    "continue": _nothing,
    "match": _match,
}
