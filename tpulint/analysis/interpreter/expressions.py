"""What an expression stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tpulint.analysis.domain.context import COND, LOOP, Layer
from tpulint.analysis.domain.program import Argument
from tpulint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    Function,
    Imported,
    Mapping,
    Opaque,
    Sequence,
    Tensor,
    Value,
    join,
    options,
)
from tpulint.analysis.interpreter import attributes, calls, operators, trace_time_value
from tpulint.analysis.interpreter.conditions import condition_key, truth
from tpulint.analysis.interpreter.definitions import named_defaults
from tpulint.analysis.interpreter.frame import Activation
from tpulint.analysis.interpreter.tpu_flags import says_tpu

UNROLL = 16


def value(act: Activation, node: Any) -> Value:
    """The value of the summary expression `node`."""
    return _HANDLERS[node[0]](act, node)


def _name(act: Activation, node: Any) -> Value:
    name = node[2]
    found = act.env.names.get(name)
    if found is not None and not isinstance(found, Imported):
        return found
    return act.lookup(name)


def _const(act: Activation, node: Any) -> Value:
    return Const(node[1])


def _attribute(act: Activation, node: Any) -> Value:
    base = value(act, node[2])
    return attributes.get(act, base, node[3], act.site(node[1]))


def _call(act: Activation, node: Any) -> Value:
    callee = value(act, node[2])
    arguments = actual_arguments(act, node[3], node[1])
    site = act.site(node[1])
    named = node[2][3] if node[2][0] == "attr" else node[2][2] if node[2][0] == "name" else ""
    return calls.call(act, callee, arguments, site, named)


def actual_arguments(act: Activation, nodes: Any, call: int) -> tuple[Argument, ...]:
    """The arguments of `call` as written; `*known` and `**known` are opened."""
    found: list[Argument] = []
    for keyword, star, node, place in nodes:
        item = value(act, node)
        site = act.site(next((each for each in (place, first_place(node)) if each >= 0), call))
        if star == "*" and isinstance(item, Sequence) and not item.open:
            found += [Argument(None, "", each, site, node) for each in item.items]
        elif star == "**" and isinstance(item, Mapping) and not item.open:
            found += [Argument(str(k), "", each, site, node) for k, each in item.items.items()]
        else:
            found.append(Argument(keyword, star, item, site, node))
    return tuple(found)


def first_place(node: Any) -> int:
    """The place where an expression stands: its own, or that of its first part that has one."""
    if node[0] in _PLACED:
        return int(node[1])
    stack = [node]
    while stack:
        part = stack.pop()
        if not isinstance(part, list) or not part:
            continue
        if isinstance(part[0], str) and part[0] in _PLACED and isinstance(part[1], int):
            return part[1]
        stack.extend(reversed(part))
    return -1


_PLACED = frozenset(
    ["name", "attr", "call", "tuple", "list", "set", "dict", "sub", "lambda", "ifexp", "yield"]
)


def _display(act: Activation, node: Any) -> Value:
    items: list[Value] = []
    is_open = False
    for each in node[2]:
        if each[0] == "star":
            spread = value(act, each[1])
            items += spread.items if isinstance(spread, Sequence) else [UNKNOWN]
            is_open = is_open or not isinstance(spread, Sequence) or spread.open
        else:
            items.append(value(act, each))
    return Sequence(node[0], items, is_open, act.site(node[1]), act.where)


def _dict(act: Activation, node: Any) -> Value:
    made = Mapping({}, False, act.site(node[1]), made=act.where)
    for key_node, item_node in node[2]:
        item = value(act, item_node)
        key = value(act, key_node) if key_node is not None else None
        if isinstance(key, Const):
            made.items[key.value] = item
        elif key is None and isinstance(item, Mapping):
            made.items.update(item.items)
            made.perhaps |= item.perhaps
            made.open = made.open or item.open
        else:
            made.open = True
            made.items.setdefault(("?", len(made.items)), item)
            if key is not None:
                made.keys.append(key)
    return made


def _subscript(act: Activation, node: Any) -> Value:
    base = value(act, node[2])
    index = value(act, node[3])
    if isinstance(base, Sequence) and node[3][0] == "slice":
        return Sequence(base.kind, list(base.items), True, act.site(node[1]), act.where)
    return operators.subscript(act, base, index, act.site(node[1]))


def _slice(act: Activation, node: Any) -> Value:
    for part in node[1]:
        value(act, part)
    return UNKNOWN


def _lambda(act: Activation, node: Any) -> Value:
    code = act.module.facts.functions[node[2]]
    return Function(code, act.module, act.env, defaults=named_defaults(act, code))


def _ifexp(act: Activation, node: Any) -> Value:
    test = value(act, node[2])
    known = truth(test)
    if known is None and act.where.computation is not None:
        known = says_tpu(node[2])
    if known is not None:
        return value(act, node[3] if known else node[4])
    site = act.site(node[1])
    if isinstance(test, trace_time_value.Frozen):
        trace_time_value.note(act, "decides", test, site)
    before = act.where
    traced = isinstance(test, Tensor) and act.machine.autograph(act.where)
    key = condition_key(test, node[2], site)
    results = []
    for branch, side in ((True, node[3]), (False, node[4])):
        if traced:
            act.where = before.inside(Layer(COND, site, test, autograph=True))
        else:
            act.where = before.when(key, branch)
        results.append(value(act, side))
        act.where = before
    if traced:
        return operators.merged(act, results, test, site)
    return join(results)


def _bool(act: Activation, node: Any) -> Value:
    """`and` / `or`: the operands after an unknown one are reached under a condition."""
    before = act.where
    wanted = node[1] == "and"
    results: list[Value] = []
    for each in node[2]:
        item = value(act, each)
        known = truth(item)
        if known is (not wanted):
            results.append(item)
            break
        if known is None:
            results.append(item)
            site = act.site(first_place(each))
            act.where = act.where.when(condition_key(item, each, site), wanted)
        elif each is node[2][-1]:
            results.append(item)
    act.where = before
    return join(results)


def _not(act: Activation, node: Any) -> Value:
    item = value(act, node[1])
    known = truth(item)
    if known is not None:
        return Const(not known)
    if isinstance(item, Opaque):
        return item.negated()
    return operators.operation(act, [item], act.site(first_place(node)), "not")


def _cmp(act: Activation, node: Any) -> Value:
    left = value(act, node[1])
    site = act.site(first_place(node))
    result: Value = UNKNOWN
    for op, right_node in node[2]:
        right = value(act, right_node)
        result = operators.compare(act, op, left, right, site)
        left = right
    return result if len(node[2]) == 1 else UNKNOWN


def _bin(act: Activation, node: Any) -> Value:
    left = value(act, node[2])
    right = value(act, node[3])
    return operators.binary(act, node[1], left, right, act.site(first_place(node)))


def _unary(act: Activation, node: Any) -> Value:
    item = value(act, node[2])
    return operators.operation(act, [item], act.site(first_place(node)), node[1])


def _comp(act: Activation, node: Any) -> Value:
    """A comprehension: unrolled over few known items, else read once."""
    kind, place, elements, clauses = node[1:]
    target, iterated, tests = clauses[0]
    source = value(act, iterated)
    saved, before = act.env.names, act.where
    act.where = before.inside(Layer(LOOP, act.site(place)))
    results: list[Value] = []
    items = operators.items_of(act, source)
    known = items is not None and len(items) <= UNROLL and len(clauses) == 1 and not tests
    if items is None or not known:
        items = [operators.element_of(act, source, act.site(place))]
    for item in items:
        act.env.names = dict(saved)
        act.machine.assign(act, target, item)
        for inner_target, inner_iterated, inner_tests in clauses[1:]:
            inner = value(act, inner_iterated)
            element = operators.element_of(act, inner, act.site(place))
            act.machine.assign(act, inner_target, element)
            tests = tests + inner_tests
        for test in tests:
            value(act, test)
        results.append(value(act, elements[-1]))
        if kind == "dict":
            value(act, elements[0])
    act.env.names, act.where = saved, before
    if kind == "dict":
        return Mapping({("?", n): each for n, each in enumerate(results)}, True, act.site(place))
    return Sequence("list", results, not known, act.site(place))


def _await(act: Activation, node: Any) -> Value:
    return value(act, node[1])


def _yield(act: Activation, node: Any) -> Value:
    item = value(act, node[2])
    act.machine.may_build(act)  # who takes it goes on from here
    act.yields.append((item, act.where.layers))
    return UNKNOWN


def _yieldfrom(act: Activation, node: Any) -> Value:
    item = value(act, node[2])
    act.yields.append((operators.element_of(act, item, act.site(node[1])), act.where.layers))
    return UNKNOWN


def _walrus(act: Activation, node: Any) -> Value:
    item = value(act, node[2])
    act.store(node[1], item)
    return item


def _parts(act: Activation, node: Any) -> Value:
    for part in node[1]:
        value(act, part)
    return UNKNOWN


def _star(act: Activation, node: Any) -> Value:
    return value(act, node[1])


def is_none(item: Value) -> bool:
    return all(each == NONE for each in options(item))


_HANDLERS: dict[str, Callable[[Activation, Any], Value]] = {
    "name": _name,
    "const": _const,
    "attr": _attribute,
    "call": _call,
    "tuple": _display,
    "list": _display,
    "set": _display,
    "dict": _dict,
    "sub": _subscript,
    "slice": _slice,
    "lambda": _lambda,
    "ifexp": _ifexp,
    "bool": _bool,
    "not": _not,
    "cmp": _cmp,
    "bin": _bin,
    "unary": _unary,
    "comp": _comp,
    "await": _await,
    "yield": _yield,
    "yieldfrom": _yieldfrom,
    "walrus": _walrus,
    "fstr": _parts,
    "other": _parts,
    "star": _star,
}
