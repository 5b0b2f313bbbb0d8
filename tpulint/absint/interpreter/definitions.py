"""`def` and `class`: functions as their decorators make them, classes with their names."""

from __future__ import annotations

from dataclasses import replace

from tpulint.absint.domain.context import DECORATED, UNCONVERTED
from tpulint.absint.domain.objects import (
    Class,
    ContextManagerValue,
    Env,
    ExternalObject,
    Function,
)
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import Bound, External, Imported, Partial, Value
from tpulint.absint.interpreter import calls
from tpulint.absint.interpreter.frame import Frame, Options
from tpulint.syntax import ir
from tpulint.syntax.nodes import CallNode, Define, Expression, Name, last_name

HINTS = frozenset(
    [
        "contextmanager",
        "property",
        "cached_property",
        "staticmethod",
        "classmethod",
        "setter",
        "wraps",
    ]
)


def define_function(frame: Frame, code: ir.FunctionCode) -> Value:
    """Return the value of a `def` in a function or a module."""
    found = Function(code, frame.module, frame.env, defaults=named_defaults(frame, code))
    made = _with_decorators(frame, found, code)
    if not frame.context.is_unrecorded and isinstance(made, Function) and made.code is code:
        frame.library.define(frame, made)
    return made


def named_defaults(frame: Frame, code: ir.FunctionCode) -> dict[str, Value]:
    """Return the defaults that are names bound around the function: these may mean others later."""
    found = {
        name: frame.env.names.get(default.id)
        for name, default in code.parameters.named
        if isinstance(default, Name)
    }
    return {
        name: value
        for name, value in found.items()
        if value is not None and not isinstance(value, Imported)
    }


def _with_decorators(frame: Frame, found: Value, code: ir.FunctionCode) -> Value:
    """Apply decorators, innermost first."""
    for node in reversed(code.decorators):
        decorator = frame.value(node)
        before = found
        found = _decorated(frame, found, decorator, Site(frame.module, code.place))
        if found is before and not isinstance(decorator, ContextManagerValue):
            found = _with_unseen_decorator(frame, found, node)
    return found


def _with_unseen_decorator(frame: Frame, found: Value, node: Expression) -> Value:
    """Apply a decorator that is not seen: it may trace the function unless its name tells."""
    name = last_name(node.callee if isinstance(node, CallNode) else node)
    if not isinstance(found, Function) or not frame.library.may_trace(name):
        return found
    return replace(found, hints=found.hints | {DECORATED})


def _decorated(frame: Frame, found: Value, decorator: Value, site: Site) -> Value:
    given_options: Options = ()
    if isinstance(decorator, Partial) and isinstance(decorator.function, External):
        given_options, decorator = decorator.kwargs, decorator.function
    if isinstance(decorator, (ExternalObject, ContextManagerValue)) or not isinstance(
        found, (Function, Bound)
    ):
        return found
    if isinstance(decorator, External):
        last = decorator.last
        decorated = frame.library.decorate(frame, found, decorator, given_options)
        if decorated is not None:
            return decorated
        if last in HINTS and isinstance(found, Function):
            hint = "property" if last == "cached_property" else last
            return replace(found, hints=found.hints | {hint})
    if isinstance(decorator, (Function, Bound, Partial)):
        wrapped = calls.call(frame, decorator, (calls.positional_argument(found, site),), site)
        if isinstance(wrapped, (Function, Bound, Partial)):
            return wrapped
    return found


def unconverted(found: Value) -> Value:
    """Return a function in which no control flow is converted."""
    if isinstance(found, Function):
        return replace(found, hints=found.hints | {UNCONVERTED})
    return found


def define_class(frame: Frame, code: ir.ClassCode) -> Class:
    """Define a class: its body is read once, in names of its own."""
    bases = tuple(
        each
        for node in code.bases
        for each in [frame.value(node)]
        if isinstance(each, (Class, External))
    )
    made = Class(code, frame.module, frame.env, bases, {})
    inner = frame.inner(frame.module, Env({}, frame.env), frame.context)
    for statement in code.body:
        if isinstance(statement, Define):
            function = frame.module.facts.functions[statement.function]
            inner.env.names[function.name] = define_method(inner, function, made)
        else:
            inner.block([statement])
    made.names = inner.env.names
    return made


def define_method(inner: Frame, code: ir.FunctionCode, owner: Class) -> Value:
    """Define a method, which closes over what is around its class, not over the class's names."""
    defaults = named_defaults(inner, code)
    found = Function(code, inner.module, inner.env.outer, owner, defaults=defaults)
    return _with_decorators(inner, found, code)
