"""The values of expressions, their truth, and the keys by which two tests are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from tpulint.absint.domain import context, objects, values
from tpulint.absint.domain.context import ConditionKey, Scope
from tpulint.absint.domain.events import Argument, Arguments, Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import rebind
from tpulint.absint.domain.values import UNKNOWN, Const, External, Opaque, Value, join
from tpulint.absint.interpreter import attributes, calls, operators, transfer
from tpulint.absint.interpreter.definitions import named_defaults
from tpulint.absint.interpreter.frame import Frame, Library
from tpulint.syntax import nodes
from tpulint.syntax.nodes import NOWHERE, Expression, first_place, guards_creation, last_name


def truth(value: Value) -> bool | None:
    """Python's truth of `value`, None where it is not known."""
    if not isinstance(value, values.Choice):
        return _truth(value)
    results = set(map(_truth, value.options))
    return results.pop() if len(results) == 1 else None


def _truth(value: Value) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, (Sequence, Mapping)):
        return None if value.open else bool(value.items)
    if isinstance(value, objects.Instance):
        for cls in objects.mro(value.cls):  # they may say that they are false, or empty
            if isinstance(cls, objects.Class):
                if "__bool__" in cls.names or "__len__" in cls.names:
                    return None
            elif cls != External("builtins.object"):
                return None
        return True
    return True if value.is_true else None


def condition_key(library: Library, value: Value, node: Expression, site: Site) -> ConditionKey:
    """Return the identity of an unknown test: the same opaque thing, else the place of the test."""
    kinds = set(map(type, value.options))
    is_flag = kinds == {Const} and len(value.options) > 1
    if is_flag or values.ContextQuery in kinds:  # it takes several values, or asks what is open
        return ConditionKey(context.STATE, site, test=node)
    if isinstance(value, Opaque) and (
        value.is_setting or (value.negates or value).compared is not None
    ):
        return ConditionKey(context.VALUE, id(value), value)
    if library.device_answer(node) is None and guards_creation(node):
        return ConditionKey(context.GUARD, site, test=node)
    if isinstance(value, Opaque):
        return ConditionKey(context.VALUE, id(value), value)
    if isinstance(value, External):
        return ConditionKey(context.NAME, value.path)
    return ConditionKey(context.PLACE, site, test=node)


MAX_UNROLLED_ITEMS = 16  # items of a loop or a comprehension that are read one by one
MAX_NESTED_UNROLLED_LOOPS = 2  # loops in one another whose rounds are read one by one


def value(frame: Frame, node: Expression) -> Value:
    """Return the value of an expression."""
    return _HANDLERS[type(node)](frame, node)


def _name(frame: Frame, node: nodes.Name) -> Value:
    item = frame.env.names.get(node.id)
    if item is not None and not isinstance(item, values.Imported):
        return item
    return frame.lookup(node.id)


def _constant(frame: Frame, node: nodes.Constant) -> Value:
    return Const(node.value)


def _attribute(frame: Frame, node: nodes.Attribute) -> Value:
    base = _HANDLERS[type(node.base)](frame, node.base)
    if type(base) is External:  # of most attributes the place is never asked
        return attributes.of_outside(frame, base, node.name)
    return attributes.get(frame, base, node.name, frame.site(node.place))


def _call(frame: Frame, node: nodes.CallNode) -> Value:
    callee = _HANDLERS[type(node.callee)](frame, node.callee)
    arguments = actual_arguments(frame, node)
    return calls.call(frame, callee, arguments, frame.site(node.place), last_name(node.callee))


def actual_arguments(frame: Frame, call: nodes.CallNode) -> Arguments:
    """Return the arguments of `call` as written; `*known` and `**known` are opened."""
    if not call.arguments:
        return ()
    arguments: list[Argument] = []
    sites = frame.module.sites
    for argument in call.arguments:
        node = argument.value
        item = _HANDLERS[type(node)](frame, node)
        place = call.place if argument.place == NOWHERE else argument.place
        site = (sites.get(place) if place >= 0 else None) or frame.site(place)
        if not argument.star:
            arguments.append(Argument(argument.keyword, "", item, site, node))
        elif argument.star == "*" and isinstance(item, Sequence) and not item.open:
            arguments += [Argument(None, "", element, site, node) for element in item.items]
        elif argument.star == "**" and isinstance(item, Mapping) and not item.open:
            arguments += [
                Argument(str(key), "", element, site, node) for key, element in item.items.items()
            ]
        else:
            arguments.append(Argument(argument.keyword, argument.star, item, site, node))
    return tuple(arguments)


