"""Read statements in order; a block returns whether it always ends early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import drop, put
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, Value
from tpulint.absint.interpreter import (
    attributes,
    branches,
    context_managers,
    operators,
)
from tpulint.absint.interpreter.definitions import define_class, define_function
from tpulint.absint.interpreter.expressions import value
from tpulint.absint.interpreter.frame import Frame
from tpulint.syntax.nodes import (
    AnnotatedAssign,
    Assert,
    Assign,
    Attribute,
    AugmentedAssign,
    Block,
    Define,
    DefineClass,
    Delete,
    Display,
    Expression,
    ExpressionStatement,
    For,
    If,
    Import,
    ImportFrom,
    Jump,
    Match,
    Name,
    Pass,
    Raise,
    Return,
    Scoping,
    Starred,
    Statement,
    Subscript,
    Try,
    While,
    With,
)
from tpulint.syntax.places import first_place


def block(frame: Frame, body: Block) -> bool:
    """Read `body`; return True when what follows it is never reached."""
    ended = False
    for statement in body:
        frame.statement = statement
        ended = _HANDLERS[type(statement)](frame, statement)
        if ended:
            break
    return ended


def assign(frame: Frame, target: Expression, item: Value) -> None:
    """Bind `target` (a name, attribute, item or nest of them) to `item`."""
    match target:
        case Name(id=name):
            frame.store(name, item)
        case Attribute(base=base, name=name):
            attributes.put(frame, value(frame, base), name, item)
        case Subscript(base=base, index=index):
            at = value(frame, index)
            match base:
                case Attribute(base=holder, name="__dict__") if not isinstance(at, Const):
                    attributes.put_any(value(frame, holder))
                case _:
                    _assign_item(frame, value(frame, base), at, item)
        case Display():
            _assign_all(frame, target, item)
        case Starred(value=inner):
            assign(frame, inner, Sequence("list", [], True))


def _assign_item(frame: Frame, base: Value, index: Value, item: Value) -> None:
    """Bind `base[index]`."""
    if isinstance(base, Mapping):
        if isinstance(index, Const):
            put(base, index.value, item, frame.context)
        else:
            base.open = True
            base.set(("?", len(base.items)), item)
    elif isinstance(base, Sequence):
        base.open = True
        base.add(item)


def _assign_all(frame: Frame, target: Display, item: Value) -> None:
    site = frame.site(target.place)
    if any(isinstance(node, Starred) for node in target.items):
        for node in target.items:
            assign(frame, node, UNKNOWN)
        return
    unpacked = operators.unpack(frame, item, len(target.items), site)
    for node, part in zip(target.items, unpacked, strict=True):
        assign(frame, node, part)


def _assign(frame: Frame, node: Assign) -> bool:
    item = value(frame, node.value)
    for target in node.targets:
        if type(target) is Name:
            frame.store(target.id, item)
        else:
            assign(frame, target, item)
    return False


def _augmented(frame: Frame, node: AugmentedAssign) -> bool:
    before = value(frame, node.target)
    item = value(frame, node.value)
    site = frame.site(first_place(node.target))
    if isinstance(before, Sequence) and isinstance(item, Sequence) and node.op == "Add":
        before.extend(item.items)
        before.open = before.open or item.open or not frame.context.runs_once_with(before.made)
        return False
    assign(
        frame,
        node.target,
        operators.binary(frame, node.op, before, item, site, (node.target, node.value)),
    )
    return False


def _annotated(frame: Frame, node: AnnotatedAssign) -> bool:
    if node.value is not None:
        assign(frame, node.target, value(frame, node.value))
    return False


def _expression(frame: Frame, node: ExpressionStatement) -> bool:
    value(frame, node.value)
    return False


def _return(frame: Frame, node: Return) -> bool:
    frame.returns.append(NONE if node.value is None else value(frame, node.value))
    return True


def _with(frame: Frame, node: With) -> bool:
    if not context_managers.expects_failure(node.items):
        return _with_block(frame, node)
    with context_managers.unrecorded(frame):
        _with_block(frame, node)
    return False


def _with_block(frame: Frame, node: With) -> bool:
    opened: list[tuple[Value, Site]] = []
    with frame.scopes_closed():
        for each in node.items:
            manager = value(frame, each.manager)
            site = frame.site(first_place(each.manager))
            bound = context_managers.enter(frame, manager, site)
            opened.append((manager, site))
            if each.target is not None:
                assign(frame, each.target, bound)
        built, returned = frame.session.operations, len(frame.returns)
        ended = frame.block(node.body)
        for manager, site in reversed(opened):
            operations, values = frame.session.operations - built, tuple(frame.returns[returned:])
            context_managers.leave(frame, manager, site, operations, values)
    return ended


def _define(frame: Frame, node: Define) -> bool:
    code = frame.module.facts.functions[node.function]
    frame.store(code.name, define_function(frame, code))
    return False


def _define_class(frame: Frame, node: DefineClass) -> bool:
    code = frame.module.facts.classes[node.class_]
    frame.store(code.name, define_class(frame, code))
    return False


def _import(frame: Frame, node: Import) -> bool:
    for name in node.names:
        imported = frame.session.imported(frame.module, name.name, 0)
        if name.asname is not None:
            frame.store(name.asname, imported)
        else:
            first = name.name.split(".")[0]
            frame.store(first, frame.session.imported(frame.module, first, 0))
    return False


def _import_from(frame: Frame, node: ImportFrom) -> bool:
    session, module = frame.session, frame.module
    source = session.imported(module, node.module, node.level)
    if node.names is None:
        session.import_all(module, source)
        return False
    for name in node.names:
        imported = session.import_name(module, source, node.module, node.level, name.name)
        frame.store(name.asname or name.name, imported)
    return False


def _nothing(frame: Frame, node: Statement) -> bool:
    return False


def _jump(frame: Frame, node: Jump) -> bool:
    frame.jumps.append(dict(frame.env.names))
    return False


def _raise(frame: Frame, node: Raise) -> bool:
    for item in node.items:
        value(frame, item)
    return True


def _assert(frame: Frame, node: Assert) -> bool:
    for item in node.items:
        value(frame, item)
    return False


def _delete(frame: Frame, node: Delete) -> bool:
    for target in node.targets:
        if isinstance(target, Name):
            frame.env.names.pop(target.id, None)
        elif isinstance(target, Subscript):
            base, index = value(frame, target.base), value(frame, target.index)
            if isinstance(base, Mapping) and isinstance(index, Const):
                drop(base, index.value, frame.context)
            elif isinstance(base, (Mapping, Sequence)):
                base.open = True
    return False


_HANDLERS: dict[type[Statement], Callable[[Frame, Any], bool]] = {
    Assign: _assign,
    AugmentedAssign: _augmented,
    AnnotatedAssign: _annotated,
    ExpressionStatement: _expression,
    Return: _return,
    If: branches.if_,
    For: branches.for_,
    While: branches.while_,
    With: _with,
    Try: branches.try_,
    Define: _define,
    DefineClass: _define_class,
    Import: _import,
    ImportFrom: _import_from,
    Scoping: _nothing,
    Delete: _delete,
    Raise: _raise,
    Assert: _assert,
    Pass: _nothing,
    Jump: _jump,
    Match: branches.match_,
}
