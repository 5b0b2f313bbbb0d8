"""The interpreter of one program: statements in order, by frames that know how to evaluate."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ParamSpec

from tpulint.absint.domain.events import Context, Tensor
from tpulint.absint.domain.objects import Env, Mapping, Sequence
from tpulint.absint.domain.program import ProgramEvents
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.structures import drop, put
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, Opaque, Value
from tpulint.absint.interpreter import attributes, branches, context_managers, operators, transfer
from tpulint.absint.interpreter.definitions import define_class, define_function
from tpulint.absint.interpreter.expressions import value
from tpulint.absint.interpreter.frame import Frame, Library, Observer
from tpulint.absint.interpreter.session import Session
from tpulint.absint.resolver.project import Project
from tpulint.syntax import nodes
from tpulint.syntax.nodes import Block, Expression, first_place


def _assign_item(frame: Frame, base: Value, index: Value, item: Value) -> None:
    """Bind `base[index]`."""
    if isinstance(base, Opaque) and isinstance(index, Const):
        if base.held is None:
            base.held = Mapping({}, True, made=frame.context)
        base = base.held
    if isinstance(base, Mapping):
        if isinstance(index, Const):
            put(base, index.value, item, frame.context)
        else:
            base.open = True
            base.set(("?", len(base.items)), item)
    elif isinstance(base, Sequence):
        base.open = True
        base.add(item)
    elif isinstance(base, Tensor):
        base.of_all = None  # of a structure of such values, one may be reduced


def _assign_all(frame: Frame, target: nodes.Display, item: Value) -> None:
    site = frame.site(target.place)
    if any(isinstance(node, nodes.Starred) for node in target.items):
        for node in target.items:
            frame.assign(node, UNKNOWN)
        return
    transfer.note_iteration(frame, item, site)
    unpacked = operators.unpack(frame, item, len(target.items), site)
    for node, part in zip(target.items, unpacked, strict=True):
        frame.assign(node, part)


def _assign(frame: Frame, node: nodes.Assign) -> None:
    item = value(frame, node.value)
    for target in node.targets:
        frame.assign(target, item)


def _augmented(frame: Frame, node: nodes.AugmentedAssign) -> None:
    before = value(frame, node.target)
    item = value(frame, node.value)
    site = frame.site(first_place(node.target))
    if isinstance(before, Sequence) and isinstance(item, Sequence) and node.op == "Add":
        before.extend(item.items)
        before.open = before.open or item.open or not frame.context.runs_once_with(before.made)
        return
    both = node.target, node.value
    frame.assign(node.target, operators.binary(frame, node.op, before, item, site, both))


def _annotated(frame: Frame, node: nodes.AnnotatedAssign) -> None:
    if node.value is not None:
        frame.assign(node.target, value(frame, node.value))


def _expression(frame: Frame, node: nodes.ExpressionStatement) -> None:
    value(frame, node.value)


def _return(frame: Frame, node: nodes.Return) -> bool:
    frame.returns.append(NONE if node.value is None else value(frame, node.value))
    return True


def _with(frame: Frame, node: nodes.With) -> bool:
    if not context_managers.expects_failure(node.items):
        return _with_block(frame, node)
    with context_managers.unrecorded(frame):
        _with_block(frame, node)
    return False


def _with_block(frame: Frame, node: nodes.With) -> bool:
    opened: list[tuple[Value, Site]] = []
    with frame.scopes_closed():
        for with_item in node.items:
            manager = value(frame, with_item.manager)
            site = frame.site(first_place(with_item.manager))
            bound = context_managers.enter(frame, manager, site)
            opened.append((manager, site))
            if with_item.target is not None:
                frame.assign(with_item.target, bound)
        built, returned = frame.session.operations, len(frame.returns)
        ended = frame.block(node.body)
        for manager, site in reversed(opened):
            operations, values = frame.session.operations - built, tuple(frame.returns[returned:])
            context_managers.leave(frame, manager, site, operations, values)
    return ended


def _define(frame: Frame, node: nodes.Define) -> None:
    code = frame.module.facts.functions[node.function]
    frame.store(code.name, define_function(frame, code))


def _define_class(frame: Frame, node: nodes.DefineClass) -> None:
    code = frame.module.facts.classes[node.class_]
    frame.store(code.name, define_class(frame, code))


def _import(frame: Frame, node: nodes.Import) -> None:
    for name in node.names:
        bound = name.name if name.asname else name.name.partition(".")[0]
        frame.store(name.asname or bound, frame.session.imported(frame.module, bound, 0))


def _import_from(frame: Frame, node: nodes.ImportFrom) -> None:
    session, module = frame.session, frame.module
    source = session.imported(module, node.module, node.level)
    if node.names is None:
        session.star_imports.setdefault(module, []).append(source)
    for name in node.names or ():
        imported = session.import_name(module, source, node.module, node.level, name.name)
        frame.store(name.asname or name.name, imported)


def _nothing(frame: Frame, node: nodes.Statement) -> None:
    """Go on: it does nothing."""


def _jump(frame: Frame, node: nodes.Jump) -> None:
    frame.jumps.append(dict(frame.env.names))


def _raise(frame: Frame, node: nodes.Raise) -> bool:
    for item in node.items:
        value(frame, item)
    return True


def _assert(frame: Frame, node: nodes.Assert) -> None:
    """Ask the test for its truth: nothing converts that, unless an option says so."""
    test, *message = node.items
    transfer.note_tensor_test(frame, value(frame, test), test, "assert", converts=False)
    for item in message:
        value(frame, item)


def _delete(frame: Frame, node: nodes.Delete) -> None:
    for target in node.targets:
        if isinstance(target, nodes.Name):
            frame.env.names.pop(target.id, None)
        elif isinstance(target, nodes.Subscript):
            base, index = value(frame, target.base), value(frame, target.index)
            base = base.held or base if isinstance(base, Opaque) else base
            if isinstance(base, Mapping) and isinstance(index, Const):
                drop(base, index.value, frame.context)
            elif isinstance(base, (Mapping, Sequence)):
                base.open = True


# A handler returns whether what follows the statement is never reached.
_HANDLERS: dict[type[nodes.Statement], Callable[[Frame, Any], bool | None]] = {
    nodes.Assign: _assign,
    nodes.AugmentedAssign: _augmented,
    nodes.AnnotatedAssign: _annotated,
    nodes.ExpressionStatement: _expression,
    nodes.Return: _return,
    nodes.If: branches.if_,
    nodes.For: branches.for_,
    nodes.While: branches.while_,
    nodes.With: _with,
    nodes.Try: branches.try_,
    nodes.Define: _define,
    nodes.DefineClass: _define_class,
    nodes.Import: _import,
    nodes.ImportFrom: _import_from,
    nodes.Delete: _delete,
    nodes.Raise: _raise,
    nodes.Assert: _assert,
    nodes.Pass: _nothing,
    nodes.Jump: _jump,
    nodes.Match: branches.match_,
}


# Frames of Python's: a call that is read takes about 25, and so many fit a stack of 8 MB.
RECURSION_LIMIT = 5_000
STACK_ITEMS = 2**17 + 1  # of 8 bytes: a chunk of 2 MB, of which half is free. It is not touched.
P = ParamSpec("P")


def call_with_deep_stack(function: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call `function` with room for it to recurse as deep as programs nest their calls."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        _call_in_large_chunk(function, *args, **kwargs)
    finally:
        sys.setrecursionlimit(limit)


def _call_in_large_chunk(function: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    function(*args, **kwargs)


# CPython keeps the frames of Python functions in chunks of 16 KB, and asks the system for a chunk
# each time the calls grow beyond the last. A deep recursion does so all the time, which took a
# tenth of a check. The chunk of a frame with a large stack of its own is at least as large, and
# the frames of what it calls fit in.
_call_in_large_chunk.__code__ = _call_in_large_chunk.__code__.replace(co_stacksize=STACK_ITEMS)


class EvaluatingFrame(Frame):
    """A frame that evaluates expressions and statements of the summary language."""

    def value(self, node: Expression) -> Value:
        return value(self, node)

    def block(self, body: Block) -> bool:
        for statement in body:
            self.statement, before = statement, self.context
            ended = _HANDLERS[type(statement)](self, statement)
            if self.observer is not None:
                self.observer.read(self, statement, before)
            if ended:
                return True
        return False

    def assign(self, target: Expression, item: Value) -> None:
        match target:
            case nodes.Name(id=name):
                self.store(name, item)
            case nodes.Attribute(base=base, name=name):
                attributes.put(self, value(self, base), name, item)
            case nodes.Subscript(base=base, index=index):
                at = value(self, index)
                match base:
                    case nodes.Attribute(base=holder, name="__dict__") if not isinstance(at, Const):
                        attributes.put_any(self, value(self, holder))
                    case _:
                        _assign_item(self, value(self, base), at, item)
            case nodes.Display():
                _assign_all(self, target, item)
            case nodes.Starred(value=inner):
                self.assign(inner, Sequence("list", [], True))


class Interpreter(Session):
    """A reader of modules and functions; `library` answers calls that leave the project."""

    library: Library

    def __init__(
        self,
        project: Project,
        library: Library,
        observer: Observer | None = None,
        program: ProgramEvents | None = None,
    ) -> None:
        super().__init__(project, library, ProgramEvents() if program is None else program)
        self.observer = observer

    def frame(self, module: Module, env: Env, context: Context) -> Frame:
        """Return a frame that nothing calls: that of a module's body, or around a root."""
        return EvaluatingFrame(self, self.library, module, env, context, observer=self.observer)

    def read_body(self, module: Module, env: Env) -> None:
        self.frame(module, env, self.new_run()).block(module.facts.body)
