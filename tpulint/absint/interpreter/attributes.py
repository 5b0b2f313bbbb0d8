"""Reading and writing attributes."""

from __future__ import annotations

from collections.abc import Mapping as Names
from functools import lru_cache

from tpulint.absint.domain import objects, values
from tpulint.absint.domain.events import Context, Tensor, Variable
from tpulint.absint.domain.objects import Class, ExternalObject, Function, Instance, Super, mro
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import Bound, Const, External, ModuleValue, Opaque, Value
from tpulint.absint.interpreter import calls
from tpulint.absint.interpreter.calls import opaque_arguments
from tpulint.absint.interpreter.frame import Frame

WITH_METHODS = (
    objects.Sequence,
    objects.Mapping,
    objects.ContextManagerValue,
    objects.TraceTimeValue,
    Const,
    Function,
    values.Partial,
    Bound,
    Tensor,
    Variable,
)
METHOD = "?."  # the path of a method whose receiver the call carries


def method(receiver: Value, name: str) -> Bound:
    return Bound(_method(name), receiver)


@lru_cache(maxsize=4096)
def _method(name: str) -> External:
    return External(METHOD + name)


def get(frame: Frame, base: Value, name: str, site: Site) -> Value:
    """Return `base.name`."""
    if isinstance(base, External):
        return of_outside(frame, base, name)
    value = frame.library.attribute(frame, base, name, site)
    if value is not None:
        return value
    if isinstance(base, values.Choice):
        # None has no `name`.
        held = [option for option in base.options if option != values.NONE] or base.options
        return base.each(get(frame, option, name, site) for option in held)
    if isinstance(base, ModuleValue):
        return frame.session.module_attribute(base, name, frame)
    if isinstance(base, Instance):
        return _of_instance(frame, base, name, site)
    if isinstance(base, Class):
        return Const(base.code.name) if name == "__name__" else _of_class(base, name)
    if isinstance(base, Opaque):
        return base.child(name, f"{base.path}.{name}")
    if isinstance(base, Super):
        return _of_super(frame, base, name)
    if isinstance(base, ExternalObject):
        value = base.attributes.get(name)
        return method(base, name) if value is None else value
    return method(base if isinstance(base, WITH_METHODS) else values.UNKNOWN, name)


def of_outside(frame: Frame, base: External, name: str) -> Value:
    """Return the attribute of something that is not in the project."""
    if name in frame.library.context_queries:
        return values.ContextQuery(name)
    path = base.path
    if name[:1].isupper():
        path = frame.library.base_of_class(path)
    return values.outside(f"{path}.{name}")


def _of_instance(frame: Frame, base: Instance, name: str, site: Site) -> Value:
    value = base.attributes.get(name) or _bound_name(frame, base, name, site)
    if value is None and _set_up(frame, base, name):
        value = base.attributes.get(name)
    if value is not None:
        return value
    if name == "__class__":
        return base.cls
    if name == "__dict__":
        held = base.attributes
        return objects.Mapping(held, True, made=base.context, attributes=held)
    if base.cls.outer_bases:
        return method(base, name)
    return base.attributes.setdefault(name, Opaque(f"self.{name}"))


def _set_up(frame: Frame, instance: Instance, name: str) -> bool:
    """Read the methods that set `self.name`, unseen; return whether there was one to read."""
    if name in instance.attempted:
        return False
    instance.attempted.add(name)
    tried = False
    for cls in mro(instance.cls):
        if not isinstance(cls, Class):
            continue
        for index in cls.module.facts.setters(cls.code, name):
            function = cls.names.get(cls.module.facts.functions[index].name)
            tried = _run_unseen(frame, instance, function, cls.module) or tried
        if name in instance.attributes:
            break
    return tried


def run_before(frame: Frame, instance: Instance, name: str) -> None:
    """Read the method that a library calls before it calls the object first, unseen."""
    if name not in instance.attempted:
        instance.attempted.add(name)
        for cls in mro(instance.cls):
            if isinstance(cls, Class) and name in cls.names:
                _run_unseen(frame, instance, cls.names[name], cls.module)
                break


