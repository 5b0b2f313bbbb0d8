"""Context managers: which layer a `with` block adds, and contexts entered by hand."""

from __future__ import annotations

from dataclasses import replace

from tpulint.analysis.domain.context import CONTEXT, Layer
from tpulint.analysis.domain.program import ContextChange, Dependencies, Frame, Site
from tpulint.analysis.domain.values import (
    UNKNOWN,
    Bound,
    Built,
    Choice,
    Const,
    Env,
    Function,
    Instance,
    Managed,
    Opaque,
    Value,
    join,
    options,
)
from tpulint.analysis.interpreter import attributes, calls, transfer
from tpulint.analysis.interpreter.frame import Activation

# Effects that change the control-flow context (the others only add to what is there).
CLEARS = "clears control flow"
INIT_SCOPE = "init_scope"
CONTROL = "control flow context"
SCOPE = "strategy scope"
DEPENDENCIES = "control_dependencies"
GRAPH = "graph"
DEVICE = "device"
STACK = "exit stack"
UNSEEN = "a context that is not seen"


def enter(act: Activation, manager: Value, site: Site) -> Value:
    """Enter a `with` item: the layer it adds, the value that `as` binds."""
    if isinstance(manager, Choice):
        return _enter_one_of(act, manager, site)
    if isinstance(manager, Managed):
        if manager.effect == "generator":
            return _enter_generator(act, manager, site)
        if manager.effect == DEPENDENCIES:
            transfer.touch(act, [manager.payload], site, DEPENDENCIES)
        push(act, manager, site)
        return manager if manager.effect == STACK else manager.payload
    if isinstance(manager, Instance):
        entering = attributes.get(act, manager, "__enter__", site)
        if isinstance(entering, Bound) and isinstance(entering.function, Function):
            return calls.call(act, entering, (), site, "__enter__")
    if isinstance(manager, Opaque) or manager is UNKNOWN:
        act.where = act.where.inside(Layer(CONTEXT, site, (UNSEEN, manager)))
    if isinstance(manager, (Built, Opaque, Instance)):
        return manager
    return UNKNOWN


def _enter_one_of(act: Activation, manager: Choice, site: Site) -> Value:
    """The first layer that an option adds; it is sure where all add one of that meaning."""
    layers = act.where.layers
    bound = [enter(act, option, site) for option in manager.options]
    extra = act.where.layers[len(layers) :]
    effects = [each.payload[0] for each in extra if each.kind == CONTEXT]
    sure = len(effects) == len(manager.options) and len(set(effects)) == 1
    first = [replace(each, perhaps=not sure) for each in extra[:1]]
    act.where = act.where._replace(layers=(*layers, *first))
    return bound[0]


def push(act: Activation, manager: Managed, site: Site) -> None:
    layer = Layer(CONTEXT, site, (manager.effect, manager.payload))
    act.where = act.where.inside(layer)


def _enter_generator(act: Activation, manager: Managed, site: Site) -> Value:
    """A @contextmanager function: the layers open at its yield are open in the block."""
    assert isinstance(manager.payload, calls.Suspended)
    function = manager.payload.function
    from tpulint.analysis.interpreter.frame import Activation as NewActivation

    if not act.machine.may_enter(act, function):
        return UNKNOWN
    where = act.where.called(Frame(site, function.name))
    inner = NewActivation(
        act.machine, function.module, Env({}, function.env, function), where, function
    )
    calls.bind(inner, function, manager.payload.args)
    with act.machine.entered(function):
        act.machine.block(inner, function.code.body)
    if not inner.yields:
        return UNKNOWN
    before = act.where.layers
    extra = [layers[len(before) :] for _, layers in inner.yields]
    first = next((each for each in extra if each), ())
    sure = len({tuple(map(_effect, each)) for each in extra}) == 1
    opened = first if sure else tuple(replace(each, perhaps=True) for each in first)
    act.where = act.where._replace(layers=(*before, *opened))
    return join(item for item, _ in inner.yields)


def _effect(layer: Layer) -> object:
    return layer.payload[0] if layer.kind == CONTEXT else layer.kind


def leave(act: Activation, manager: Value, site: Site, built: int) -> None:
    """Leave a `with` item whose block built so many operations; a stack closes what it holds."""
    if isinstance(manager, Managed) and manager.effect == STACK:
        change(act, manager, "exit", site)
    elif isinstance(manager, Managed) and manager.effect == DEPENDENCIES:
        computation = act.where.computation
        if computation is not None and not act.where.muted:
            found = Dependencies(manager.payload, site, act.where, built)
            computation.dependencies.append(found)
    elif isinstance(manager, Instance):
        leaving = attributes.get(act, manager, "__exit__", site)
        if isinstance(leaving, Bound) and isinstance(leaving.function, Function):
            three = tuple(calls.given(Const(None), site) for _ in range(3))
            calls.call(act, leaving, three, site, "__exit__")


def by_hand(act: Activation, manager: Managed, name: str, items: list[Value], site: Site) -> Value:
    """A method called on a context manager: `__enter__`, `Enter`, `enter_context`, `close`, ..."""
    if name in ("__enter__", "Enter"):
        change(act, manager, "enter", site)
        return manager.payload
    if name in ("__exit__", "Exit", "close"):
        change(act, manager, "exit", site)
        return UNKNOWN
    if name == "pop_all":
        return _given_away(act, manager, site)
    if name == "enter_context" and items:
        for option in options(items[0]):
            if isinstance(option, Managed):
                note(act, option.effect, "enter", site, manager)
                return option.payload
        return UNKNOWN
    return UNKNOWN


def _given_away(act: Activation, manager: Managed, site: Site) -> Managed:
    """A new stack that holds what was entered on `manager`."""
    taken = Managed(STACK, site)
    computation = act.where.computation
    if computation is not None and not act.where.muted:
        for entered in computation.contexts:
            if entered.holder is manager:
                entered.holder = taken
    return taken


def change(act: Activation, manager: Managed, direction: str, site: Site) -> None:
    note(act, manager.effect, direction, site, manager)


def note(act: Activation, effect: str, direction: str, site: Site, holder: object) -> None:
    """Write down that a context was entered or left by hand."""
    if act.where.muted:
        return
    computation = act.where.computation
    if computation is not None:
        found = ContextChange(effect, direction, site, act.where, holder)
        computation.contexts.append(found)
