"""TPU706: tf.functions or a Keras model are set to run eagerly, which no TPU can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.analysis.domain.context import FUNCTION
from tpulint.analysis.domain.events import ApiCall, Argument, Computation
from tpulint.analysis.domain.objects import ExternalObject, Instance
from tpulint.analysis.domain.values import Const, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import not_eager
from tpulint.finding import HOST_LANE, Applicability, Certainty, Severity, Step
from tpulint.frontends.tensorflow.keras_models import is_model
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import Strategy, scope_strategy
from tpulint.knowledge.seam import STRATEGY_RUN, is_tensorflow
from tpulint.knowledge.strategies import KERAS_RUNS, RUNS_EAGERLY
from tpulint.queries.eager_calls import is_built_in_graph, is_traced_function, may_be_tpus
from tpulint.rules.base import Report, Rule, register

ON = Const(True)


@register
class EagerExecutionOnTpu(Rule):
    code = "TPU706"
    name = "eager-execution-on-tpu"
    severity = Severity.ERROR
    summary = "a TPUStrategy with run_eagerly=True or run_functions_eagerly(True)"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for found in (*eager_models(program), *switched_functions(program)):
            report(
                found.given.site.span,
                message(found),
                certainty=found.certainty,
                trace=(
                    traces.step(HOST_LANE, found.switch.site, "turns on eager execution"),
                    *trace_to_step(found),
                ),
                fix=not_eager(found.switch, found.given),
            )


def trace_to_step(found: EagerSwitch) -> tuple[Step, ...]:
    if found.step is None:
        return ()
    calls = traces.calls(HOST_LANE, found.switch.context, found.step.context)
    last = traces.step(HOST_LANE, found.step.site, f"`{found.step.last}` runs its step eagerly")
    return (*calls, last)


def message(found: EagerSwitch) -> str:
    if found.switch.last == "compile":
        return (
            "`run_eagerly=True` for a model of a TPUStrategy: a TPU runs compiled steps only, and"
            f" `{found.step.last if found.step else 'fit'}` refuses this model"
        )
    return (
        f"`{found.switch.last}(True)` removes the tf.function around `run`: a"
        " TPUStrategy does not run a step eagerly"
    )


class EagerSwitch(NamedTuple):
    """`switch` turns on eager execution by `given`; `step`, where it is seen, then fails."""

    switch: ApiCall
    given: Argument
    step: ApiCall | None
    certainty: Certainty


def eager_models(program: Program) -> Iterator[EagerSwitch]:
    """Each `compile(run_eagerly=True)` of a model that was made under a TPUStrategy's scope."""
    compiles = program.named.get("compile", [])
    for switch in compiles:
        given = switch.argument("run_eagerly", 5)
        if given is None or given.value != ON or not is_of_tpu(switch.receiver):
            continue
        if any(each.receiver is switch.receiver for each in compiles if each is not switch):
            continue  # compiled again: which one a step meets is not seen
        steps = [
            each
            for name in KERAS_RUNS
            for each in program.named.get(name, ())
            if each.receiver is switch.receiver
        ]
        step = next((each for each in steps if is_sure(switch, each)), None)
        if step is not None:
            yield EagerSwitch(switch, given, step, Certainty.DEFINITE)
        elif not switch.context.conditions:
            yield EagerSwitch(switch, given, None, Certainty.POSSIBLE)


def is_of_tpu(model: Value | None) -> bool:
    if not is_model(model) or not isinstance(model, (ExternalObject, Instance)):
        return False
    strategy = scope_strategy(model.context)
    return isinstance(strategy, Strategy) and strategy.kind == "tpu"


def is_sure(switch: ApiCall, step: ApiCall) -> bool:
    """Return whether the step comes after the switch on each run that gets to it."""
    if switch.context.run != step.context.run or step.context.is_guess:
        return False
    return switch.context.reached_whenever(step.context)


def switched_functions(program: Program) -> Iterator[EagerSwitch]:
    """Each `run_functions_eagerly(True)` before a step that a tf.function is around."""
    traced = {id(each.call): each for each in program.computations if is_traced(each)}
    switches: dict[int, ApiCall | None] = {}
    for call in program.calls:
        run = call.context.run
        if call.last in RUNS_EAGERLY and is_tensorflow(call.path):
            given = call.argument("run_eagerly", 0)
            switches[run] = call if given is not None and given.value == ON else None
        switch, computation = switches.get(run), traced.get(id(call))
        if switch is None or not is_sure(switch, call):
            continue
        given = switch.argument("run_eagerly", 0)
        assert given is not None
        if computation is not None:
            yield EagerSwitch(switch, given, call, computation.certainty)
        elif call.last in KERAS_RUNS and is_of_tpu(call.receiver):
            yield EagerSwitch(switch, given, call, Certainty.DEFINITE)


def is_traced(computation: Computation) -> bool:
    """Return whether a tf.function makes this a step that a TPUStrategy takes."""
    if computation.kind not in STRATEGY_RUN or not may_be_tpus(computation):
        return False
    if is_built_in_graph(computation):
        return False
    around = any(each.kind == FUNCTION for each in computation.context.scopes)
    return around or is_traced_function(computation.callee) is True