def _run_unseen(frame: Frame, instance: Instance, function: Value | None, module: Module) -> bool:
    """Run a method where the object was made; return whether that was possible.

    What made the object has most likely called it, there or later under the same blocks.
    """
    if not isinstance(function, Function) or frame.session.is_active(function):
        return False
    context = instance.context
    if context is None or context.computation is not None:
        context = Context()
    inner = frame.inner(module, objects.Env({}), context.without_recording())
    with frame.session.guessing():
        args = opaque_arguments(function, instance)
        calls.call_function(inner, function, args, Site(module, -1))
    return True


def _bound_name(frame: Frame, base: Instance, name: str, site: Site) -> Value | None:
    """Return a method or a class attribute seen through the instance; properties are called."""
    value = _in_class(base.cls, name)
    if not isinstance(value, Function):
        return value
    if "property" in value.hints:
        return calls.call(frame, Bound(value, base), (), site, name)
    if "staticmethod" in value.hints:
        return value
    return Bound(value, base.cls if "classmethod" in value.hints else base)


def _of_super(frame: Frame, base: Super, name: str) -> Value:
    """Return the next definition after the owner's in the instance's order, bound to it."""
    line = mro(base.instance.cls) if isinstance(base.instance, Instance) else []
    line = line if base.owner in line else mro(base.owner)
    for cls in line[line.index(base.owner) + 1 :]:
        if isinstance(cls, Class) and name in cls.names:
            value = cls.names[name]
            return Bound(value, base.instance) if isinstance(value, Function) else value
    return method(base.instance, name)


def _of_class(cls: Class, name: str) -> Value:
    value = _in_class(cls, name)
    if isinstance(value, Function) and "classmethod" in value.hints:
        return Bound(value, cls)
    outer = (External(f"{base.path}.{name}") for base in mro(cls) if isinstance(base, External))
    return next(outer, values.UNKNOWN) if value is None else value


def _in_class(cls: Class, name: str) -> Value | None:
    for base in mro(cls):
        if isinstance(base, Class) and name in base.names:
            return base.names[name]
    return None


def put(frame: Frame, base: Value, name: str, item: Value) -> None:
    """Set `base.name = item`; under a condition the old value stays possible."""
    frame.library.bind(item, name)
    if isinstance(base, values.Choice):
        for option in base.options:
            put(frame, option, name, item)
        return
    if isinstance(base, (Instance, ExternalObject)):
        store, since = base.attributes, base.context
    elif isinstance(base, Opaque):
        store, since = base.children, None
    elif isinstance(base, Class):
        store, since = base.names, None
    elif isinstance(base, ModuleValue):
        store, since = frame.session.globals_of(base, frame), None
    else:
        if isinstance(base, Function) and name == "__name__":
            base.hints |= {objects.RENAMED}
        return
    is_sure = frame.context.runs_once_with(since) and not (
        isinstance(base, ModuleValue) and frame.context.is_guess
    )
    store[name] = item if is_sure or name not in store else values.join([store[name], item])


def put_any(frame: Frame, base: Value) -> None:
    """Do `setattr(base, name, item)` with an unseen name: plain attributes may be others now.

    Those that hold methods, or what a library made, are not what is set so.
    """
    for option in base.options:
        if isinstance(option, Instance):
            for cls in reversed(mro(option.cls)):
                names = cls.names if isinstance(cls, Class) else {}
                _make_unknown(option.attributes, names)
            _make_unknown(option.attributes, dict(option.attributes))
        elif isinstance(option, ModuleValue):
            names = frame.session.globals_of(option, frame)
            _make_unknown(names, dict(names))


def _make_unknown(held: dict[str, Value], names: Names[str, Value]) -> None:
    for name, value in names.items():
        if all(isinstance(option, Const) for option in value.options):
            held[name] = Opaque(f"self.{name}")
