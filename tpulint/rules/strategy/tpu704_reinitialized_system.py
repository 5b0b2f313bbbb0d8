"""TPU704: the TPU system is initialized after something was built on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, takewhile

from tpulint.absint.domain.context import GUARD, LOOP, Scope
from tpulint.absint.domain.events import Access, ApiCall, Context
from tpulint.absint.domain.objects import ExternalObject, Instance, Sequence
from tpulint.absint.domain.values import UNKNOWN, Const, Value, options
from tpulint.diagnostics import traces
from tpulint.finding import HOST_LANE, Severity
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import INITIALIZES, SHUTS_DOWN
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import Strategy, scope_strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.strategies import has_variables
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import For, Jump, Return, walk

RELEVANT = INITIALIZES | SHUTS_DOWN | tf_names.TPU_STRATEGIES | tf_names.STRATEGY_RUN | {"scope"}
# A model's variables can be written after that, and its optimizer is made anew by `compile`.
RESTORES = frozenset(["load_weights", "set_weights"])
# tensorflow/python/tpu/tpu_strategy_util.py, `initialize_tpu_system`: it clears the eager context
# of the TPU, and with it every variable and every compiled program.
HARM = {
    True: "the variables of the strategy on it are lost",  # a scope was entered
    False: "a strategy was already built on it",
}


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
        variables = _Variables(program)
        for calls in runs.values():
            for number, call in enumerate(calls):
                if call.last in INITIALIZES:
                    earlier, later = _since_shutdown(calls[:number]), calls[number + 1 :]
                    _check_initialization(call, earlier, later, variables, report)
                    _check_rounds(call, later, report)


class _Variables:
    """The variables that the steps of `run` use."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._computations = {id(built.call): built for built in program.computations}

    def used_by(self, call: ApiCall, earlier: list[ApiCall]) -> Iterator[Context]:
        """Yield where the variables were made that a step uses and that existed before it.

        Some models make their weights in their first step, which may be an `earlier` one.
        """
        used = {access.variable for step in earlier for access in self._accesses(step)}
        for access in self._accesses(call):
            variable, place = access.variable, access.variable.made
            is_there = variable in used or variable.sort == "variable"
            if place is None or place.computation is not None:
                continue
            if is_there or has_variables(self._program, variable):
                yield place

    def _accesses(self, call: ApiCall) -> list[Access]:
        computation = self._computations.get(id(call))
        return [] if computation is None else computation.accesses


def _since_shutdown(calls: list[ApiCall]) -> list[ApiCall]:
    """Return the calls after the last shutdown, which leaves nothing on the system."""
    shutdowns = [number for number, call in enumerate(calls) if call.last in SHUTS_DOWN]
    return calls[shutdowns[-1] + 1 :] if shutdowns else calls


def _check_initialization(
    call: ApiCall,
    earlier: list[ApiCall],
    later: list[ApiCall],
    variables: _Variables,
    report: Report,
) -> None:
    """Report an initialization that clears what `earlier` calls built on the system."""
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
    again = {id(other.receiver) for other in later if other.last == "scope"}
    steps = _steps_with_lost(call, entered - again, earlier, later, variables)
    use = next(chain(_uses_of_lost(call, entered - again, later), steps), None)
    if use is None and _are_restored(call, entered, later):
        return
    # Sections of a notebook stand for themselves: each begins with a strategy of its own.
    is_section = any(other.last in tf_names.TPU_STRATEGIES for other in later)
    if use is None and is_section and call.site.module.filename.endswith(".ipynb"):
        return
    is_for_new = is_entered_later and not is_section
    if use is None and is_for_new and _is_for_each(call, initializations, later):
        return
    if use is None and _is_for_each_round(call, scopes, later):
        return
    # A scope's variables are the greater loss, so they are named rather than the strategy.
    lost = (scopes or strategies)[0]
    report(
        call.site.span,
        f"initializing the TPU system clears the TPU: {HARM[bool(scopes)]}; initialize it"
        " once, first",
        certainty=definite_if(
            use is not None or any(_still_holds(scope, call) for scope in scopes),
            # A scope that is entered afterwards makes new variables: it may be cleared on purpose.
            use is not None or not is_entered_later,
            # Without a resolver it is the TPU of this machine, or of the environment.
            all(
                (_resolver(other) is None) is (_resolver(call) is None) for other in initializations
            ),
        ),
        trace=(
            traces.step(HOST_LANE, lost.site, describe(lost)),
            *traces.calls(HOST_LANE, Context(), call.context),
            traces.step(HOST_LANE, call.site, "initializes the system, and clears it"),
            *(
                traces.step(HOST_LANE, it.site, f"`{it.last}` needs what is lost")
                for it in [use]
                if it
            ),
        ),
    )


