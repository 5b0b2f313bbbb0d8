"""TPU801: a name, or a keyword, that the target TensorFlow does not have."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.analysis.domain.program import Program
from tpulint.analysis.names.target_release import Target
from tpulint.finding import Applicability, Certainty, Edit, Fix, Location
from tpulint.knowledge import names
from tpulint.rules.api_names import Absent, absent, first_with, newest, shown
from tpulint.rules.base import Report

PACKAGE = "tensorflow."
NEAR = 0.75


def check(program: Program, report: Report) -> None:
    for each in absent(program):
        if not each.gone:
            report(
                each.spelled.span,
                f"`{shown(each.spelled)}` {_why(each)}{each.advice}",
                certainty=each.certainty,
                fix=each.fix,
            )
    for call in program.all_calls():
        keyed = call.path.startswith(PACKAGE) and any(each.keyword for each in call.arguments)
        if keyed and names.parameters(call.path):
            target = program.targets.of(call.site.module.filename)
            sure = Certainty.POSSIBLE if _is_guess(call, target) else Certainty.DEFINITE
            for argument, near in _unknown(call, target):
                advice = f"; did you mean `{near}`?" if near else ""
                report(
                    argument.site.span,
                    f"`{call.last}` takes no `{argument.keyword}` {_in(call, target)}{advice}",
                    certainty=sure,
                    fix=_rename(argument, near) if near else None,
                )


def _why(absent: Absent) -> str:
    if not absent.spelled.having:
        return "is in no release of TensorFlow"
    return (
        f"is not yet in TensorFlow {newest(absent.spelled.target.mask)}"
        f" ({first_with(absent.spelled)} has it)"
    )


def _is_guess(call: ApiCall, target: Target) -> bool:
    """Return whether another function may be meant, or another release than the project's.

    What it takes in the releases that nobody configured may not be known.
    """
    seen = 0
    for mask, _ in names.parameters(call.path):
        seen |= mask
    elsewhere = names.having(call.path) & ~target.mask & ~seen
    return call.context.is_guess or bool(elsewhere and not target.configured)


def _in(call: ApiCall, target: Target) -> str:
    if not target.stated:
        return "in any release of TensorFlow"
    return f"in TensorFlow {newest(target.mask & names.having(call.path))}"


def _unknown(call: ApiCall, target: Target) -> Iterator[tuple[Argument, str]]:
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


def _rename(argument: Argument, near: str) -> Fix:
    start = argument.site.span.start
    end = Location(start.row, start.column + len(argument.keyword or ""))
    return Fix(Applicability.UNSAFE, f"write `{near}=`", (Edit(start, end, near),))
