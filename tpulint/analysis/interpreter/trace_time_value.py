"""Values that Python draws or reads while device code is traced: each step gets the same one."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.analysis.domain.events import Effect
from tpulint.analysis.domain.objects import TraceTimeValue
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Value
from tpulint.analysis.interpreter.frame import Frame


def among(items: Iterable[Value]) -> TraceTimeValue | None:
    """Return the first of the values that is frozen."""
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