def _display(frame: Frame, node: nodes.Display) -> Value:
    items: list[Value] = []
    is_open, places = False, tuple(map(nodes.own_place, node.items))
    for element in node.items:
        if not isinstance(element, nodes.Starred):
            items.append(value(frame, element))
            continue
        item = value(frame, element.value)
        items += item.items if isinstance(item, Sequence) else [UNKNOWN]
        is_open = is_open or not isinstance(item, Sequence) or item.open
        places = ()
    site = frame.site(node.place)
    return Sequence(node.kind, items, is_open, site, frame.context, places=places)


def _dict(frame: Frame, node: nodes.DictDisplay) -> Value:
    mapping = Mapping({}, False, frame.site(node.place), made=frame.context)
    for pair in node.items:
        item = value(frame, pair.value)
        key = value(frame, pair.key) if pair.key is not None else None
        if isinstance(key, Const):
            rebind(mapping, key.value, item)
            mapping.places[key.value] = nodes.own_place(pair.value)
        elif key is None and isinstance(item, Mapping):
            mapping.update(item)
        else:
            mapping.open = True
            mapping.set(("?", len(mapping.items)), item)
            if key is not None:
                mapping.keys.append(key)
    return mapping


def _subscript(frame: Frame, node: nodes.Subscript) -> Value:
    base = value(frame, node.base)
    if isinstance(base, Sequence) and isinstance(node.index, nodes.Slice):
        bounds = [value(frame, bound) for bound in node.index.bounds]
        items = None if base.open else _part(base.items, node.index.names, bounds)
        is_open, kept = (True, list(base.items)) if items is None else (False, items)
        return Sequence(base.kind, kept, is_open, frame.site(node.place), frame.context)
    index = value(frame, node.index)
    site = frame.site(node.place)
    if transfer.is_data(index) and all(
        isinstance(holder, (Sequence, Mapping)) for holder in base.options
    ):
        transfer.note_effect(frame, transfer.ASKS, transfer.INDEX, site)
    return operators.subscript(frame, base, index, site)


def _part(items: list[Value], names: list[str], bounds: list[Value]) -> list[Value] | None:
    """Return the items that a slice takes; None where its bounds are not known."""
    numbers = {
        name: bound.value
        for name, bound in zip(names, bounds, strict=True)
        if isinstance(bound, Const) and (bound == values.NONE or type(bound.value) is int)
    }
    if len(numbers) < len(bounds) or numbers.get("step") == 0:
        return None
    return items[slice(numbers.get("lower"), numbers.get("upper"), numbers.get("step"))]


def _lambda(frame: Frame, node: nodes.Lambda) -> Value:
    code = frame.module.facts.functions[node.function]
    return objects.Function(code, frame.module, frame.env, defaults=named_defaults(frame, code))


def _conditional(frame: Frame, node: nodes.Conditional) -> Value:
    test = value(frame, node.test)
    answer = truth(test)
    if answer is None and frame.context.computation is not None:
        answer = frame.library.device_answer(node.test)
    if answer is not None:
        return value(frame, node.body if answer else node.orelse)
    site = frame.site(node.place)
    if isinstance(test, objects.TraceTimeValue):
        transfer.note_effect(frame, "decides", test.path, site, test.site)
    traced = isinstance(test, Tensor) and frame.context.converts_control_flow
    transfer.note_tensor_test(frame, test, node.test, "if")
    key = condition_key(frame.library, test, node.test, site)
    results = []
    for branch, side in ((True, node.body), (False, node.orelse)):
        scope = Scope(context.COND, site, test, converted=True) if traced else None
        with frame.within(scope) if scope is not None else frame.when(key, branch):
            results.append(value(frame, side))
    # The tensors of traced branches leave through the conditional.
    return transfer.leave_control(frame, join(results), [test], site) if traced else join(results)


