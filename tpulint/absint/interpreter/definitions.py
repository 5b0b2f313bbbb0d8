"""`def` and `class`: functions as their decorators make them, classes with their names."""

from __future__ import annotations

from dataclasses import replace

from tpulint.absint.domain import objects
from tpulint.absint.domain.context import DECORATED, UNCONVERTED
from tpulint.absint.domain.objects import Class, Function
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import Bound, External, Imported, Partial, Value
from tpulint.absint.interpreter import calls
from tpulint.absint.interpreter.frame import Frame, Options
from tpulint.syntax import ir
from tpulint.syntax.nodes import CallNode, Define, Name, last_name

HINTS = frozenset(["contextmanager", "property", "staticmethod", "classmethod", "setter", "wraps"])


def define_function(frame: Frame, code: ir.FunctionCode) -> Value:
    """Return the value of a `def` in a function or a module."""
    function = Function(code, frame.module, frame.env, defaults=named_defaults(frame, code))
    decorated = _with_decorators(frame, function, code)
    is_recorded = not frame.context.is_unrecorded
    if is_recorded and isinstance(decorated, Function) and decorated.code is code:
        frame.library.define(frame, decorated)
    return decorated


def named_defaults(frame: Frame, code: ir.FunctionCode) -> dict[str, Value]:
    """Return the defaults that are names bound around the function: these may mean others later."""
    defaults = {}
    for name, default in code.parameters.named:
        value = frame.env.names.get(default.id) if isinstance(default, Name) else None
        if value is not None and not isinstance(value, Imported):
            defaults[name] = value
    return defaults


def _with_decorators(frame: Frame, function: Value, code: ir.FunctionCode) -> Value:
    """Apply decorators, innermost first."""
    unchanged = 0
    for node in reversed(code.decorators):
        decorator = frame.value(node)
        decorated = _decorated(frame, function, decorator, Site(frame.module, code.place))
        if decorated is not None:
            unchanged += decorated is function
            function = decorated
        elif not isinstance(decorator, objects.ContextManagerValue):
            # One that is not seen may trace the function unless its name tells.
            name = last_name(node.callee if isinstance(node, CallNode) else node)
            if isinstance(function, Function) and frame.library.may_trace(name):
                function = replace(function, hints=function.hints | {DECORATED})
    if 0 < unchanged == len(code.decorators) and isinstance(function, Function):
        function.hints |= {objects.AS_WRITTEN}
    return function


def _decorated(frame: Frame, function: Value, decorator: Value, site: Site) -> Value | None:
    """Return what a decorator makes of a function; None where that is not seen."""
    decorator_options: Options = ()
    if isinstance(decorator, Partial) and isinstance(decorator.function, External):
        decorator_options, decorator = decorator.kwargs, decorator.function
    is_object = isinstance(decorator, (objects.ExternalObject, objects.ContextManagerValue))
    if is_object or not isinstance(function, (Function, Bound)):
        return None
    if isinstance(decorator, External):
        decorated = frame.library.decorate(frame, function, decorator, decorator_options)
        if decorated is not None:
            return decorated
        hint = "property" if decorator.last == "cached_property" else decorator.last
        if hint in HINTS and isinstance(function, Function):
            return replace(function, hints=function.hints | {hint})
    if isinstance(decorator, (Function, Bound, Partial)):
        wrapped = calls.call(frame, decorator, calls.by_position(site, function), site)
        if isinstance(wrapped, (Function, Bound, Partial)):
            return wrapped
    return None


def unconverted(function: Value) -> Value:
    """Return a function in which no control flow is converted."""
    if isinstance(function, Function):
        return replace(function, hints=function.hints | {UNCONVERTED})
    return function


def define_class(frame: Frame, code: ir.ClassCode) -> Class:
    """Define a class: its body is read once, in names of its own."""
    bases = tuple(
        base for base in map(frame.value, code.bases) if isinstance(base, (Class, External))
    )
    cls = Class(code, frame.module, frame.env, bases, {})
    inner = frame.inner(frame.module, objects.Env({}, frame.env), frame.context)
    for statement in code.body:
        if isinstance(statement, Define):
            function = frame.module.facts.functions[statement.function]
            # It closes over what is around its class, not over the class's names.
            defaults = named_defaults(inner, function)
            method = Function(function, inner.module, frame.env, cls, defaults=defaults)
            inner.env.names[function.name] = _with_decorators(inner, method, function)
        else:
            inner.block([statement])
    cls.names = inner.env.names
    # Decorators that are functions of the project are called: they may keep the class. What they
    # return is taken for the class itself.
    site = Site(frame.module, code.place)
    for decorator in map(frame.value, reversed(code.decorators)):
        if objects.function_of(decorator) is not None:
            calls.call(frame, decorator, calls.by_position(site, cls), site)
    return cls
