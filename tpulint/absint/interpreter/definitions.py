"""`def` and `class`: functions as their decorators make them, classes with their names."""

from __future__ import annotations

from dataclasses import replace

from tpulint.absint.domain.context import DECORATED, UNCONVERTED
from tpulint.absint.domain.objects import (
    AS_WRITTEN,
    Class,
    ContextManagerValue,
    Env,
    ExternalObject,
    Function,
    function_of,
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
    function = Function(code, frame.module, frame.env, defaults=named_defaults(frame, code))
    decorated = _with_decorators(frame, function, code)
    if (
        not frame.context.is_unrecorded
        and isinstance(decorated, Function)
        and decorated.code is code
    ):
        frame.library.define(frame, decorated)
    return decorated


def named_defaults(frame: Frame, code: ir.FunctionCode) -> dict[str, Value]:
    """Return the defaults that are names bound around the function: these may mean others later."""
    defaults = {
        name: frame.env.names.get(default.id)
        for name, default in code.parameters.named
        if isinstance(default, Name)
    }
    return {
        name: value
        for name, value in defaults.items()
        if value is not None and not isinstance(value, Imported)
    }


def _with_decorators(frame: Frame, function: Value, code: ir.FunctionCode) -> Value:
    """Apply decorators, innermost first."""
    unchanged = 0
    for node in reversed(code.decorators):
        decorator = frame.value(node)
        decorated = _decorated(frame, function, decorator, Site(frame.module, code.place))
        if decorated is not None:
            unchanged += decorated is function
            function = decorated
        elif not isinstance(decorator, ContextManagerValue):
            function = _with_unseen_decorator(frame, function, node)
    if 0 < unchanged == len(code.decorators) and isinstance(function, Function):
        function.hints |= {AS_WRITTEN}
    return function


def _with_unseen_decorator(frame: Frame, function: Value, node: Expression) -> Value:
    """Apply a decorator that is not seen: it may trace the function unless its name tells."""
    name = last_name(node.callee if isinstance(node, CallNode) else node)
    if not isinstance(function, Function) or not frame.library.may_trace(name):
        return function
    return replace(function, hints=function.hints | {DECORATED})


def _decorated(frame: Frame, function: Value, decorator: Value, site: Site) -> Value | None:
    """Return what a decorator makes of a function; None where that is not seen."""
    decorator_options: Options = ()
    if isinstance(decorator, Partial) and isinstance(decorator.function, External):
        decorator_options, decorator = decorator.kwargs, decorator.function
    if isinstance(decorator, (ExternalObject, ContextManagerValue)) or not isinstance(
        function, (Function, Bound)
    ):
        return None
    if isinstance(decorator, External):
        last = decorator.last
        decorated = frame.library.decorate(frame, function, decorator, decorator_options)
        if decorated is not None:
            return decorated
        if last in HINTS and isinstance(function, Function):
            hint = "property" if last == "cached_property" else last
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
        base
        for node in code.bases
        for base in [frame.value(node)]
        if isinstance(base, (Class, External))
    )
    cls = Class(code, frame.module, frame.env, bases, {})
    inner = frame.inner(frame.module, Env({}, frame.env), frame.context)
    for statement in code.body:
        if isinstance(statement, Define):
            function = frame.module.facts.functions[statement.function]
            inner.env.names[function.name] = define_method(inner, function, cls)
        else:
            inner.block([statement])
    cls.names = inner.env.names
    _register(frame, cls)
    return cls


def _register(frame: Frame, cls: Class) -> None:
    """Call the decorators of a class that are functions of the project: they may keep the class.

    What they return is taken for the class itself.
    """
    site = Site(frame.module, cls.code.place)
    for node in reversed(cls.code.decorators):
        decorator = frame.value(node)
        if function_of(decorator) is not None:
            calls.call(frame, decorator, calls.by_position(site, cls), site)


def define_method(inner: Frame, code: ir.FunctionCode, owner: Class) -> Value:
    """Define a method, which closes over what is around its class, not over the class's names."""
    defaults = named_defaults(inner, code)
    function = Function(code, inner.module, inner.env.outer, owner, defaults=defaults)
    return _with_decorators(inner, function, code)
