"""Values that Python draws or reads while device code is traced: each step gets the same one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tpulint.analysis.domain.program import Effect, Site
from tpulint.analysis.domain.values import Value
from tpulint.analysis.interpreter.frame import Activation


@dataclass(frozen=True)
class Frozen(Value):
    """The result of `time.time()`, `random.random()` and their kin, or arithmetic on one.

    path: the function's dotted name. site: its call.
    """

    path: str
    site: Site

    @property
    def is_drawn(self) -> bool:
        """Whether it is a random number, not a time."""
        return "random" in self.path


def among(items: Iterable[Value]) -> Frozen | None:
    """The first of the values that is frozen."""
    for each in items:
        if type(each) is Frozen:
            return each
    return None


def note(act: Activation, kind: str, value: Frozen, site: Site) -> None:
    """Write down that device code computes with it, or decides by it."""
    if act.where.on_device and not act.where.muted:
        computation = act.where.computation
        assert computation is not None
        found = Effect(kind, value.path, site, act.where, value.site, True)
        computation.effects.append(found)