def _check_rounds(call: ApiCall, later: list[ApiCall], report: Report) -> None:
    """Report what each round of a loop initializes, if models of earlier rounds are used after it.

    The last round's model is on the system; a list that was there before the loop has the others.
    """
    loops = [scope for scope in call.context.scopes if scope.kind == LOOP]
    is_known = all(isinstance(value, Const) for value in _resolver_arguments(_resolver(call)))
    if (
        not loops
        or not is_known
        or _has_one_round(loops[0].payload)
        or call.context.conditions
        or call.context.is_tried
    ):
        return
    loop = loops[0]
    in_loop = [other for other in later if loop in other.context.scopes]
    made_in = [
        other for other in in_loop if _enters_tpu_scope(other) and not other.context.is_guess
    ]
    use = next(_uses_of_collected(loop, made_in, later), None)
    if use is None or any(other.last in SHUTS_DOWN for other in in_loop):
        return
    node = loop.site.module.node_at(loop.site.place, For)
    ends_early = node is None or any(isinstance(part, (Jump, Return)) for part in walk(*node.body))
    report(
        call.site.span,
        "initializing the TPU system in each round of a loop clears the TPU: the models of the"
        f" earlier rounds are lost, which `{use.last}` needs later; initialize it once, before the"
        " loop",
        certainty=definite_if(not use.context.is_guess, not ends_early, _has_rounds(loop.payload)),
        trace=(
            *traces.calls(HOST_LANE, Context(), call.context),
            traces.step(HOST_LANE, call.site, "initializes the system, and clears it"),
            traces.step(HOST_LANE, made_in[0].site, describe(made_in[0])),
            traces.step(HOST_LANE, use.site, f"`{use.last}` needs what is lost"),
        ),
    )


def _uses_of_collected(
    loop: Scope, scopes: list[ApiCall], later: list[ApiCall]
) -> Iterator[ApiCall]:
    """Yield where every model of a list is used after `loop`, whose rounds have put one there."""
    strategies = {id(scope.receiver) for scope in scopes}
    for other in later:
        model = other.receiver
        if other.last not in tf_names.STEPS or not isinstance(model, (ExternalObject, Instance)):
            continue
        made = model.context
        if made is None or loop not in made.scopes or loop in other.context.scopes:
            continue
        if id(scope_strategy(made)) in strategies and any(
            _collects(scope.payload, model, loop) for scope in other.context.scopes
        ):
            yield other


def _collects(items: object, model: Value, loop: Scope) -> bool:
    """Return whether a list that was made before `loop`, in the same file, holds the model."""
    if not isinstance(items, Sequence) or not any(item is model for item in items.items):
        return False
    made, site = items.made, items.site
    if made is None or site is None or loop in made.scopes or site.module != loop.site.module:
        return False
    return site.span.start < loop.site.span.start


def _has_one_round(source: object) -> bool:
    return isinstance(source, Sequence) and not source.open and len(source.items) < 2


def _has_rounds(source: object) -> bool:
    """Return whether a loop over this certainly has several rounds."""
    return isinstance(source, Sequence) and len(source.items) > 1


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
    if not isinstance(model, (ExternalObject, Instance)) or model.context is None:
        return False
    return id(scope_strategy(model.context)) in strategies


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


def _steps_with_lost(
    call: ApiCall,
    strategies: set[int],
    earlier: list[ApiCall],
    later: list[ApiCall],
    variables: _Variables,
) -> Iterator[ApiCall]:
    """Yield the steps that certainly use a variable which was made for one of `strategies`."""
    for other in takewhile(lambda other: not _restores(other, strategies), later):
        runs_too = call.context.conditions <= other.context.conditions
        if other.last in tf_names.STRATEGY_RUN and runs_too and not other.context.is_guess:
            places = variables.used_by(other, earlier)
            if any(id(scope_strategy(place)) in strategies for place in places):
                yield other


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
    is_tpu = isinstance(call.receiver, Strategy) and call.receiver.kind == "tpu"
    return call.last == "scope" and is_tpu


def _is_for_each(call: ApiCall, earlier: list[ApiCall], later: list[ApiCall]) -> bool:
    """Return whether a function that is called for each model clears the one that it made before.

    No model of an earlier call is used later.
    """
    chains = [other.context.call_chain for other in earlier if other.site == call.site]
    models = [
        model
        for other in later
        if other.last in tf_names.STEPS
        for model in options(other.receiver or UNKNOWN)
        if isinstance(model, (ExternalObject, Instance))
    ]
    return bool(chains) and not any(
        model.context is not None and model.context.call_chain[: len(chain)] == chain
        for model in models
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
            if not isinstance(value, (ExternalObject, Instance)) or value.context is None:
                continue
            if id(scope_strategy(value.context)) not in strategies:
                continue
            if loop not in value.context.scopes:
                return False
            runs_own_model |= other.last in tf_names.STEPS and value is other.receiver
    return runs_own_model


def _still_holds(scope: ApiCall, call: ApiCall) -> bool:
    """Return whether the function that entered the scope still runs, on every run that gets here.

    What a function made that has ended may be gone with it.
    """
    call_chain = scope.context.call_chain
    if call_chain != call.context.call_chain[: len(call_chain)]:
        return False
    if scope.context.is_guess or call.context.is_guess:
        return False
    return scope.context.conditions <= call.context.conditions


def _may_be_different_tpus(left: ApiCall, right: ApiCall) -> bool:
    """Return whether two initializations may be of two TPUs."""
    first, second = _resolver(left), _resolver(right)
    if first is None or second is None:
        return False
    if first is second:
        return first is UNKNOWN
    arguments = _resolver_arguments(first)
    return UNKNOWN in arguments or arguments != _resolver_arguments(second)


def _resolver(call: ApiCall) -> Value | None:
    argument = call.argument("cluster_resolver", 0)
    return argument.value if argument is not None else None


def _resolver_arguments(resolver: Value | None) -> list[Value | None]:
    """Return the arguments of a resolver; equal lists mean the same TPU."""
    if not isinstance(resolver, ExternalObject):
        return [resolver]
    return [value for _, value in resolver.arguments]