def _bool(frame: Frame, node: nodes.BoolOperation) -> Value:
    """Read `and` or `or`: the operands after an unknown one are reached under a condition."""
    goes_on = node.op == "and"
    results: list[Value] = []
    with frame.at(frame.context):
        for operand in node.items:
            item = value(frame, operand)
            answer = truth(item)
            if answer is not goes_on or operand is node.items[-1]:
                results.append(item)
            if answer is (not goes_on):
                break
            if answer is None:
                site = frame.site(first_place(operand))
                frame.assume(condition_key(frame.library, item, operand, site), goes_on)
    return join(results)


def _not(frame: Frame, node: nodes.Not) -> Value:
    item = value(frame, node.operand)
    answer = truth(item)
    if answer is not None:
        return Const(not answer)
    if isinstance(item, Opaque):
        return item.negated()
    if isinstance(item, Tensor) and item.sort == "structure":
        return UNKNOWN  # a dict of tensors is asked whether it is empty
    return operators.operation(frame, [item], frame.site(first_place(node)), "not")


def _compare(frame: Frame, node: nodes.Compare) -> Value:
    left = value(frame, node.left)
    site = frame.site(first_place(node))
    result: Value = UNKNOWN
    before = node.left
    for comparison in node.comparisons:
        right, both = value(frame, comparison.right), (before, comparison.right)
        result = operators.compare(frame, comparison.op, left, right, site, both)
        left, before = right, comparison.right
    return result if len(node.comparisons) == 1 else UNKNOWN


def _binary(frame: Frame, node: nodes.BinaryOperation) -> Value:
    # A sum of hundreds of operands is as deep as it is long: it is walked in a loop.
    chain = [node]
    while isinstance(chain[-1].left, nodes.BinaryOperation):
        chain.append(chain[-1].left)
    left, site = value(frame, chain[-1].left), frame.site(first_place(node))
    for link in reversed(chain):
        right = value(frame, link.right)
        left = operators.binary(frame, link.op, left, right, site, (link.left, link.right))
    return left


def _unary(frame: Frame, node: nodes.UnaryOperation) -> Value:
    item = value(frame, node.operand)
    return operators.operation(frame, [item], frame.site(first_place(node)), node.op)


def _comprehension(frame: Frame, node: nodes.Comprehension) -> Value:
    """Read a comprehension: unrolled over few known items, else once."""
    first, *inner_clauses = node.clauses
    source = value(frame, first.iterated)
    site, saved = frame.site(node.place), frame.env.names
    transfer.note_iteration(frame, source, site)
    items = operators.items_of(source)
    if items is None or len(items) > MAX_UNROLLED_ITEMS or inner_clauses or first.tests:
        is_unrolled = False
        # With tests, or over more than this, the number of its rounds is another.
        looped = None if inner_clauses or first.tests else source
        scopes = [Scope(context.LOOP, site, looped)]
        items = [operators.element_of(frame, source, site)]
    elif len(frame.context.scopes.rounds) < MAX_NESTED_UNROLLED_LOOPS:
        # As in a loop: what a round makes is another thing than what the next one makes.
        is_unrolled = True
        scopes = [Scope(context.ROUND, site, number) for number in range(len(items))]
    else:
        is_unrolled, scopes = True, [Scope(context.LOOP, site)] * len(items)
    keys: list[Value] = []
    results: list[Value] = []
    for item, scope in zip(items, scopes, strict=True):
        with frame.within(scope):
            frame.env.names = dict(saved)
            frame.assign(first.target, item)
            for clause in inner_clauses:
                inner = value(frame, clause.iterated)
                frame.assign(clause.target, operators.element_of(frame, inner, site))
            for test in (test for clause in node.clauses for test in clause.tests):
                transfer.note_tensor_test(frame, value(frame, test), test, "if", converts=False)
            if node.key is not None:
                keys.append(value(frame, node.key))
            results.append(value(frame, node.element))
    frame.env.names = saved
    if node.kind == "dict":
        return _mapping_of(keys, results, site, is_unrolled)
    alike = _alike(node.element, [clause.target for clause in node.clauses])
    return Sequence("list", results, not is_unrolled, site, alike=alike)


