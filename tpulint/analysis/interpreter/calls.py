"""Calling: who is called, with which names bound, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpulint.analysis.domain.context import CALLEE, CONTEXT, FUNCTION, Layer
from tpulint.analysis.domain.program import ApiCall, Argument, Frame, Site
from tpulint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Bound,
    Built,
    Choice,
    Class,
    Env,
    External,
    Function,
    Instance,
    Managed,
    Mapping,
    Opaque,
    Partial,
    Sequence,
    Value,
    join,
)
from tpulint.analysis.interpreter import attributes, dataclass_fields
from tpulint.analysis.interpreter.frame import Activation
from tpulint.knowledge import seam

Arguments = tuple[Argument, ...]
DECORATED = "a decorator that is not seen"


@dataclass(eq=False)
class Suspended(Value):
    """A call of a @contextmanager function that was not entered yet."""

    function: Function
    args: Arguments


def call(act: Activation, callee: Value, args: Arguments, site: Site, named: str = "") -> Value:
    """The result of `callee(*args)`; `named` is the callee's last name as it is written."""
    if isinstance(callee, Choice):
        return _call_choice(act, callee, args, site, named)
    wrapper = act.machine.wrapper(named, callee)
    if wrapper is not None:
        return act.machine.api(act, wrapper, None, args, site)
    if isinstance(callee, Function):
        return call_function(act, callee, args, site)
    if isinstance(callee, Bound):
        if isinstance(callee.function, External):
            return act.machine.api(act, callee.function, callee.receiver, args, site)
        if isinstance(callee.receiver, Instance) and isinstance(callee.function, Function):
            _note_update(act, callee.function.name, callee.receiver, args, site)
        return call(act, callee.function, (given(callee.receiver, site), *args), site)
    if isinstance(callee, Partial):
        first = tuple(given(each, site) for each in callee.args)
        named_args = tuple(Argument(key, "", each, site, []) for key, each in callee.kwargs)
        later = {each.keyword for each in args if each.keyword}
        kept = tuple(each for each in named_args if each.keyword not in later)
        return call(act, callee.function, (*first, *args, *kept), site)
    if isinstance(callee, Class):
        return instantiate(act, callee, args, site)
    if isinstance(callee, External):
        return act.machine.api(act, callee, None, args, site)
    if isinstance(callee, Instance):
        return _call_instance(act, callee, args, site)
    if isinstance(callee, Built):
        return act.machine.call_built(act, callee, args, site)
    return act.machine.unknown_call(act, callee, args, site, named)


def _note_update(
    act: Activation, name: str, receiver: Instance, args: Arguments, site: Site
) -> None:
    """A class of the project with `apply_gradients` of its own may be an optimizer."""
    computation = act.where.computation
    if name in seam.OPTIMIZER_UPDATES and computation is not None and not act.where.muted:
        made = ApiCall(f"?.{name}", site, act.where, args, receiver, UNKNOWN)
        computation.updates.append(made)


def given(value: Value, site: Site) -> Argument:
    return Argument(None, "", value, site, [])


def _call_choice(act: Activation, callee: Choice, args: Arguments, site: Site, named: str) -> Value:
    """Each alternative is called, under the condition that it is the one."""
    before = act.where
    results = []
    for number, option in enumerate(callee.options):
        act.where = before.when((CALLEE, site), number)
        results.append(call(act, option, args, site, named))
    act.where = before
    return join(results)


def _call_instance(act: Activation, callee: Instance, args: Arguments, site: Site) -> Value:
    for name in ("__call__", "call"):
        for cls in attributes.mro(callee.cls):
            if isinstance(cls, Class) and isinstance(cls.names.get(name), Function):
                return call(act, Bound(cls.names[name], callee), args, site)
    return act.machine.unknown_call(act, callee, args, site, "")


