"""Branches, loops and handlers: what is read under a condition, and what holds after it."""

from __future__ import annotations

from typing import Any

from tpulint.analysis.domain.context import COND, LOOP, ONCE, WHILE, Layer
from tpulint.analysis.domain.values import UNKNOWN, Built, Tensor, Value, join
from tpulint.analysis.interpreter import operators, trace_time_value, transfer
from tpulint.analysis.interpreter.conditions import condition_key, guards_creation, truth
from tpulint.analysis.interpreter.expressions import value
from tpulint.analysis.interpreter.frame import Activation
from tpulint.analysis.interpreter.tpu_flags import says_tpu
from tpulint.analysis.interpreter.trace_time_value import Frozen

Names = dict[str, Value]


def if_(act: Activation, node: Any) -> bool:
    test = value(act, node[2])
    known = truth(test)
    if known is not None:
        return _settled(act, node, known)
    on_tpu = says_tpu(node[2]) if act.where.computation is not None else None
    if on_tpu is not None:
        return act.machine.block(act, node[3] if on_tpu else node[4])
    site = act.site(node[1])
    if isinstance(test, Frozen):
        trace_time_value.note(act, "decides", test, site)
    if isinstance(test, Tensor) and act.machine.autograph(act.where):
        return _traced_if(act, node, test)
    before = act.where
    key = condition_key(test, node[2], site)
    start = dict(act.env.names)
    act.where = before.when(key, True)
    ended = act.machine.block(act, node[3])
    then_names, then_where = act.env.names, act.where
    act.env.names = start
    act.where = before.when(key, False)
    else_ended = act.machine.block(act, node[4])
    if ended and else_ended:
        return True
    if ended:
        return False  # the rest of the block is the else side's, under its condition
    if else_ended:
        act.env.names, act.where = then_names, then_where
        return False
    act.where = before
    act.env.names = _joined(then_names, act.env.names)
    return False


def _settled(act: Activation, node: Any, known: bool) -> bool:
    """An `if` whose test is known here; what it makes the first time it makes once."""
    if not guards_creation(node[2]):
        return act.machine.block(act, node[3] if known else node[4])
    before = act.where
    act.where = before.inside(Layer(ONCE, act.site(node[1])))
    ended = act.machine.block(act, node[3] if known else node[4])
    leaves = not known and bool(node[3]) and node[3][-1][0] in ("return", "raise")
    if not leaves:
        act.where = act.where._replace(layers=before.layers)
    return ended


def _traced_if(act: Activation, node: Any, test: Tensor) -> bool:
    """`if tensor:` in code that autograph converts: a tf.cond whose outputs are the names set."""
    site = act.site(node[1])
    before = act.where
    start = dict(act.env.names)
    transfer.touch(act, [test], site, "predicate")
    act.where = before.inside(Layer(COND, site, test, autograph=True))
    ended = act.machine.block(act, node[3])
    then_names = act.env.names
    act.env.names = dict(start)
    act.where = before.inside(Layer(COND, site, test, autograph=True))
    else_ended = act.machine.block(act, node[4])
    act.where = before
    names = _joined(then_names, act.env.names)
    act.env.names = _through(act, start, names, test, site)
    return ended and else_ended


def _through(act: Activation, start: Names, names: Names, test: Value, site: Any) -> Names:
    """Names that traced control flow changed leave it as its outputs."""
    return {
        name: item if start.get(name) is item else transfer.leave_control(act, item, [test], site)
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


def for_(act: Activation, node: Any) -> bool:
    source = value(act, node[3])
    site = act.site(node[1])
    traced = act.machine.autograph(act.where) and (
        isinstance(source, Tensor) or (isinstance(source, Built) and "range" in source.path)
    )
    kind = WHILE if traced else LOOP
    item = operators.element_of(act, source, site)
    known = operators.items_of(act, source)
    if known is not None and not known:
        return act.machine.block(act, node[5])
    before = act.where
    start = dict(act.env.names)
    act.where = before.inside(Layer(kind, site, source, autograph=traced))
    act.machine.assign(act, node[2], item)
    _round(act, node[4])
    act.where = before
    if known is None:
        act.env.names = _joined(start, act.env.names)
    if traced:
        act.env.names = _through(act, start, act.env.names, source, site)
    _else(act, node[4], node[5])
    return False


def while_(act: Activation, node: Any) -> bool:
    site = act.site(node[1])
    before = act.where
    start = dict(act.env.names)
    test = value(act, node[2])
    if truth(test) is False:
        return act.machine.block(act, node[4])
    traced = isinstance(test, Tensor) and act.machine.autograph(act.where)
    act.where = before.inside(Layer(WHILE if traced else LOOP, site, test, autograph=traced))
    ended = _round(act, node[3])
    act.where = before
    if truth(test) is not True:
        act.env.names = _joined(start, act.env.names)
    if traced:
        act.env.names = _through(act, start, act.env.names, test, site)
    _else(act, node[3], node[4])
    return ended and truth(test) is True


def _round(act: Activation, body: list[Any]) -> bool:
    """One round of a loop, which may be left or cut short at each of its jumps."""
    outer, act.jumps = act.jumps, []
    ended = act.machine.block(act, body)
    for names in act.jumps:
        act.env.names = _joined(act.env.names, names)
    ended = ended and not act.jumps
    act.jumps = outer
    return ended


def _else(act: Activation, body: list[Any], orelse: list[Any]) -> None:
    """The `else` of a loop with this body: what leaves the loop passes it by."""
    if not _leaves(body):
        act.machine.block(act, orelse)
        return
    before, start = act.where, dict(act.env.names)
    act.where = before.when(("else", id(orelse)), True)
    act.machine.block(act, orelse)
    act.where = before
    act.env.names = _joined(start, act.env.names)


def _leaves(body: list[Any]) -> bool:
    """Whether a loop with this body may be left before its end; inner loops are left alone."""
    return any(
        part[:1] == ["break"]
        or (part[:1] not in (["for"], ["while"], ["def"], ["class"]) and _leaves(part))
        for part in body
        if isinstance(part, list)
    )


def try_(act: Activation, node: Any) -> bool:
    start = act.where
    unset = dict(act.env.names)
    ended = act.machine.block(act, node[1])
    after = act.where
    ends = []
    names = act.env.names
    failed = _joined(unset, names)
    for number, (caught, name, body) in enumerate(node[2]):
        if caught is not None:
            value(act, caught)
        act.where = start.when(("except", id(node)), number)
        act.env.names = dict(failed)
        if name is not None:
            act.store(name, UNKNOWN)
        handler_ended = act.machine.block(act, body)
        ends.append(handler_ended)
        if not handler_ended:
            names = _joined(names, act.env.names)
    act.env.names = names
    act.where = after
    if not ended:
        ended = act.machine.block(act, node[3])
        ended = ended and all(ends)
    else:
        ended = all(ends)
    return act.machine.block(act, node[4]) or ended


def match_(act: Activation, node: Any) -> bool:
    value(act, node[1])
    before = act.where
    start = dict(act.env.names)
    names = dict(start)
    for number, (guard, body) in enumerate(node[2]):
        act.env.names = dict(start)
        act.where = before.when(("match", id(node)), number)
        if guard is not None:
            value(act, guard)
        if not act.machine.block(act, body):
            names = _joined(names, act.env.names)
    act.where, act.env.names = before, names
    return False
