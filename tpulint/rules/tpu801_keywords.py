"""Keywords that no release of the target takes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.analysis.names.target_release import Target
from tpulint.finding import Applicability, Edit, Fix, Location
from tpulint.knowledge import names
from tpulint.queries.absent_names import newest

NEAR = 0.75


def is_guessed_call(call: ApiCall, target: Target) -> bool:
    """Return whether another function may be meant, or another release than the project's.

    What it takes in releases that are not configured may not be known.
    """
    seen = 0
    for mask, _ in names.parameters(call.path):
        seen |= mask
    elsewhere = names.having(call.path) & ~target.mask & ~seen
    return call.context.is_guess or bool(elsewhere and not target.configured)


def release_of(call: ApiCall, target: Target) -> str:
    if not target.stated:
        return "in any release of TensorFlow"
    return f"in TensorFlow {newest(target.mask & names.having(call.path))}"


def unknown_keywords(call: ApiCall, target: Target) -> Iterator[tuple[Argument, str]]:
    """The keywords that no release of the target takes, with the nearest one that it takes."""
    wanted = target.mask & names.having(call.path) & names.spoken_of(call.path)
    taken: set[str] = set()
    seen = 0
    for mask, parameters in names.parameters(call.path):
        seen |= mask
        if mask & wanted:
            taken.update(each.rstrip("=") for each in parameters.strip("()").split(","))
    if not wanted or wanted & ~seen or "**" in taken:
        return
    for each in call.arguments:
        if each.keyword and each.keyword not in taken:
            near = difflib.get_close_matches(each.keyword, sorted(taken - {"*", "|"}), 1, NEAR)
            yield each, near[0] if near else ""


def corrected(argument: Argument, near: str) -> Fix:
    start = argument.site.span.start
    end = Location(start.row, start.column + len(argument.keyword or ""))
    return Fix(Applicability.UNSAFE, f"write `{near}=`", (Edit(start, end, near),))
