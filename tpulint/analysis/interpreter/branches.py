"""Branches, loops and handlers: what is read under a condition, and what holds after it."""

from __future__ import annotations

from typing import Any

from tpulint.analysis.domain.context import COND, LOOP, ONCE, WHILE, Scope
from tpulint.analysis.domain.events import Tensor
from tpulint.analysis.domain.objects import ExternalObject, TraceTimeValue
from tpulint.analysis.domain.values import UNKNOWN, Value, join
from tpulint.analysis.interpreter import operators, trace_time_value, transfer
from tpulint.analysis.interpreter.conditions import condition_key, guards_creation, truth
from tpulint.analysis.interpreter.expressions import value
from tpulint.analysis.interpreter.frame import Frame
from tpulint.analysis.interpreter.tpu_flags import says_tpu

Names = dict[str, Value]


def if_(frame: Frame, node: Any) -> bool:
    test = value(frame, node[2])
    known = truth(test)
    if known is not None:
        return _settled(frame, node, known)
    on_tpu = says_tpu(node[2]) if frame.context.computation is not None else None
    if on_tpu is not None:
        return frame.session.block(frame, node[3] if on_tpu else node[4])
    site = frame.site(node[1])
    if isinstance(test, TraceTimeValue):
        trace_time_value.note(frame, "decides", test, site)
    if isinstance(test, Tensor) and frame.session.autograph(frame.context):
        return _traced_if(frame, node, test)
    before = frame.context
    key = condition_key(test, node[2], site)
    start = dict(frame.env.names)
    frame.context = before.when(key, True)
    ended = frame.session.block(frame, node[3])
    then_names, then_context = frame.env.names, frame.context
    frame.env.names = start
    frame.context = before.when(key, False)
    else_ended = frame.session.block(frame, node[4])
    if ended and else_ended:
        return True
    if ended:
        return False  # the rest of the block is the else side's, under its condition
    if else_ended:
        frame.env.names, frame.context = then_names, then_context
        return False
    frame.context = before
    frame.env.names = _joined(then_names, frame.env.names)
    return False


def _settled(frame: Frame, node: Any, known: bool) -> bool:
    """An `if` whose test is known here; what it makes the first time it makes once."""
    if not guards_creation(node[2]):
        return frame.session.block(frame, node[3] if known else node[4])
    before = frame.context
    frame.context = before.inside(Scope(ONCE, frame.site(node[1])))
    ended = frame.session.block(frame, node[3] if known else node[4])
    leaves = not known and bool(node[3]) and node[3][-1][0] in ("return", "raise")
    if not leaves:
        frame.context = frame.context._replace(scopes=before.scopes)
    return ended


def _traced_if(frame: Frame, node: Any, test: Tensor) -> bool:
    """`if tensor:` in code that autograph converts: a tf.cond whose outputs are the names set."""
    site = frame.site(node[1])
    before = frame.context
    start = dict(frame.env.names)
    transfer.touch(frame, [test], site, "predicate")
    frame.context = before.inside(Scope(COND, site, test, autograph=True))
    ended = frame.session.block(frame, node[3])
    then_names = frame.env.names
    frame.env.names = dict(start)
    frame.context = before.inside(Scope(COND, site, test, autograph=True))
    else_ended = frame.session.block(frame, node[4])
    frame.context = before
    names = _joined(then_names, frame.env.names)
    frame.env.names = _through(frame, start, names, test, site)
    return ended and else_ended


def _through(frame: Frame, start: Names, names: Names, test: Value, site: Any) -> Names:
    """Names that traced control flow changed leave it as its outputs."""
    return {
        name: item if start.get(name) is item else transfer.leave_control(frame, item, [test], site)
        for name, item in names.items()
    }


def _joined(left: Names, right: Names) -> Names:
    if left == right:
        return left
    names = dict(right)
    for name, item in left.items():
        other = names.get(name)
        names[name] = item if other is None or other is item else join([item, other])
    return names