def instantiate(act: Activation, cls: Class, args: Arguments, site: Site) -> Value:
    """A new object; `__init__` is read with it."""
    made = Instance(cls, site, act.where)
    bases = attributes.mro(cls)
    if any(isinstance(each, External) for each in bases):
        act.machine.may_build(act)
    for each in bases:
        if isinstance(each, Class) and isinstance(each.names.get("__init__"), Function):
            call(act, Bound(each.names["__init__"], made), args, site)
            return made
    dataclass_fields.fill(made, args)
    return made


def call_function(act: Activation, function: Function, args: Arguments, site: Site) -> Value:
    """Read the body of `function` with its parameters bound."""
    machine = act.machine
    if not machine.may_enter(act, function):
        return UNKNOWN
    where = act.where.called(Frame(site, function.name))
    if function.traced:
        where = where.inside(Layer(FUNCTION, site))
    elif DECORATED in function.hints:
        where = where.inside(Layer(CONTEXT, site, (DECORATED, UNKNOWN)))
    inner = Activation(machine, function.module, Env({}, function.env, function), where, function)
    inner.caller, inner.call_site = act, site
    bind(inner, function, args)
    if "contextmanager" in function.hints:
        return Managed("generator", site, Suspended(function, args))
    with machine.entered(function):
        return finish(inner, function)


def finish(inner: Activation, function: Function) -> Value:
    """Run the body; the values returned (or yielded) are the result."""
    ended = inner.machine.block(inner, function.code.body)
    if function.code.is_generator:
        return Sequence("list", [item for item, _ in inner.yields], True)
    if not ended:
        inner.returns.append(NONE)
    return join(inner.returns) if inner.returns else UNKNOWN


def bind(inner: Activation, function: Function, args: Arguments) -> None:
    """Put the arguments under the parameters' names, as Python does."""
    code = function.code.parameters
    names = [name for name, _ in [*code.positional_only, *code.positional]]
    env = inner.env.names
    rest: list[Value] = []
    starred = False
    position = 0
    keywords: dict[str, Value] = {}
    for each in args:
        if each.star == "*":
            starred = True
            rest.append(UNKNOWN)
        elif each.star == "**":
            keywords.setdefault("**", UNKNOWN)
        elif each.keyword is not None:
            keywords[each.keyword] = each.value
            inner.given[each.keyword] = each
        elif position < len(names) and not starred:
            env[names[position]] = each.value
            inner.given[names[position]] = each
            position += 1
        else:
            rest.append(each.value)
    defaults = [*code.positional_only, *code.positional, *code.keyword_only]
    for name, default in defaults:
        if name in keywords:
            env[name] = keywords.pop(name)
        elif name not in env:
            if starred or "**" in keywords:
                env[name] = UNKNOWN
            else:
                env[name] = _default(inner, function, name, default)
    if code.star is not None:
        env[code.star] = Sequence("tuple", rest, starred)
    if code.star_star is not None:
        known = {key: item for key, item in keywords.items() if key != "**"}
        env[code.star_star] = Mapping(known, "**" in keywords, made=inner.where)


def _default(inner: Activation, function: Function, name: str, default: object) -> Value:
    """A default is read where the function was defined."""
    known = function.defaults.get(name)
    if known is not None:
        return known
    if default is None:
        return Opaque(name)
    outer = function.env or inner.machine.module_env(function.module)
    there = Activation(inner.machine, function.module, outer, inner.where.quietly())
    return inner.machine.value(there, default)


def traced(callee: Value) -> Value:
    """`tf.function(callee)`."""
    if isinstance(callee, Function):
        return replace(callee, traced=True)
    if isinstance(callee, Bound) and isinstance(callee.function, Function):
        return Bound(replace(callee.function, traced=True), callee.receiver)
    if isinstance(callee, Partial):
        return Partial(traced(callee.function), callee.args, callee.kwargs)
    if isinstance(callee, Choice):
        return join(traced(option) for option in callee.options)
    return callee
