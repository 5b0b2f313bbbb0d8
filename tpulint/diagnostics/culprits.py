"""The place and the name of what is at fault in a call: one tensor, not the whole argument."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall, Argument, Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import Value
from tpulint.finding import Location, Span

NAME = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\[\]]{1,20}\])?")


class Culprit(NamedTuple):
    """A stretch of source, and the name that is there; "" where it is no name.

    is_holder: the name is that of a list or dict that holds what is at fault.
    """

    span: Span
    name: str
    is_holder: bool = False

    def called(self, otherwise: str) -> str:
        """Return the name as messages show it, or `otherwise`."""
        if self.is_holder and self.name:
            return f"a tensor in `{self.name}`"
        return f"`{self.name}`" if self.name else otherwise


def in_calls(calls: Iterable[ApiCall], site: Site, tensor: Tensor) -> Culprit:
    """Return the argument that is `tensor` in the call at `site`; else what is at `site`."""
    for call in calls:
        if call.site == site:
            for argument in call.arguments:
                if _holds(argument.value, tensor):
                    return in_argument(argument, tensor)
    return Culprit(site.span, _name(site.module.text, site.span))


def in_argument(argument: Argument, tensor: Tensor) -> Culprit:
    """Return the part of an argument that is `tensor`."""
    module = argument.site.module
    span = _without_keyword(argument)
    value = argument.value
    while isinstance(value, (Sequence, Mapping)):
        element = _element(value, tensor)
        if element is None:
            break
        is_here = value.site is not None and value.site.module is module
        value, place = element
        if place < 0 or not is_here:
            break  # written elsewhere
        inner = module.span(place)
        if not span.start <= inner.start <= inner.end <= span.end:
            break  # passed by a name
        span = inner
    is_holder = isinstance(value, (Sequence, Mapping))
    return Culprit(span, _name(module.text, span), is_holder)


def _holds(value: Value, tensor: Tensor) -> bool:
    return any(each is tensor for each in tensors(value))


def _element(value: Sequence | Mapping, tensor: Tensor) -> tuple[Value, int] | None:
    """Return the item that holds the tensor, and its place."""
    if isinstance(value, Sequence):
        for number, item in enumerate(value.items):
            if _holds(item, tensor):
                return item, value.places[number] if number < len(value.places) else -1
    else:
        for key, item in value.items.items():
            if _holds(item, tensor):
                return item, value.places.get(key, -1)
    return None


def _without_keyword(argument: Argument) -> Span:
    """Return the argument's value as it is written."""
    span = argument.site.span
    begin = f"{argument.keyword}="
    if argument.keyword and _text(argument.site.module.text, span).startswith(begin):
        start = Location(span.start.row, span.start.column + len(begin))
        return span._replace(start=start)
    return span


def _name(text: str, span: Span) -> str:
    written = _text(text, span)
    return written if NAME.fullmatch(written) else ""


def _text(text: str, span: Span) -> str:
    """Return the source of a span in one row; "" for others."""
    lines = text.split("\n")
    if span.start.row != span.end.row or not 0 < span.start.row <= len(lines):
        return ""
    return lines[span.start.row - 1][span.start.column - 1 : span.end.column - 1]
