"""TPU704: the TPU system is initialized after something was built on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.absint.domain.context import GUARD, GUESSES
from tpulint.absint.domain.events import ApiCall, Context
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.values import UNKNOWN, Value
from tpulint.diagnostics import traces
from tpulint.finding import HOST_LANE, Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.knowledge import seam
from tpulint.knowledge.strategies import INITIALIZES, SHUTS_DOWN
from tpulint.queries.certainty import definite_if
from tpulint.rules.base import Report, Rule, register

RELEVANT = INITIALIZES | SHUTS_DOWN | seam.TPU_STRATEGIES | {"scope"}
HANDLER = "except"


@register
class ReinitializedSystem(Rule):
    code = "TPU704"
    name = "reinitialized-system"
    severity = Severity.ERROR
    summary = "the TPU system is initialized after something was built on it"

    def check(self, program: Program, report: Report) -> None:
        for fault in reinitializations(program):
            report(
                fault.call.site.span,
                message(fault),
                certainty=fault.certainty,
                trace=(
                    traces.step(HOST_LANE, fault.before.site, describe(fault.before)),
                    *traces.calls(HOST_LANE, Context(), fault.call.context),
                    traces.step(
                        HOST_LANE, fault.call.site, "initializes the system, and clears it"
                    ),
                ),
            )


def message(fault: Reinitialization) -> str:
    if fault.before.last == "scope":
        harm = "the variables of the strategy on it are lost"
    else:
        harm = "a strategy was already built on it"
    return f"initializing the TPU system clears the TPU: {harm}"


def describe(call: ApiCall) -> str:
    if call.last == "scope":
        return "enters the scope of a strategy on the system"
    return f"calls `{call.last}`"


@dataclass(frozen=True)
class Reinitialization:
    """The system is initialized at `call`, although `before` is on it already.

    before: a strategy, or a scope that was entered.
    """

    call: ApiCall
    before: ApiCall
    certainty: Certainty


def reinitializations(program: Program) -> Iterator[Reinitialization]:
    """Each initialization that takes away what is on the system."""
    runs: dict[int, list[ApiCall]] = {}
    for call in program.calls:
        if call.last in RELEVANT:
            runs.setdefault(call.context.run, []).append(call)
    for calls in runs.values():
        on_system: list[ApiCall] = []
        for number, call in enumerate(calls):
            if call.last in SHUTS_DOWN:
                on_system = []
                continue
            if call.last in INITIALIZES:
                is_rebuilt = any(_enters_scope(call) for call in calls[number + 1 :])
                yield from _conflicts_with(call, on_system, is_rebuilt)
            on_system.append(call)


def _conflicts_with(
    call: ApiCall, on_system: list[ApiCall], is_rebuilt: bool
) -> Iterator[Reinitialization]:
    """Yield the most that is in the way: what a scope made, or a strategy.

    is_rebuilt: a scope is entered afterwards, so that the system may be cleared on purpose.
    """
    reachable = [each for each in on_system if _may_follow(each, call)]
    if any(
        _may_be_different_tpus(earlier, call)
        for earlier in reachable
        if earlier.last in INITIALIZES
    ):
        return
    for names in ({"scope"}, seam.TPU_STRATEGIES):
        obstacles = [
            earlier for earlier in reachable if earlier.last in names and _is_tpus(earlier)
        ]
        if obstacles:
            holds = names == {"scope"} and any(
                _still_holds(obstacle, call) for obstacle in obstacles
            )
            is_certain = holds and not is_rebuilt
            yield Reinitialization(call, obstacles[0], definite_if(is_certain))
            return


def _may_follow(earlier: ApiCall, later: ApiCall) -> bool:
    """Return whether one run can reach both, the later one not to fix the first.

    What is under a test that asks whether something is there already is done once.
    """
    taken = dict(earlier.context.conditions)
    if any(taken.get(key, branch) != branch for key, branch in later.context.conditions):
        return False
    return not any(key.kind in (HANDLER, GUARD) for key, _ in later.context.conditions)


def _is_tpus(call: ApiCall) -> bool:
    return call.last != "scope" or _enters_scope(call)


def _enters_scope(call: ApiCall) -> bool:
    is_tpus = isinstance(call.receiver, Strategy) and call.receiver.kind == "tpu"
    return call.last == "scope" and is_tpus


def _still_holds(scope: ApiCall, call: ApiCall) -> bool:
    """Return whether the function that entered the scope still runs, on every run that gets here.

    What a function made that has ended may be gone with it.
    """
    call_chain = scope.context.call_chain
    if call_chain != call.context.call_chain[: len(call_chain)]:
        return False
    if any(key.kind in GUESSES for key, _ in scope.context.conditions | call.context.conditions):
        return False
    return scope.context.conditions <= call.context.conditions


def _may_be_different_tpus(first_call: ApiCall, other: ApiCall) -> bool:
    """Return whether two initializations may be of two TPUs."""
    first, second = _resolver(first_call), _resolver(other)
    if first is second:
        return first is UNKNOWN
    said = _resolver_arguments(first)
    return UNKNOWN in said or said != _resolver_arguments(second)


def _resolver(call: ApiCall) -> Value | None:
    argument = call.argument("cluster_resolver", 0)
    return argument.value if argument is not None else None


def _resolver_arguments(resolver: Value | None) -> list[Value | None]:
    """Return the arguments of a resolver; equal lists mean the same TPU."""
    if not isinstance(resolver, ExternalObject):
        return [resolver]
    return [value for _, value in resolver.arguments]
