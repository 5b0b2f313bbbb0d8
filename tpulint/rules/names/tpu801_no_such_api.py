"""TPU801: a name, or a keyword, that the target TensorFlow does not have."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from tpulint.absint.domain.events import ApiCall, Argument
from tpulint.absint.domain.objects import ExternalObject
from tpulint.diagnostics import absent_names
from tpulint.finding import Edit, Fix, Location
from tpulint.frontends.tensorflow.keras_models import is_dataset, is_model
from tpulint.frontends.tensorflow.knowledge import names, tf_names
from tpulint.frontends.tensorflow.spelling_search import Spelled
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.frontends.tensorflow.target_release import Target
from tpulint.queries.certainty import definite_if
from tpulint.queries.environment import KERAS, may_know_the_release, path_in_table, target_at
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register

NEAR = 0.75
STRATEGY = "tensorflow.distribute.Strategy"
TPU_STRATEGY = "tensorflow.distribute.TPUStrategy"
EXTENDED = "tensorflow.distribute.StrategyExtended"
MODEL = "tensorflow.keras.Model"
KERAS_ITSELF = ("keras.", "tf_keras.")


@register
class NoSuchApi(Rule):
    code = "TPU801"
    name = "no-such-api"
    severity = Severity.ERROR
    summary = "a name or keyword that the target TensorFlow does not have"
    fixes = (Applicability.SAFE, Applicability.UNSAFE)

    def check(self, program: Program, report: Report) -> None:
        broken, single = absent_names.grouped(program, gone=False)
        for fault in broken:
            report(fault.span, fault.message, certainty=Certainty.POSSIBLE, trace=fault.trace)
        for absent_name in single:
            spelled = absent_name.spelled
            report(
                spelled.span,
                f"`{absent_names.shown(spelled)}` {_why(spelled)}"
                f"{absent_names.advice(absent_name)}",
                certainty=absent_name.certainty,
                fix=absent_names.rename(absent_name, program),
            )
        for call in program.all_calls():
            keyed = any(argument.keyword for argument in call.arguments)
            if not keyed and not isinstance(call.receiver, Strategy):
                continue  # most calls: their names are checked above
            path = path_in_table(call)
            reported = _check_keywords(program, call, path, report) if path and keyed else set()
            for argument, near in misspelt_keywords(call):
                if argument.keyword not in reported:
                    report(
                        argument.site.span,
                        f"`{call.last}` takes no `{argument.keyword}`; did you mean `{near}`?",
                        certainty=_certainty_of(call),
                        fix=corrected(argument, near),
                    )
            if lacks_axis(call):
                message = f"`{call.last}` has no default for `axis`: {AXES[call.last]}"
                report(call.site.span, message, certainty=_certainty_of(call))
            meant = [] if path else misspelled(call)
            if meant:
                report(
                    call.site.span,
                    f"strategies have no `{call.last}` in any release of TensorFlow; did you mean"
                    f" `{meant[0]}`?",
                    certainty=_certainty_of(call),
                )


def _certainty_of(call: ApiCall) -> Certainty:
    return definite_if(not call.context.is_guess)


# tensorflow/python/distribute/distribute_lib.py. `StrategyV1.reduce` has a default.
AXES = {
    "reduce": "pass `axis=None`, to join the replicas' values and keep their dimensions",
    "gather": "pass `axis=0`, to concatenate the replicas' rows",
}


def lacks_axis(call: ApiCall) -> bool:
    """Return whether a method of TensorFlow 2's strategy for TPUs gets no `axis`."""
    strategy = call.receiver
    if call.last not in AXES or not isinstance(strategy, Strategy) or strategy.path != TPU_STRATEGY:
        return False
    axis = call.argument("axis", 2 if call.last == "reduce" else 1)
    return axis is None and not call.is_starred


def misspelled(call: ApiCall) -> list[str]:
    """Return the method of a strategy that a call means; none where it has the one that is called.

    What is called may be `strategy.extended` as well, whose names are not all known.
    """
    strategy = call.receiver
    if not isinstance(strategy, Strategy) or strategy.kind != "tpu":
        return []
    if names.having(f"{strategy.path}.{call.last}") or names.having(f"{EXTENDED}.{call.last}"):
        return []
    return nearest(call.last, names.members(strategy.path))


