"""`tf.variable_scope`: the full names of variables, and which of them are one.

With `reuse`, `get_variable` gives the variable of that name in the graph if there is one
(tensorflow/python/ops/variable_scope.py).
"""

from __future__ import annotations

from tpulint.analysis.domain.effects import GRAPH, VARIABLE_SCOPE
from tpulint.analysis.domain.events import Context
from tpulint.analysis.domain.objects import ContextManagerValue, ExternalObject
from tpulint.analysis.domain.values import NONE, UNKNOWN, Const, External, Value
from tpulint.analysis.models.call import Call

ROOT = Const("")
NAME, REUSE = "full name", "reuse"


ANSWERED = frozenset(["variable_scope", "get_variable_scope"])


def answer(this: Call) -> Value | None:
    if this.receiver is not None:
        return None
    if this.name == "variable_scope":
        return ContextManagerValue(VARIABLE_SCOPE, this.site, _opened(this))
    if this.name == "get_variable_scope":
        return current(this.frame.context) or _scope(this, ROOT, NONE)
    return None


def _opened(this: Call) -> ExternalObject:
    outer = current(this.frame.context)
    given = this.get("name_or_scope", 0) or NONE
    reuse = this.get("reuse", 5) or NONE
    if reuse == NONE:
        reuse = outer.attributes[REUSE] if outer is not None else NONE
    if isinstance(given, ExternalObject) and NAME in given.attributes:
        return _scope(this, given.attributes[NAME], reuse)
    return _scope(this, _below(outer.attributes[NAME] if outer else ROOT, given), reuse)


def _scope(this: Call, name: Value, reuse: Value) -> ExternalObject:
    made = ExternalObject(this.path, this.site, this.frame.context)
    made.attributes[NAME], made.attributes[REUSE] = name, reuse
    return made


def _below(outer: Value, name: Value) -> Value:
    if isinstance(outer, Const) and isinstance(name, Const) and isinstance(name.value, str):
        return Const(f"{outer.value}/{name.value}" if outer.value else name.value)
    return UNKNOWN


def current(context: Context) -> ExternalObject | None:
    """Return the innermost variable scope of the graph that is being built."""
    for scope in reversed(context.scopes):
        if scope.effect == GRAPH:
            return None
        if scope.effect == VARIABLE_SCOPE and isinstance(scope.payload, ExternalObject):
            return scope.payload
    return None


def identity(this: Call, name: Value | None) -> tuple[object, ...] | None:
    """Return what a variable made here shares with those that are the same; None if not known."""
    scope = current(this.frame.context)
    full = _below(scope.attributes[NAME] if scope is not None else ROOT, name or UNKNOWN)
    if not isinstance(full, Const):
        return None
    graphs = [id(each) for each in this.frame.context.scopes if each.effect == GRAPH]
    return ("named", this.frame.context.run, tuple(graphs[-1:]), full.value)


def reuses(this: Call) -> bool:
    """Return whether a variable of the name is taken where there is one."""
    scope = current(this.frame.context)
    reuse = scope.attributes[REUSE] if scope is not None else NONE
    return reuse == Const(True) or (isinstance(reuse, External) and reuse.last == "AUTO_REUSE")