def _mapping_of(keys: list[Value], results: list[Value], site: Site, is_unrolled: bool) -> Mapping:
    """Return the dict of a comprehension; a key that is not known has the number of its item."""
    names = [
        key.value if is_unrolled and isinstance(key, Const) else ("?", number)
        for number, key in enumerate(keys)
    ]
    is_open = any(isinstance(name, tuple) and name[:1] == ("?",) for name in names)
    return Mapping(dict(zip(names, results, strict=True)), is_open, site, complete=True)


def _alike(element: Expression, targets: list[Expression]) -> frozenset[int]:
    """Return the positions of a list that mean the same each time a comprehension makes it."""
    if not isinstance(element, nodes.Display) or element.kind == "set":
        return frozenset()
    varying = _names(*targets)
    return frozenset(
        position for position, item in enumerate(element.items) if not varying & _names(item)
    )


def _names(*expressions: Expression) -> set[str]:
    """Return the names in expressions."""
    return {node.id for node in nodes.walk(*expressions) if isinstance(node, nodes.Name)}


def _inner(frame: Frame, node: nodes.Await | nodes.Starred) -> Value:
    return value(frame, node.value)


def _yield(frame: Frame, node: nodes.Yield) -> Value:
    item = value(frame, node.value)
    frame.count_possible_operation()  # who takes it goes on from here
    frame.yields.append((item, frame.context.scopes))
    return UNKNOWN


def _yield_from(frame: Frame, node: nodes.YieldFrom) -> Value:
    item = value(frame, node.value)
    element = operators.element_of(frame, item, frame.site(node.place))
    frame.yields.append((element, frame.context.scopes))
    return UNKNOWN


def _named(frame: Frame, node: nodes.NamedExpression) -> Value:
    item = value(frame, node.value)
    frame.store(node.name, item)
    return item


def _formatted_string(frame: Frame, node: nodes.FormattedString) -> Value:
    return operators.put_together([value(frame, part) for part in node.items])


def _formatted_value(frame: Frame, node: nodes.FormattedValue) -> Value:
    formatted = value(frame, node.value)
    transfer.note_formatting(frame, formatted, "an f-string", frame.site(node.place))
    return formatted


def _parts(frame: Frame, node: nodes.Other | nodes.Slice) -> Value:
    for part in node.items if isinstance(node, nodes.Other) else node.bounds:
        value(frame, part)
    return UNKNOWN


_HANDLERS: dict[type[Expression], Callable[[Frame, Any], Value]] = {
    nodes.Name: _name,
    nodes.Constant: _constant,
    nodes.Attribute: _attribute,
    nodes.CallNode: _call,
    nodes.Display: _display,
    nodes.DictDisplay: _dict,
    nodes.Subscript: _subscript,
    nodes.Slice: _parts,
    nodes.Lambda: _lambda,
    nodes.Conditional: _conditional,
    nodes.BoolOperation: _bool,
    nodes.Not: _not,
    nodes.Compare: _compare,
    nodes.BinaryOperation: _binary,
    nodes.UnaryOperation: _unary,
    nodes.Comprehension: _comprehension,
    nodes.Await: _inner,
    nodes.Yield: _yield,
    nodes.YieldFrom: _yield_from,
    nodes.NamedExpression: _named,
    nodes.FormattedString: _formatted_string,
    nodes.FormattedValue: _formatted_value,
    nodes.Other: _parts,
    nodes.Starred: _inner,
}


@contextmanager
def results_shown(show: Callable[[Frame, Expression, Value], None]) -> Iterator[None]:
    """Show each expression that is read in the block, with its value, after its parts.

    A check shows none, and pays nothing for it.
    """
    plain = dict(_HANDLERS)

    def shown(handler: Callable[[Frame, Any], Value], frame: Frame, node: Expression) -> Value:
        result = handler(frame, node)
        show(frame, node, result)
        return result

    _HANDLERS.update((kind, partial(shown, handler)) for kind, handler in plain.items())
    try:
        yield
    finally:
        _HANDLERS.update(plain)