def nearest(name: str, others: Iterable[str]) -> list[str]:
    """Return the one of the others that a name resembles, if there is one."""
    return difflib.get_close_matches(name, sorted(others), 1, NEAR)


def _why(spelled: Spelled) -> str:
    if not spelled.having:
        return "does not exist in any release of TensorFlow"
    return (
        f"does not exist yet in TensorFlow {absent_names.newest(spelled.target.mask)}"
        f" ({absent_names.first_with(spelled)} has it)"
    )


def _check_keywords(program: Program, call: ApiCall, path: str, report: Report) -> set[str]:
    """Report the keywords that a function or method does not take, and return them."""
    is_keras_itself = path.startswith(KERAS_ITSELF)
    if is_keras_itself:
        path = f"{KERAS}.{path.partition('.')[2]}"
    if not names.parameters(path):
        return set()
    reported: set[str] = set()
    # The releases of Keras itself are not those of TensorFlow.
    of_all = Target(names.every(), stated=False)
    target = of_all if is_keras_itself else target_at(program, call.site, path)
    for argument, near in unknown_keywords(call, path, target):
        if is_keras_itself and not near:
            continue  # it may have more than TensorFlow's
        release = "any release of TensorFlow"
        if target.stated:
            release = f"TensorFlow {absent_names.newest(target.mask & names.having(path))}"
        meant = f"; did you mean `{near}`?" if near else "; remove it"
        report(
            argument.site.span,
            f"`{call.last}` takes no `{argument.keyword}` in {release}{meant}",
            certainty=definite_if(not is_guessed_call(call, path, target)),
            fix=corrected(argument, near) if near else None,
        )
        reported.add(argument.keyword or "")
    return reported


def misspelt_keywords(call: ApiCall) -> Iterator[tuple[Argument, str]]:
    """Yield the keywords of a method that none of its own is, but that are near one."""
    receiver = call.receiver
    if isinstance(receiver, Strategy):
        owner = STRATEGY
    elif not isinstance(receiver, ExternalObject) or not tf_names.is_tensorflow(receiver.path):
        return
    elif is_model(receiver):
        owner = MODEL
    elif is_dataset(receiver):
        owner = tf_names.UNSEEN_DATASET
    else:
        return
    taken = names.keywords(f"{owner}.{call.last}", names.every())
    for argument in call.arguments:
        if argument.keyword and argument.keyword not in taken:
            for near in nearest(argument.keyword, taken):
                yield argument, near


def is_guessed_call(call: ApiCall, path: str, target: Target) -> bool:
    """Return whether another function may be meant, or another release than the project's.

    What it takes in releases that are not asked for may not be known.
    """
    seen = names.with_parameters(path)
    elsewhere = names.having(path) & ~target.mask & ~seen
    if call.receiver is not None and target.stated and may_know_the_release(call.context):
        return True
    if target.requirement is not None and not target.requirement.is_open:
        # It is no other release, but an old file may be for another major version, if any.
        for number in (1, 2):
            if seen & names.generation(number):
                elsewhere &= ~names.generation(number)
    return call.context.is_guess or bool(elsewhere and not target.configured)


def unknown_keywords(call: ApiCall, path: str, target: Target) -> Iterator[tuple[Argument, str]]:
    """Yield the keywords that no release of the target takes, with the nearest that it takes."""
    releases = target.mask & names.having(path) & names.spoken_of(path)
    hidden = releases & ~names.with_parameters(path)
    taken = names.keywords(path, releases & ~hidden)
    # What old releases hide is no keyword that resembles one of all that came later.
    if releases == hidden or hidden & ~names.generation(1) or "**" in taken:
        return
    for argument in call.arguments:
        if argument.keyword and argument.keyword not in taken:
            near = nearest(argument.keyword, taken)
            if near or not hidden:
                yield argument, near[0] if near else ""


def corrected(argument: Argument, near: str) -> Fix:
    start = argument.site.span.start
    end = Location(start.row, start.column + len(argument.keyword or ""))
    return Fix(Applicability.UNSAFE, f"write `{near}=`", (Edit(start, end, near),))
