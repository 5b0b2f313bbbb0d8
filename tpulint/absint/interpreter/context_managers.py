"""Context managers: which scope a `with` block adds, and contexts entered by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tpulint.absint.domain import objects
from tpulint.absint.domain.context import DEPENDENCIES, STACK, UNSEEN, WITH, Scope
from tpulint.absint.domain.events import ContextChange, Dependencies
from tpulint.absint.domain.objects import ContextManagerValue, Function, Instance
from tpulint.absint.domain.site import CallStep, Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Choice, Opaque, Value, join
from tpulint.absint.interpreter import attributes, calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.syntax.nodes import CallNode, Expression, WithItem, last_name


def enter(frame: Frame, manager: Value, site: Site) -> Value:
    """Enter a `with` item: the scope it adds, the value that `as` binds."""
    if isinstance(manager, Choice):
        return _enter_one_of(frame, manager, site)
    if isinstance(manager, ContextManagerValue):
        if manager.effect == "generator":
            return _enter_generator(frame, manager, site)
        if manager.effect == DEPENDENCIES:
            transfer.touch(frame, [manager.payload], site, DEPENDENCIES)
        frame.open(Scope(WITH, site, manager.payload, effect=manager.effect))
        return manager if manager.effect == STACK else manager.payload
    if isinstance(manager, Instance):
        entering = attributes.get(frame, manager, "__enter__", site)
        if isinstance(entering, Bound) and isinstance(entering.function, Function):
            return calls.call(frame, entering, (), site, "__enter__")
    if isinstance(manager, Opaque) or manager is UNKNOWN:
        frame.open(Scope(WITH, site, manager, effect=UNSEEN))
    if isinstance(manager, (objects.ExternalObject, Opaque, Instance)):
        return manager
    return UNKNOWN


def _enter_one_of(frame: Frame, manager: Choice, site: Site) -> Value:
    """Enter the first scope that an option adds; it is sure where all add one of that meaning.

    Of the scopes of several owners it is that of the device's, which is sure: the premise of all
    that is said is that the program runs on the device. So it is where another option adds none,
    if whether the program has that owner is open, too.
    """
    library, outer = frame.library, len(frame.context.scopes)
    with frame.scopes_closed():
        bound = [enter(frame, option, site) for option in manager.options]
        extra = sorted(
            frame.context.scopes[outer:],
            key=lambda opened: not library.is_preferred_owner(opened.payload),
        )
    effects = [scope.effect for scope in extra if scope.kind == WITH]
    is_certain = len(set(effects)) == 1
    if is_certain and len(effects) < len(manager.options):
        is_certain = library.is_chosen_owner(extra[0].payload, frame.context)
    elif is_certain and not library.is_preferred_owner(extra[0].payload):
        is_certain = len({library.scope_owner(scope.payload) for scope in extra}) == 1
    frame.open(*(replace(scope, is_uncertain=not is_certain) for scope in extra[:1]))
    return bound[0]


def _enter_generator(frame: Frame, manager: ContextManagerValue, site: Site) -> Value:
    """Enter a @contextmanager function: the scopes open at its yield are open in the block."""
    assert isinstance(manager.payload, calls.GeneratorContextCall)
    function, args = manager.payload.function, manager.payload.args
    opened = frame.session.opened
    if not frame.can_enter(function, args, site):
        frame.open(*opened.get(id(function.code), ()))  # as it did before the budget was spent
        return UNKNOWN
    context = frame.context.called(CallStep(site, function.name))
    inner = frame.inner(function.module, objects.Env({}, function.env, function), context, function)
    calls.bind(inner, function, args)
    frame.session.enter(function, args)
    try:
        inner.block(function.code.body)
    finally:
        frame.session.leave()
    if not inner.yields:
        return UNKNOWN
    outer = len(frame.context.scopes)
    extra = [scopes[outer:] for _, scopes in inner.yields]
    first = next((scope for scope in extra if scope), ())
    effects = {
        tuple(scope.effect if scope.kind == WITH else scope.kind for scope in scopes)
        for scopes in extra
    }
    is_certain = len(effects) == 1
    scopes = first if is_certain else tuple(replace(scope, is_uncertain=True) for scope in first)
    opened[id(function.code)] = scopes
    frame.open(*scopes)
    return join(item for item, _ in inner.yields)


def leave(
    frame: Frame, manager: Value, site: Site, built: int, returned: tuple[Value, ...] = ()
) -> None:
    """Leave a `with` item whose block built so many operations; a stack closes what it holds."""
    if isinstance(manager, ContextManagerValue) and manager.effect == STACK:
        note(frame, manager.effect, "exit", site, manager)
    elif isinstance(manager, ContextManagerValue) and manager.effect == DEPENDENCIES:
        computation = frame.recorded
        if computation is not None:
            dependencies = Dependencies(manager.payload, site, frame.context, built, returned)
            computation.dependencies.append(dependencies)
    elif isinstance(manager, Instance):
        leaving = attributes.get(frame, manager, "__exit__", site)
        if isinstance(leaving, Bound) and isinstance(leaving.function, Function):
            no_error = calls.by_position(site, NONE, NONE, NONE)
            calls.call(frame, leaving, no_error, site, "__exit__")


def by_hand(
    frame: Frame, manager: ContextManagerValue, name: str, items: list[Value], site: Site
) -> Value:
    """Call a method of a context manager by hand: `__enter__`, `Enter`, `close`, ..."""
    if name in ("__enter__", "Enter"):
        note(frame, manager.effect, "enter", site, manager)
        _open_for_rest(frame, manager, site)
        return manager.payload
    if name in ("__exit__", "Exit", "close"):
        note(frame, manager.effect, "exit", site, manager)
        opened = [scope.payload for scope in frame.context.scopes]
        # The scope of an owner was opened by hand, too.
        if frame.library.scope_owner(manager.payload) is not None and manager.payload in opened:
            frame.close(manager.payload)
        return UNKNOWN
    if name == "pop_all":
        stack = ContextManagerValue(STACK, site)  # it holds what was entered on `manager`
        for change in frame.recorded.context_changes if frame.recorded is not None else ():
            if change.holder is manager:
                change.holder = stack
        return stack
    if name == "enter_context" and items:
        _open_for_rest(frame, items[0], site)
        for option in items[0].options:
            if isinstance(option, ContextManagerValue):
                note(frame, option.effect, "enter", site, manager)
                return option.payload
    return UNKNOWN


def _open_for_rest(frame: Frame, manager: Value, site: Site) -> None:
    """Open the scope of an owner for the rest of the function, or of the stack's block.

    Device code has a record of what it enters by hand.
    """
    if frame.context.computation is None and all(
        isinstance(option, ContextManagerValue)
        and frame.library.scope_owner(option.payload) is not None
        for option in manager.options
    ):
        enter(frame, manager, site)


def note(frame: Frame, effect: str, direction: str, site: Site, holder: object) -> None:
    """Record that a context was entered or left by hand."""
    computation = frame.recorded
    if computation is not None:
        context_change = ContextChange(effect, direction, site, frame.context, holder)
        computation.context_changes.append(context_change)


EXPECTS = "assertRaises"  # and `assertRaisesRegex`, `assertRaisesOpError`, ...
RAISES = "raises"  # pytest's
MARKS = frozenset(["expectedFailure", "xfail"])


def is_failing_call(name: str) -> bool:
    """Return whether a call of this name runs what must raise."""
    return name.startswith(EXPECTS) or name == RAISES


def expects_failure(items: list[WithItem]) -> bool:
    """Return whether one of the items of a `with` expects its block to fail."""
    return any(is_failing_call(_called(item.manager)) for item in items)


def is_marked_to_fail(decorators: list[Expression]) -> bool:
    """Return whether a test function is marked to fail."""
    return any(MARKS & {last_name(decorator), _called(decorator)} for decorator in decorators)


@contextmanager
def unrecorded(frame: Frame) -> Iterator[None]:
    """Record nothing meanwhile; what other modules define is still read for itself."""
    session = frame.session
    called_before = set(session.called)
    with frame.without_recording():
        yield
    own = {id(function) for function in frame.module.facts.functions}
    session.called -= {code for code in session.called - called_before if code not in own}


def _called(node: Expression) -> str:
    return last_name(node.callee) if isinstance(node, CallNode) else ""
