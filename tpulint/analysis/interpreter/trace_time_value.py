"""Values that Python draws or reads while device code is traced: each step gets the same one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tpulint.analysis.domain.program import Effect, Site
from tpulint.analysis.domain.values import Value
from tpulint.analysis.interpreter.frame import Frame


@dataclass(frozen=True)
class TraceTimeValue(Value):
    """The result of `time.time()`, `random.random()` and their kin, or arithmetic on one.

    path: the function's dotted name. site: its call.
    """

    path: str
    site: Site

    @property
    def is_drawn(self) -> bool:
        """Whether it is a random number, not a time."""
        return "random" in self.path


def among(items: Iterable[Value]) -> TraceTimeValue | None:
    """The first of the values that is frozen."""
    for each in items:
        if type(each) is TraceTimeValue:
            return each
    return None


def note(frame: Frame, kind: str, value: TraceTimeValue, site: Site) -> None:
    """Write down that device code computes with it, or decides by it."""
    if frame.context.on_device and not frame.context.muted:
        computation = frame.context.computation
        assert computation is not None
        found = Effect(kind, value.path, site, frame.context, value.site, True)
        computation.effects.append(found)
