"""TPU801: a name, or a keyword, that the target TensorFlow does not have."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Argument
from tpulint.absint.domain.objects import ExternalObject
from tpulint.diagnostics.absent_names import (
    Absent,
    absent,
    advice,
    first_with,
    grouped,
    newest,
    rename,
    shown,
)
from tpulint.finding import Applicability, Certainty, Edit, Fix, Location, Severity
from tpulint.frontends.tensorflow.keras_models import is_dataset, is_model
from tpulint.frontends.tensorflow.knowledge import names, tf_names
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.frontends.tensorflow.target_release import Target
from tpulint.queries.certainty import definite_if
from tpulint.queries.environment import target_at
from tpulint.rules.base import Report, Rule, register

PACKAGE = "tensorflow."
NEAR = 0.75


@register
class NoSuchApi(Rule):
    code = "TPU801"
    name = "no-such-api"
    severity = Severity.ERROR
    summary = "a name or keyword that the target TensorFlow does not have"
    fixes = (
        Applicability.SAFE,
        Applicability.UNSAFE,
    )

    def check(self, program: Program, report: Report) -> None:
        groups = grouped(name for name in absent(program) if not name.gone)
        for absent_name in groups.single:
            report(
                absent_name.spelled.span,
                f"`{shown(absent_name.spelled)}` {_why(absent_name)}{advice(absent_name)}",
                certainty=absent_name.certainty,
                fix=rename(absent_name, program),
            )
        for broken in groups.broken:
            report(broken.span, broken.message, certainty=Certainty.POSSIBLE, trace=broken.trace)
        for call in program.all_calls():
            for argument, near in misspelt_keywords(call):
                report(
                    argument.site.span,
                    f"`{call.last}` takes no `{argument.keyword}`; did you mean `{near}`?",
                    certainty=definite_if(not call.context.is_guess),
                    fix=corrected(argument, near),
                )
            keyed = call.path.startswith(PACKAGE) and any(
                argument.keyword for argument in call.arguments
            )
            if keyed and names.parameters(call.path):
                target = target_at(program, call.site, call.path)
                certainty = definite_if(not is_guessed_call(call, target))
                for argument, near in unknown_keywords(call, target):
                    meant = f"; did you mean `{near}`?" if near else "; remove it"
                    takes = f"`{call.last}` takes no `{argument.keyword}`"
                    report(
                        argument.site.span,
                        f"{takes} {release_of(call, target)}{meant}",
                        certainty=certainty,
                        fix=corrected(argument, near) if near else None,
                    )


def _why(absent: Absent) -> str:
    if not absent.spelled.having:
        return "does not exist in any release of TensorFlow"
    return (
        f"does not exist yet in TensorFlow {newest(absent.spelled.target.mask)}"
        f" ({first_with(absent.spelled)} has it)"
    )


def misspelt_keywords(call: ApiCall) -> Iterator[tuple[Argument, str]]:
    """Yield the keywords of a method that none of its own is, but that are near one."""
    receiver = call.receiver
    if isinstance(receiver, Strategy):
        taken = tf_names.OF_STRATEGY.get(call.last)
    elif not isinstance(receiver, ExternalObject) or not tf_names.is_tensorflow(receiver.path):
        return
    elif is_model(receiver):
        taken = tf_names.OF_MODEL.get(call.last)
    elif is_dataset(receiver):
        taken = tf_names.OF_DATASET.get(call.last)
    else:
        return
    for argument in call.arguments if taken else ():
        if argument.keyword and taken and argument.keyword not in taken:
            for near in difflib.get_close_matches(argument.keyword, sorted(taken), 1, NEAR):
                yield argument, near


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
    """Yield the keywords that no release of the target takes, with the nearest that it takes."""
    releases = target.mask & names.having(call.path) & names.spoken_of(call.path)
    taken: set[str] = set()
    seen = 0
    for mask, parameters in names.parameters(call.path):
        seen |= mask
        if mask & releases:
            taken.update(parameter.rstrip("=") for parameter in parameters.strip("()").split(","))
    if not releases or releases & ~seen or "**" in taken:
        return
    for argument in call.arguments:
        if argument.keyword and argument.keyword not in taken:
            near = difflib.get_close_matches(argument.keyword, sorted(taken - {"*", "|"}), 1, NEAR)
            yield argument, near[0] if near else ""


def corrected(argument: Argument, near: str) -> Fix:
    start = argument.site.span.start
    end = Location(start.row, start.column + len(argument.keyword or ""))
    return Fix(Applicability.UNSAFE, f"write `{near}=`", (Edit(start, end, near),))
