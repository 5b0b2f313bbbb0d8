"""Edits that take one keyword argument out of a call, and its comma with it."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.diagnostics.fixes.tokens import tokens_of
from tpulint.finding import Edit, Location
from tpulint.source import LINE_END


def dropped(call: ApiCall, argument: Argument) -> tuple[Edit, ...] | None:
    """The edits without `argument`; comments stay. None where the call's text is not as read."""
    rows = LINE_END.split(argument.site.module.text)
    tokens = tokens_of(call.site)
    span = argument.site.span
    if not tokens:
        return None
    first = [each.start for each in tokens].index(span.start)
    if tokens[first].text != argument.keyword:
        return None  # it is one of several in `**options`
    before = tokens[first - 1]
    after = tokens[[each.end for each in tokens].index(span.end) + 1]
    if after.text == ",":
        return (_with_comma_after(rows, span.start, after.end),)
    if before.text != ",":
        return (Edit(span.start, span.end, ""),)
    comma = Edit(before.start, before.end, "")
    return (comma, _with_comma_after(rows, span.start, span.end))


def _with_comma_after(rows: list[str], start: Location, end: Location) -> Edit:
    """Return the edit that removes `start` to `end`, with the blanks or rows left empty."""
    head = rows[start.row - 1][: start.column - 1]
    tail = rows[end.row - 1][end.column - 1 :]
    if not head.strip() and not tail.strip():
        return Edit(Location(start.row, 1), Location(end.row + 1, 1), "")
    if head.strip() and tail.lstrip()[:1] in ("", "#", ")"):
        return Edit(Location(start.row, len(head.rstrip()) + 1), end, "")
    blanks = len(tail) - len(tail.lstrip())
    return Edit(start, Location(end.row, end.column + blanks), "")
