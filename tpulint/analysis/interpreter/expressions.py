"""What an expression stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tpulint.analysis.domain.context import COND, LOOP, Scope
from tpulint.analysis.domain.events import Argument, Tensor
from tpulint.analysis.domain.objects import Function, Mapping, Sequence, TraceTimeValue
from tpulint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    Imported,
    Opaque,
    Value,
    join,
    options,
)
from tpulint.analysis.interpreter import attributes, calls, operators, trace_time_value
from tpulint.analysis.interpreter.conditions import condition_key, truth
from tpulint.analysis.interpreter.definitions import named_defaults
from tpulint.analysis.interpreter.frame import Frame
from tpulint.analysis.interpreter.tpu_flags import says_tpu
from tpulint.syntax.places import first_place, own_place

UNROLL = 16


def value(frame: Frame, node: Any) -> Value:
    """The value of the summary expression `node`."""
    return _HANDLERS[node[0]](frame, node)


def _name(frame: Frame, node: Any) -> Value:
    name = node[2]
    found = frame.env.names.get(name)
    if found is not None and not isinstance(found, Imported):
        return found
    return frame.lookup(name)


def _const(frame: Frame, node: Any) -> Value:
    return Const(node[1])


def _attribute(frame: Frame, node: Any) -> Value:
    base = value(frame, node[2])
    return attributes.get(frame, base, node[3], frame.site(node[1]))


def _call(frame: Frame, node: Any) -> Value:
    callee = value(frame, node[2])
    arguments = actual_arguments(frame, node[3], node[1])
    site = frame.site(node[1])
    named = node[2][3] if node[2][0] == "attr" else node[2][2] if node[2][0] == "name" else ""
    return calls.call(frame, callee, arguments, site, named)


def actual_arguments(frame: Frame, nodes: Any, call: int) -> tuple[Argument, ...]:
    """The arguments of `call` as written; `*known` and `**known` are opened."""
    found: list[Argument] = []
    for keyword, star, node, place in nodes:
        item = value(frame, node)
        site = frame.site(next((each for each in (place, first_place(node)) if each >= 0), call))
        if star == "*" and isinstance(item, Sequence) and not item.open:
            found += [Argument(None, "", each, site, node) for each in item.items]
        elif star == "**" and isinstance(item, Mapping) and not item.open:
            found += [Argument(str(k), "", each, site, node) for k, each in item.items.items()]
        else:
            found.append(Argument(keyword, star, item, site, node))
    return tuple(found)


def _display(frame: Frame, node: Any) -> Value:
    items: list[Value] = []
    is_open = False
    for each in node[2]:
        if each[0] == "star":
            spread = value(frame, each[1])
            items += spread.items if isinstance(spread, Sequence) else [UNKNOWN]
            is_open = is_open or not isinstance(spread, Sequence) or spread.open
        else:
            items.append(value(frame, each))
    starred = any(each[0] == "star" for each in node[2])
    places = () if starred else tuple(own_place(each) for each in node[2])
    return Sequence(node[0], items, is_open, frame.site(node[1]), frame.context, places=places)


def _dict(frame: Frame, node: Any) -> Value:
    made = Mapping({}, False, frame.site(node[1]), made=frame.context)
    for key_node, item_node in node[2]:
        item = value(frame, item_node)
        key = value(frame, key_node) if key_node is not None else None
        if isinstance(key, Const):
            made.items[key.value] = item
            made.places[key.value] = own_place(item_node)
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


def _subscript(frame: Frame, node: Any) -> Value:
    base = value(frame, node[2])
    index = value(frame, node[3])
    if isinstance(base, Sequence) and node[3][0] == "slice":
        return Sequence(base.kind, list(base.items), True, frame.site(node[1]), frame.context)
    return operators.subscript(frame, base, index, frame.site(node[1]))


def _slice(frame: Frame, node: Any) -> Value:
    for part in node[1]:
        value(frame, part)
    return UNKNOWN


def _lambda(frame: Frame, node: Any) -> Value:
    code = frame.module.facts.functions[node[2]]
    return Function(code, frame.module, frame.env, defaults=named_defaults(frame, code))


def _ifexp(frame: Frame, node: Any) -> Value:
    test = value(frame, node[2])
    known = truth(test)
    if known is None and frame.context.computation is not None:
        known = says_tpu(node[2])
    if known is not None:
        return value(frame, node[3] if known else node[4])
    site = frame.site(node[1])
    if isinstance(test, TraceTimeValue):
        trace_time_value.note(frame, "decides", test, site)
    traced = isinstance(test, Tensor) and frame.context.converts_control_flow
    key = condition_key(test, node[2], site)
    results = []
    for branch, side in ((True, node[3]), (False, node[4])):
        scope = Scope(COND, site, test, autograph=True)
        with frame.within(scope) if traced else frame.when(key, branch):
            results.append(value(frame, side))
    if traced:
        return operators.merged(frame, results, test, site)
    return join(results)


def _bool(frame: Frame, node: Any) -> Value:
    """`and` / `or`: the operands after an unknown one are reached under a condition."""
    wanted = node[1] == "and"
    results: list[Value] = []
    with frame.at(frame.context):
        for each in node[2]:
            item = value(frame, each)
            known = truth(item)
            if known is (not wanted):
                results.append(item)
                break
            if known is None:
                results.append(item)
                site = frame.site(first_place(each))
                frame.assume(condition_key(item, each, site), wanted)
            elif each is node[2][-1]:
                results.append(item)
    return join(results)


def _not(frame: Frame, node: Any) -> Value:
    item = value(frame, node[1])
    known = truth(item)
    if known is not None:
        return Const(not known)
    if isinstance(item, Opaque):
        return item.negated()
    return operators.operation(frame, [item], frame.site(first_place(node)), "not")


def _cmp(frame: Frame, node: Any) -> Value:
    left = value(frame, node[1])
    site = frame.site(first_place(node))
    result: Value = UNKNOWN
    for op, right_node in node[2]:
        right = value(frame, right_node)
        result = operators.compare(frame, op, left, right, site)
        left = right
    return result if len(node[2]) == 1 else UNKNOWN


def _bin(frame: Frame, node: Any) -> Value:
    left = value(frame, node[2])
    right = value(frame, node[3])
    return operators.binary(frame, node[1], left, right, frame.site(first_place(node)))


def _unary(frame: Frame, node: Any) -> Value:
    item = value(frame, node[2])
    return operators.operation(frame, [item], frame.site(first_place(node)), node[1])


def _comp(frame: Frame, node: Any) -> Value:
    """A comprehension: unrolled over few known items, else read once."""
    kind, place, elements, clauses = node[1:]
    target, iterated, tests = clauses[0]
    source = value(frame, iterated)
    site, saved = frame.site(place), frame.env.names
    results: list[Value] = []
    items = operators.items_of(frame, source)
    known = items is not None and len(items) <= UNROLL and len(clauses) == 1 and not tests
    with frame.within(Scope(LOOP, site)):
        if items is None or not known:
            items = [operators.element_of(frame, source, site)]
        for item in items:
            frame.env.names = dict(saved)
            frame.assign(target, item)
            for inner_target, inner_iterated, inner_tests in clauses[1:]:
                inner = value(frame, inner_iterated)
                frame.assign(inner_target, operators.element_of(frame, inner, site))
                tests = tests + inner_tests
            for test in tests:
                value(frame, test)
            results.append(value(frame, elements[-1]))
            if kind == "dict":
                value(frame, elements[0])
    frame.env.names = saved
    if kind == "dict":
        return Mapping({("?", n): each for n, each in enumerate(results)}, True, site)
    alike = _alike(elements[-1], [each[0] for each in clauses])
    return Sequence("list", results, not known, site, alike=alike)


def _alike(element: Any, targets: list[Any]) -> frozenset[int]:
    """The positions of a list that mean the same each time that it is made in a comprehension."""
    if element[0] not in ("list", "tuple"):
        return frozenset()
    varying = set().union(*map(_names, targets))
    return frozenset(n for n, each in enumerate(element[2]) if not varying & _names(each))


def _names(node: Any) -> set[str]:
    """The names in an expression."""
    if not isinstance(node, list):
        return set()
    own = {str(node[2])} if node[:1] == ["name"] else set()
    return own.union(*map(_names, node))


def _await(frame: Frame, node: Any) -> Value:
    return value(frame, node[1])


def _yield(frame: Frame, node: Any) -> Value:
    item = value(frame, node[2])
    frame.may_build()  # who takes it goes on from here
    frame.yields.append((item, frame.context.scopes))
    return UNKNOWN


def _yieldfrom(frame: Frame, node: Any) -> Value:
    item = value(frame, node[2])
    frame.yields.append(
        (operators.element_of(frame, item, frame.site(node[1])), frame.context.scopes)
    )
    return UNKNOWN


def _walrus(frame: Frame, node: Any) -> Value:
    item = value(frame, node[2])
    frame.store(node[1], item)
    return item


def _parts(frame: Frame, node: Any) -> Value:
    for part in node[1]:
        value(frame, part)
    return UNKNOWN


def _star(frame: Frame, node: Any) -> Value:
    return value(frame, node[1])


def is_none(item: Value) -> bool:
    return all(each == NONE for each in options(item))


_HANDLERS: dict[str, Callable[[Frame, Any], Value]] = {
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
