"""TPU704: the TPU system is initialized after something was built on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, takewhile
from typing import NamedTuple

from tpulint.absint.domain.context import GUARD, LOOP, Scope
from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.objects import ExternalObject, Sequence, made_at
from tpulint.absint.domain.values import UNKNOWN, Const, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import INITIALIZES, SHUTS_DOWN
from tpulint.frontends.tensorflow.strategy import is_of_tpu, scope_strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.strategies import has_variables
from tpulint.rules.base import Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import For, Jump, Return, walk

RELEVANT = INITIALIZES | SHUTS_DOWN | tf_names.TPU_STRATEGIES | tf_names.STRATEGY_RUN | {"scope"}
# A model's variables can be written after that, and its optimizer is made anew by `compile`.
RESTORES = frozenset(["load_weights", "set_weights"])
RESOLVER = ("cluster_resolver", 0)


class Initialization(NamedTuple):
    """A call that initializes the system, and the calls of that run before and after it.

    earlier: those since the last shutdown, which leaves nothing on the system.
    """

    program: Program
    call: ApiCall
    earlier: list[ApiCall]
    later: list[ApiCall]


@register
class ReinitializedSystem(Rule):
    code = "TPU704"
    name = "reinitialized-system"
    severity = Severity.ERROR
    summary = "the TPU system is initialized after something was built on it"

    def check(self, program: Program, report: Report) -> None:
        runs: defaultdict[int, list[ApiCall]] = defaultdict(list)
        for call in program.named_any({*RELEVANT, *RESTORES, *tf_names.STEPS, "compile"}):
            runs[call.context.run].append(call)
        for calls in runs.values():
            begin = 0
            for number, call in enumerate(calls):
                if call.last in SHUTS_DOWN:
                    begin = number + 1
                elif call.last in INITIALIZES:
                    earlier, later = calls[begin:number], calls[number + 1 :]
                    _check_initialization(Initialization(program, call, earlier, later), report)
                    _check_rounds(call, later, report)


# tensorflow/python/tpu/tpu_strategy_util.py, `initialize_tpu_system`: it clears the eager context
# of the TPU, and with it every variable and every compiled program.
def _check_initialization(initialization: Initialization, report: Report) -> None:
    """Report an initialization that clears what earlier calls built on the system."""
    _, call, earlier, later = initialization
    reachable = [other for other in earlier if _may_follow(other, call)]
    initializations = [other for other in reachable if other.last in INITIALIZES]
    if any(_may_be_different_tpus(other, call) for other in initializations):
        return
    scopes = [other for other in reachable if _enters_tpu_scope(other)]
    strategies = [other for other in reachable if other.last in tf_names.TPU_STRATEGIES]
    # A strategy alone holds nothing: what is built on it later is built after this one.
    is_entered_later = any(map(_enters_tpu_scope, later))
    if not scopes and (is_entered_later or not (strategies and initializations)):
        return
    entered = {id(scope.receiver) for scope in scopes if not scope.context.is_guess}
    lost = entered - {id(other.receiver) for other in later if other.last == "scope"}
    steps = _steps_with_lost(initialization, lost)
    use = next(chain(_uses_of_lost(call, lost, later), steps), None)
    # Sections of a notebook stand for themselves: each begins with a strategy of its own.
    is_section = any(other.last in tf_names.TPU_STRATEGIES for other in later)
    if use is None and (
        _are_restored(call, entered, later)
        or (is_section and call.site.module.filename.endswith(".ipynb"))
        or (is_entered_later and not is_section and _is_for_each(call, initializations, later))
        or _is_for_each_round(call, scopes, later)
    ):
        return
    resolver = call.value(*RESOLVER)
    # A scope's variables are the greater loss, so they are named rather than the strategy.
    first = (scopes or strategies)[0]
    trace = [
        traces.host_step(first.site, describe(first)),
        *traces.host_path(call, "initializes the system, and clears it"),
    ]
    if use is not None:
        trace.append(traces.host_step(use.site, f"`{use.last}` needs what is lost"))
    harm = "a strategy was already built on it"
    if scopes:
        harm = "the variables of the strategy on it are lost"
    report(
        call.site.span,
        f"initializing the TPU system clears the TPU: {harm}; initialize it once, first",
        certainty=definite_if(
            use is not None or any(_still_holds(scope, call) for scope in scopes),
            # A scope that is entered afterwards makes new variables: it may be cleared on purpose.
            use is not None or not is_entered_later,
            # Without a resolver it is the TPU of this machine, or of the environment.
            all((it.value(*RESOLVER) is None) is (resolver is None) for it in initializations),
        ),
        trace=tuple(trace),
    )


def _check_rounds(call: ApiCall, later: list[ApiCall], report: Report) -> None:
    """Report what each round of a loop initializes, if models of earlier rounds are used after it.

    The last round's model is on the system; a list that was there before the loop has the others.
    """
    loop = next((scope for scope in call.context.scopes if scope.kind == LOOP), None)
    if loop is None or call.context.conditions or call.context.is_tried:
        return
    source = loop.payload
    rounds = source.items if isinstance(source, Sequence) else []
    has_one_round = isinstance(source, Sequence) and not source.open and len(rounds) < 2
    arguments = _resolver_arguments(call.value(*RESOLVER))
    if has_one_round or not all(isinstance(value, Const) for value in arguments):
        return
    in_loop = [other for other in later if loop in other.context.scopes]
    made_in = [
        other for other in in_loop if _enters_tpu_scope(other) and not other.context.is_guess
    ]
    use = _use_of_collected(loop, {id(scope.receiver) for scope in made_in}, later)
    if use is None or any(other.last in SHUTS_DOWN for other in in_loop):
        return
    node = loop.site.module.node_at(loop.site.place, For)
    ends_early = node is None or any(isinstance(part, (Jump, Return)) for part in walk(*node.body))
    report(
        call.site.span,
        "initializing the TPU system in each round of a loop clears the TPU: the models of the"
        f" earlier rounds are lost, which `{use.last}` needs later; initialize it once, before the"
        " loop",
        certainty=definite_if(not use.context.is_guess, not ends_early, len(rounds) > 1),
        trace=(
            *traces.host_path(call, "initializes the system, and clears it"),
            traces.host_step(made_in[0].site, describe(made_in[0])),
            traces.host_step(use.site, f"`{use.last}` needs what is lost"),
        ),
    )


def _use_of_collected(loop: Scope, strategies: set[int], later: list[ApiCall]) -> ApiCall | None:
    """Return where every model of a list is used after `loop`, whose rounds have put one there."""
    for other in later:
        model = other.receiver
        place = made_at(model)
        if (
            other.last in tf_names.STEPS
            and place is not None
            and loop in place.scopes
            and loop not in other.context.scopes
            and id(scope_strategy(place)) in strategies
            and any(_collects(scope.payload, model, loop) for scope in other.context.scopes)
        ):
            return other
    return None


def _collects(items: object, model: Value | None, loop: Scope) -> bool:
    """Return whether a list that was made before `loop`, in the same file, holds the model."""
    if not isinstance(items, Sequence) or not any(item is model for item in items.items):
        return False
    made, site = items.made, items.site
    if made is None or site is None or loop in made.scopes or site.module != loop.site.module:
        return False
    return site.span.start < loop.site.span.start


def _uses_of_lost(call: ApiCall, strategies: set[int], later: list[ApiCall]) -> Iterator[ApiCall]:
    """Yield where a model that was certainly made for one of `strategies` is used afterwards.

    One that got its weights again is not lost.
    """
    for number, other in enumerate(later):
        runs_too = call.context.conditions <= other.context.conditions
        if other.last not in tf_names.STEPS or not runs_too or other.context.is_guess:
            continue
        if _is_made_for(other.receiver, strategies) and not _is_restored(other, later[:number]):
            yield other


def _is_made_for(model: Value | None, strategies: set[int]) -> bool:
    """Return whether a model was made under the scope of one of these strategies."""
    return id(scope_strategy(made_at(model))) in strategies


def _is_restored(step: ApiCall, earlier: list[ApiCall]) -> bool:
    """Return whether the model of a step got its weights again, and what else the step needs."""
    calls = {
        other.last
        for other in earlier
        if other.receiver is step.receiver and other.context.conditions <= step.context.conditions
    }
    is_training = tf_names.STEPS[step.last] == "train_step"
    return bool(calls & RESTORES) and ("compile" in calls or not is_training)


def _restores(call: ApiCall, strategies: set[int]) -> bool:
    """Return whether a model of `strategies` gets its weights again by this call."""
    return call.last in RESTORES and _is_made_for(call.receiver, strategies)


def _are_restored(call: ApiCall, strategies: set[int], later: list[ApiCall]) -> bool:
    """Return whether all models of `strategies` that are used later get their weights again.

    What they get after a step on one of these comes too late for the step.
    """

    def is_step(other: ApiCall) -> bool:
        return other.last in tf_names.STRATEGY_RUN and id(other.receiver) in strategies

    in_time = takewhile(lambda other: not is_step(other), later)
    is_any = any(_restores(other, strategies) for other in in_time)
    return is_any and next(_uses_of_lost(call, strategies, later), None) is None


def _steps_with_lost(initialization: Initialization, strategies: set[int]) -> Iterator[ApiCall]:
    """Yield the steps that certainly use a variable which was made for one of `strategies`.

    Some models make their weights in their first step, which may be an earlier one.
    """
    program, call, earlier, later = initialization
    accesses = {id(built.call): built.accesses for built in program.computations}
    used = {access.variable for step in earlier for access in accesses.get(id(step), ())}
    for other in takewhile(lambda other: not _restores(other, strategies), later):
        runs_too = call.context.conditions <= other.context.conditions
        if other.last not in tf_names.STRATEGY_RUN or not runs_too or other.context.is_guess:
            continue
        for access in accesses.get(id(other), ()):
            variable, place = access.variable, access.variable.made
            if place is None or place.computation is not None:
                continue
            is_there = variable in used or variable.sort == "variable"
            if id(scope_strategy(place)) in strategies and (
                is_there or has_variables(program, variable)
            ):
                yield other
                break


def describe(call: ApiCall) -> str:
    """Return what an earlier call did, for the trace."""
    if call.last == "scope":
        return "enters the scope of a strategy on the system"
    return f"calls `{call.last}`"


def _may_follow(earlier: ApiCall, later: ApiCall) -> bool:
    """Return whether one run can reach both, the later one not to fix the first.

    What is under a test that asks whether something is there already is done once, unless the
    earlier one is under it as well.
    """
    taken = dict(earlier.context.conditions)
    if any(taken.get(key, branch) != branch for key, branch in later.context.conditions):
        return False
    return not any(
        key.kind in ("except", GUARD) for key, _ in later.context.conditions if key not in taken
    )


def _enters_tpu_scope(call: ApiCall) -> bool:
    return call.last == "scope" and is_of_tpu(call.receiver)


def _is_for_each(call: ApiCall, earlier: list[ApiCall], later: list[ApiCall]) -> bool:
    """Return whether a function that is called for each model clears the one that it made before.

    No model of an earlier call is used later.
    """
    chains = [other.context.call_chain for other in earlier if other.site == call.site]
    places = [
        made_at(model)
        for other in later
        if other.last in tf_names.STEPS
        for model in (other.receiver or UNKNOWN).options
    ]
    return bool(chains) and not any(
        place is not None and place.call_chain[: len(chain)] == chain
        for place in places
        for chain in chains
    )


def _is_for_each_round(call: ApiCall, scopes: list[ApiCall], later: list[ApiCall]) -> bool:
    """Return whether each round of a loop clears the system for a model that it makes and runs.

    Nothing is used in it that was made before, under one of `scopes`.
    """
    loop = next((scope for scope in call.context.scopes if scope.kind == LOOP), None)
    if loop is None:
        return False
    strategies = {id(scope.receiver) for scope in scopes}
    runs_own_model = False
    for other in later:
        for value in (other.receiver, *(argument.value for argument in other.arguments)):
            place = made_at(value)
            if place is None or id(scope_strategy(place)) not in strategies:
                continue
            if loop not in place.scopes:
                return False
            runs_own_model |= other.last in tf_names.STEPS and value is other.receiver
    return runs_own_model


def _still_holds(scope: ApiCall, call: ApiCall) -> bool:
    """Return whether the function that entered the scope still runs, on every run that gets here.

    What a function made that has ended may be gone with it.
    """
    call_chain = scope.context.call_chain
    if scope.context.is_guess or call.context.is_guess:
        return False
    is_in_it = call_chain == call.context.call_chain[: len(call_chain)]
    return is_in_it and scope.context.conditions <= call.context.conditions


def _may_be_different_tpus(left: ApiCall, right: ApiCall) -> bool:
    """Return whether two initializations may be of two TPUs."""
    first, second = left.value(*RESOLVER), right.value(*RESOLVER)
    if first is None or second is None:
        return False
    if first is second:
        return first is UNKNOWN
    arguments = _resolver_arguments(first)
    return UNKNOWN in arguments or arguments != _resolver_arguments(second)


def _resolver_arguments(resolver: Value | None) -> list[Value | None]:
    """Return the arguments of a resolver; equal lists mean the same TPU."""
    if not isinstance(resolver, ExternalObject):
        return [resolver]
    return [value for _, value in resolver.arguments]