def for_(frame: Frame, node: Any) -> bool:
    source = value(frame, node[3])
    site = frame.site(node[1])
    traced = frame.session.autograph(frame.context) and (
        isinstance(source, Tensor)
        or (isinstance(source, ExternalObject) and "range" in source.path)
    )
    kind = WHILE if traced else LOOP
    item = operators.element_of(frame, source, site)
    known = operators.items_of(frame, source)
    if known is not None and not known:
        return frame.session.block(frame, node[5])
    before = frame.context
    start = dict(frame.env.names)
    frame.context = before.inside(Scope(kind, site, source, autograph=traced))
    frame.session.assign(frame, node[2], item)
    _round(frame, node[4])
    frame.context = before
    if known is None:
        frame.env.names = _joined(start, frame.env.names)
    if traced:
        frame.env.names = _through(frame, start, frame.env.names, source, site)
    _else(frame, node[4], node[5])
    return False


def while_(frame: Frame, node: Any) -> bool:
    site = frame.site(node[1])
    before = frame.context
    start = dict(frame.env.names)
    test = value(frame, node[2])
    if truth(test) is False:
        return frame.session.block(frame, node[4])
    traced = isinstance(test, Tensor) and frame.session.autograph(frame.context)
    frame.context = before.inside(Scope(WHILE if traced else LOOP, site, test, autograph=traced))
    ended = _round(frame, node[3])
    frame.context = before
    if truth(test) is not True:
        frame.env.names = _joined(start, frame.env.names)
    if traced:
        frame.env.names = _through(frame, start, frame.env.names, test, site)
    _else(frame, node[3], node[4])
    return ended and truth(test) is True


def _round(frame: Frame, body: list[Any]) -> bool:
    """One round of a loop, which may be left or cut short at each of its jumps."""
    outer, frame.jumps = frame.jumps, []
    ended = frame.session.block(frame, body)
    for names in frame.jumps:
        frame.env.names = _joined(frame.env.names, names)
    ended = ended and not frame.jumps
    frame.jumps = outer
    return ended


def _else(frame: Frame, body: list[Any], orelse: list[Any]) -> None:
    """The `else` of a loop with this body: what leaves the loop passes it by."""
    if not _leaves(body):
        frame.session.block(frame, orelse)
        return
    before, start = frame.context, dict(frame.env.names)
    frame.context = before.when(("else", id(orelse)), True)
    frame.session.block(frame, orelse)
    frame.context = before
    frame.env.names = _joined(start, frame.env.names)


def _leaves(body: list[Any]) -> bool:
    """Whether a loop with this body may be left before its end; inner loops are left alone."""
    return any(
        part[:1] == ["break"]
        or (part[:1] not in (["for"], ["while"], ["def"], ["class"]) and _leaves(part))
        for part in body
        if isinstance(part, list)
    )


def try_(frame: Frame, node: Any) -> bool:
    start = frame.context
    unset = dict(frame.env.names)
    ended = frame.session.block(frame, node[1])
    after = frame.context
    ends = []
    names = frame.env.names
    failed = _joined(unset, names)
    for number, (caught, name, body) in enumerate(node[2]):
        if caught is not None:
            value(frame, caught)
        frame.context = start.when(("except", id(node)), number)
        frame.env.names = dict(failed)
        if name is not None:
            frame.store(name, UNKNOWN)
        handler_ended = frame.session.block(frame, body)
        ends.append(handler_ended)
        if not handler_ended:
            names = _joined(names, frame.env.names)
    frame.env.names = names
    frame.context = after
    if not ended:
        ended = frame.session.block(frame, node[3])
        ended = ended and all(ends)
    else:
        ended = all(ends)
    return frame.session.block(frame, node[4]) or ended


def match_(frame: Frame, node: Any) -> bool:
    value(frame, node[1])
    before = frame.context
    start = dict(frame.env.names)
    names = dict(start)
    for number, (guard, body) in enumerate(node[2]):
        frame.env.names = dict(start)
        frame.context = before.when(("match", id(node)), number)
        if guard is not None:
            value(frame, guard)
        if not frame.session.block(frame, body):
            names = _joined(names, frame.env.names)
    frame.context, frame.env.names = before, names
    return False
