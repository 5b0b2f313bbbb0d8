"""Check that a callable of the project can take the arguments that it is given."""

from __future__ import annotations

from inspect import Parameter, Signature

from tpulint.absint.domain.events import Arguments
from tpulint.absint.domain.objects import Class, Function, Instance, mro
from tpulint.absint.domain.values import Bound, Partial, Value
from tpulint.frontends.tensorflow.knowledge import tables, tf_names
from tpulint.syntax import ir
from tpulint.syntax.nodes import CallNode, Expression, last_name


def misfit(callee: Value, arguments: Arguments) -> str | None:
    """Return Python's error for the call; None where it fits, or where that is not known."""
    signature = signature_of(callee)
    if signature is None or any(argument.star for argument in arguments):
        return None
    plain: list[None] = [None for argument in arguments if argument.keyword is None]
    named: dict[str, None] = {argument.keyword: None for argument in arguments if argument.keyword}
    while isinstance(callee, Partial):  # what partials have put in before
        plain += [None for _ in callee.args]
        named = {name: None for name, _ in callee.kwargs} | named
        callee = callee.function
    try:
        signature.bind(*plain, **named)
    except TypeError as error:
        return str(error)
    return None


def signature_of(callee: Value) -> Signature | None:
    """Return the parameters of a callable, None where they are not seen or may be changed."""
    if isinstance(callee, Partial):
        return signature_of(callee.function)
    if isinstance(callee, Bound):
        inner = signature_of(callee.function)
        rows = [] if inner is None else list(inner.parameters.values())
        if rows and rows[0].kind is Parameter.VAR_POSITIONAL:
            return inner
        # None where there is no first one to bind.
        plain = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        return Signature(rows[1:]) if rows and rows[0].kind in plain else None
    if isinstance(callee, Instance):
        method = call_method(callee.cls)
        return None if method is None else signature_of(Bound(method, callee))
    if not isinstance(callee, Function) or not all(map(_keeps, callee.code.decorators)):
        return None
    return Signature(_parameters(callee.code.parameters))


def _parameters(code: ir.Parameters) -> list[Parameter]:
    star = [] if code.star is None else [ir.Parameter(code.star, None)]
    star_star = [] if code.star_star is None else [ir.Parameter(code.star_star, None)]
    return [
        Parameter(name, kind, default=Parameter.empty if default is None else default)
        for kind, rows in (
            (Parameter.POSITIONAL_ONLY, code.positional_only),
            (Parameter.POSITIONAL_OR_KEYWORD, code.positional),
            (Parameter.VAR_POSITIONAL, star),
            (Parameter.KEYWORD_ONLY, code.keyword_only),
            (Parameter.VAR_KEYWORD, star_star),
        )
        for name, default in rows
    ]


def call_method(cls: Class) -> Value | None:
    """Return the function that a call of an object of `cls` runs; None where an unseen base may."""
    for base in mro(cls):
        if not isinstance(base, Class):
            return None
        if "__call__" in base.names:
            return base.names["__call__"]
    return None


def _keeps(decorator: Expression) -> bool:
    """Return whether a decorator leaves the parameters as they are."""
    name = last_name(decorator.callee if isinstance(decorator, CallNode) else decorator)
    return name in tf_names.TRACERS or name in tables.function_preserving() or name in _METHODS


_METHODS = ("staticmethod", "classmethod", "cache", "contextmanager")
