"""Arguments for a function whose caller is not seen."""

from __future__ import annotations

from tpulint.analysis.domain.events import Argument
from tpulint.analysis.domain.objects import Function
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import UNKNOWN, Opaque, Value


def opaque_arguments(function: Function, receiver: Value | None) -> tuple[Argument, ...]:
    """Return opaque things named as the parameters of `function`."""
    code = function.code.parameters
    names = [each.name for each in code.by_position]
    site = Site(function.module, -1)
    found = []
    for position, name in enumerate(names):
        value = receiver if position == 0 and receiver is not None else Opaque(name)
        found.append(Argument(None, "", value, site))
    for name, _ in code.keyword_only:
        found.append(Argument(name, "", Opaque(name), site))
    if code.star is not None:
        found.append(Argument(None, "*", UNKNOWN, site))
    if code.star_star is not None:
        found.append(Argument(None, "**", UNKNOWN, site))
    return tuple(found)
