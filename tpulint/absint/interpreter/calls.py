"""Calling: who is called, with which names bound, and what comes back."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import combinations

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain import objects, values
from tpulint.absint.domain.context import ConditionKey, Scope
from tpulint.absint.domain.events import Argument, Arguments, Context
from tpulint.absint.domain.objects import Class, ExternalObject, Function, Instance, Sequence, mro
from tpulint.absint.domain.site import CallStep, Site
from tpulint.absint.domain.structures import all_tensors, holds_only_code
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Choice, Opaque, Partial, Value, join
from tpulint.absint.interpreter import dataclass_fields, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.absint.interpreter.session import Identity
from tpulint.syntax.nodes import Constant, Expression

POST_INIT = "__post_init"  # what dataclasses, Pydantic's, too, call after their `__init__`
NESTED_TOO_DEEPLY = "calls nested too deeply"


@dataclass(eq=False)
class GeneratorContextCall(Value):
    """A call of a @contextmanager function that was not entered yet."""

    function: Function
    args: Arguments


def call(frame: Frame, callee: Value, args: Arguments, site: Site, named: str = "") -> Value:
    """Call `callee(*args)` and return the result; `named` is its last name as it is written."""
    if isinstance(callee, Choice):
        return _call_choice(frame, callee, args, site, named)
    wrapper = frame.library.wrapper(named, callee)
    if wrapper is not None:
        return frame.library.call(frame, wrapper, None, args, site)
    if isinstance(callee, values.External):
        return frame.library.call(frame, callee, None, args, site)
    if isinstance(callee, Function):
        return call_function(frame, callee, args, site)
    if isinstance(callee, Bound):
        if isinstance(callee.function, values.External):
            return frame.library.call(frame, callee.function, callee.receiver, args, site)
        if isinstance(callee.receiver, Instance) and isinstance(callee.function, Function):
            frame.library.note_method_call(frame, callee.function, callee.receiver, args, site)
        args = (*by_position(site, callee.receiver), *args)
        if isinstance(callee.function, Function):
            return call_function(frame, callee.function, args, site)
        return call(frame, callee.function, args, site)
    if isinstance(callee, Partial):
        first = by_position(site, *callee.args)
        named_args = tuple(Argument(key, "", value, site) for key, value in callee.kwargs)
        later = {argument.keyword for argument in args if argument.keyword}
        earlier = tuple(own for own in named_args if own.keyword not in later)
        return call(frame, callee.function, (*first, *args, *earlier), site)
    if isinstance(callee, Class):
        return instantiate(frame, callee, args, site)
    if isinstance(callee, Instance):
        for cls in mro(callee.cls):
            method = cls.names.get("__call__") if isinstance(cls, Class) else None
            if isinstance(method, Function):
                return call(frame, Bound(method, callee), args, site)
        return frame.library.call_instance(frame, callee, args, site)
    if isinstance(callee, ExternalObject):
        return frame.library.call_object(frame, callee, args, site)
    if callee is values.UNLISTED:
        reason = f"one of more than {values.MAX_CALLEES}"
        frame.session.note_unfollowed(site, named or "a function", reason)
    return frame.library.call_unknown(frame, callee, args, site, named)


def by_position(site: Site, *items: Value) -> Arguments:
    """Return values as the arguments of a call at `site`, by position."""
    return tuple([Argument(None, "", item, site) for item in items])


def _call_choice(frame: Frame, callee: Choice, args: Arguments, site: Site, named: str) -> Value:
    """Each alternative is called, under the condition that it is the one."""
    # None is no callee, for calling that ends in an error.
    callees = [option for option in callee.options if option != NONE]
    callees = frame.library.callees(frame.context, callees, args) or list(callee.options)
    callees = _of_one_body(callees)
    are_told_apart = _are_made_in_other_branches(frame, callee)
    if len(callees) == 1:
        with frame.at(_where_made(frame.context, callees[0]) if are_told_apart else frame.context):
            return call(frame, callees[0], args, site, named)
    results = []
    kind = scopes.ENTRY if isinstance(callee, values.DictChoice) else scopes.CALLEE
    choice_key = ConditionKey(kind, site, answers=len(callees))
    for number, option in enumerate(callees):
        key = frame.library.condition_of_call(option)
        context = frame.context.when(key, True) if key else frame.context
        if are_told_apart:
            context = _where_made(context, option)
        elif key is None:
            context = context.when(choice_key, number)
        with frame.at(context):
            results.append(call(frame, option, args, site, named))
    # Each object of a registry's classes has methods of its own.
    are_objects = all(isinstance(option, Class) or option is UNKNOWN for option in callees)
    return values.choice_of_many(results) if are_objects else join(results)


def _are_made_in_other_branches(frame: Frame, callee: Choice) -> bool:
    """Return whether each callee is an object that is made in a branch of its own.

    Then the test tells which of them is meant. A test of the call may be answered as the branches
    are, unless it is of a flag, which the user sets.
    """
    owned = [_where_owner_is_made(option) for option in callee.options if option != NONE]
    places = [context for context in owned if context is not None]
    if len(places) < len(owned) or any(place.run != frame.context.run for place in places):
        return False
    tests = [key for place in places for key, _ in frame.context.choices_beyond(place)]
    are_of_settings = all(
        key.kind == scopes.NAME or (key.answer is not None and key.answer.is_setting)
        for key in tests
    )
    return are_of_settings and all(
        later.is_other_branch(earlier) for earlier, later in combinations(places, 2)
    )


def _where_made(context: Context, callee: Value) -> Context:
    """Return `context` under the conditions under which the object that is called was made."""
    creation = _where_owner_is_made(callee) or Context()
    conditions = context.conditions | creation.conditions
    return context._replace(conditions=conditions, assumed=context.assumed | creation.assumed)


def _where_owner_is_made(callee: Value) -> Context | None:
    """Return where the called object, or the object of a called method, was made."""
    return objects.made_at(callee.receiver if isinstance(callee, Bound) else callee)


def _of_one_body(callees: list[Value]) -> list[Value]:
    """Leave one of a function and what traces it: either way its body is reached."""
    distinct: dict[Hashable, Value] = {}
    for number, value in enumerate(callees):
        body, function = _body_of(value) or number, objects.function_of(value)
        if body not in distinct or (function is not None and function.traced):
            distinct[body] = value
    return list(distinct.values())


def _body_of(callee: Value) -> Identity | None:
    """Return which code runs, with which names, for which object; None where it is not seen."""
    if isinstance(callee, Function):
        return id(callee.code), id(callee.env)
    if not isinstance(callee, Bound):
        return None
    body = _body_of(callee.function)
    return None if body is None else (id(callee.receiver), *body)


def instantiate(frame: Frame, cls: Class, args: Arguments, site: Site) -> Value:
    """Make a new object, and read `__init__` with it."""
    value = frame.library.instantiate(frame, cls, args, site)
    if value is not None:
        return value
    instance = Instance(cls, site, frame.context)
    frame.session.note_made(instance)
    bases = mro(cls)
    if cls.outer_bases:
        frame.count_possible_operation()
    for base in bases:
        if isinstance(base, Class) and isinstance(base.names.get("__init__"), Function):
            call(frame, Bound(base.names["__init__"], instance), args, site)
            return instance
    frame.library.initialize(frame, instance, args, site)
    dataclass_fields.fill(instance, args)
    for base in bases:
        for name, method in base.names.items() if isinstance(base, Class) else ():
            if name.startswith(POST_INIT) and isinstance(method, Function):
                call(frame, Bound(method, instance), (), site)
    return instance


def call_function(frame: Frame, function: Function, args: Arguments, site: Site) -> Value:
    """Read the body of `function` with its parameters bound."""
    if "contextmanager" in function.hints:  # it is read when it is entered
        return objects.ContextManagerValue("generator", site, GeneratorContextCall(function, args))
    if not frame.can_enter(function, args, site):
        earlier = UNKNOWN if args else frame.session.returned.get(id(function.code), UNKNOWN)
        return earlier if holds_only_code(earlier) else _unread(frame, args, site)
    context = frame.context.called(CallStep(site, function.name))
    if function.traced:
        payload = objects.TracedCall(function, context.conditions)
        label = frame.library.traced_function
        context = context.inside(Scope(scopes.FUNCTION, site, payload, label=label))
    elif scopes.DECORATED in function.hints:
        context = context.inside(Scope(scopes.WITH, site, UNKNOWN, effect=scopes.DECORATED))
    if scopes.UNCONVERTED in function.hints:
        context = context.inside(Scope(scopes.WITH, site, effect=scopes.UNCONVERTED))
    inner = frame.inner(function.module, objects.Env({}, function.env, function), context, function)
    inner.caller, inner.call_site = frame, site
    bind(inner, function, args)
    frame.session.enter(function, args)
    try:
        result = finish(inner, function)
    except RecursionError:  # what is read in a frame that is left so is lost with the frame
        frame.session.note_unfollowed(site, function.name or "a lambda", NESTED_TOO_DEEPLY)
        return UNKNOWN
    finally:
        frame.session.leave()
    if not args:
        frame.session.returned[id(function.code)] = result
    return result


def _unread(frame: Frame, args: Arguments, site: Site) -> Value:
    """Return the result of a call that is not followed: a model is still made of all its layers."""
    if frame.context.computation is not None:
        return UNKNOWN
    items = all_tensors(argument.value for argument in args)
    is_of_model = any(tensor.layer is not None for tensor in items)
    return transfer.flow(frame, items, site, "unseen") if is_of_model else UNKNOWN


def finish(inner: Frame, function: Function) -> Value:
    """Run the body; the values returned (or yielded) are the result."""
    ended = inner.block(function.code.body)
    if function.code.inside.is_generator:
        return Sequence("generator", [item for item, _ in inner.yields], True)
    if not ended:
        inner.returns.append(NONE)
    return join(inner.returns) if inner.returns else UNKNOWN


def bind(inner: Frame, function: Function, args: Arguments) -> None:
    """Put the arguments under the parameters' names, as Python does."""
    code = function.code.parameters
    names = code.names_by_position
    env = inner.env.names
    rest: list[Value] = []
    starred = False
    keywords: dict[str, Value] = {}
    for argument in args:
        if argument.star == "*":
            starred = True
            rest.append(UNKNOWN)
        elif argument.star == "**":
            keywords.setdefault("**", UNKNOWN)
        elif argument.keyword is not None:
            keywords[argument.keyword] = argument.value
            inner.given[argument.keyword] = argument
        elif len(env) < len(names) and not starred:
            name = names[len(env)]
            env[name], inner.given[name] = argument.value, argument
        else:
            rest.append(argument.value)
    for name, default in code.named:
        if name in keywords:
            env[name] = keywords.pop(name)
        elif name not in env:
            if not starred and "**" not in keywords:
                env[name] = function.defaults.get(name) or _default(inner, function, name, default)
            elif isinstance(default, Constant) and isinstance(default.value, (bool, type(None))):
                env[name] = Opaque(name, default=values.Const(default.value))
            else:
                env[name] = UNKNOWN
    if code.star is not None:
        env[code.star] = Sequence("tuple", rest, starred)
    if code.star_star is not None:
        rest_by_name = {key: item for key, item in keywords.items() if key != "**"}
        env[code.star_star] = objects.Mapping(rest_by_name, "**" in keywords, made=inner.context)


def _default(inner: Frame, function: Function, name: str, default: Expression | None) -> Value:
    """Read a default where the function was defined."""
    if default is None:
        return Opaque(name)
    outer = function.env or inner.session.module_env(function.module)
    unrecorded = inner.inner(function.module, outer, inner.context.without_recording())
    return unrecorded.value(default)


def traced(callee: Value) -> Value:
    """Return `callee` as a library traces it."""
    if isinstance(callee, Function):
        return replace(callee, traced=True)
    if isinstance(callee, Bound) and isinstance(callee.function, Function):
        return Bound(replace(callee.function, traced=True), callee.receiver)
    if isinstance(callee, Partial):
        function = traced(callee.function)
        if isinstance(function, Function):  # it is not seen by its name: a `partial` has none
            function = replace(function, hints=function.hints | {objects.RENAMED})
        return Partial(function, callee.args, callee.kwargs)
    if isinstance(callee, Choice):
        return join(traced(option) for option in callee.options)
    return callee


def opaque_arguments(function: Function, receiver: Value | None) -> Arguments:
    """Return opaque things named as the parameters of `function`."""
    code = function.code.parameters
    site = Site(function.module, -1)
    arguments = [Argument(None, "", Opaque(name), site) for name in code.names_by_position]
    if receiver is not None and arguments:
        arguments[0] = arguments[0]._replace(value=receiver)
    arguments += [Argument(name, "", Opaque(name), site) for name, _ in code.keyword_only]
    for star, name in (("*", code.star), ("**", code.star_star)):
        if name is not None:
            arguments.append(Argument(None, star, UNKNOWN, site))
    return tuple(arguments)
