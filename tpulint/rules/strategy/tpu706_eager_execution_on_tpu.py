"""TPU706: tf.functions or a Keras model are set to run eagerly, which no TPU can."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tpulint.absint.domain.events import ApiCall, Argument, Computation
from tpulint.absint.domain.objects import made_at
from tpulint.absint.domain.values import NONE, Const, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import not_eager
from tpulint.finding import HOST_LANE
from tpulint.frontends.tensorflow.keras_models import is_model
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import KERAS_RUNS, RUNS_EAGERLY
from tpulint.frontends.tensorflow.strategy import is_of_tpu, scope_strategy
from tpulint.queries.eager_calls import is_built_in_graph, is_traced_function, may_be_tpus
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register

ON = Const(True)
# The call that turns on eager execution, by which argument, and the step that fails, if it is seen.
EagerSwitch = tuple[ApiCall, Argument, ApiCall | None, Certainty]


@register
class EagerExecutionOnTpu(Rule):
    code = "TPU706"
    name = "eager-execution-on-tpu"
    severity = Severity.ERROR
    summary = "a TPUStrategy with run_eagerly=True or run_functions_eagerly(True)"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        switches = chain(eager_models(program), eager_steps(program))
        for switch, argument, step, certainty in switches:
            if switch.last == "compile":
                message = (
                    "`run_eagerly=True` for a model of a TPUStrategy: a TPU runs compiled steps"
                    f" only, and `{step.last if step else 'fit'}` refuses this model; remove it"
                )
            else:
                message = (
                    f"`{switch.last}(True)` removes the tf.function around `run`: a TPUStrategy"
                    " cannot run a step eagerly; remove it"
                )
            trace = [traces.host_step(switch.site, "turns on eager execution")]
            if step is not None:
                trace += traces.calls(HOST_LANE, switch.context, step.context)
                trace.append(traces.host_step(step.site, f"`{step.last}` runs its step eagerly"))
            report(
                argument.site.span,
                message,
                certainty=certainty,
                trace=tuple(trace),
                fix=not_eager(switch, argument),
            )


def eager_models(program: Program) -> Iterator[EagerSwitch]:
    """Yield each `compile(run_eagerly=True)` of a model that was made in a TPUStrategy's scope."""
    compiles = program.named.get("compile", ())
    for switch in compiles:
        argument, model = switch.argument("run_eagerly", 5), switch.receiver
        if argument is None or argument.value != ON or not is_made_for_tpu(model):
            continue
        steps = before_next_compile(program, switch)
        step = next((step for step in steps if is_sure(switch, step)), None)
        if step is not None:
            yield switch, argument, step, Certainty.DEFINITE
        # Under a flag for debugging the switch is meant, and no TPU is used.
        elif not switch.context.conditions and not any(
            call.receiver is model and call is not switch for call in compiles
        ):
            yield switch, argument, None, Certainty.POSSIBLE


def before_next_compile(program: Program, switch: ApiCall) -> Iterator[ApiCall]:
    """Yield the calls that run the model as `switch` has compiled it."""
    is_after = False
    for call in program.calls:
        if call is switch:
            is_after = True
        elif call.receiver is switch.receiver and call.last == "compile":
            if is_after or call.context.run != switch.context.run:
                return  # which of the two a later step meets is not seen
        elif is_after and call.receiver is switch.receiver and call.last in KERAS_RUNS:
            yield call


def is_made_for_tpu(model: Value | None) -> bool:
    return is_model(model) and is_of_tpu(scope_strategy(made_at(model)))


def is_sure(switch: ApiCall, step: ApiCall) -> bool:
    """Return whether the step comes after the switch on each run that gets to it."""
    if switch.context.run != step.context.run or step.context.is_guess:
        return False
    return switch.context.reached_whenever(step.context)


def eager_steps(program: Program) -> Iterator[EagerSwitch]:
    """Yield each `run_functions_eagerly(True)` before a step that a tf.function is around."""
    if not program.named_any(RUNS_EAGERLY):
        return
    traced = {id(built.call): built for built in program.computations if is_traced(built)}
    makers = program.named_any(tf_names.TPU_STRATEGIES)
    switches: dict[int, tuple[ApiCall, Argument] | None] = {}
    for call in program.calls:
        if call.last in RUNS_EAGERLY and tf_names.is_tensorflow(call.path):
            argument = call.argument("run_eagerly", 0)
            switches[call.context.run] = None  # `run_functions_eagerly(False)` turns it off again.
            if argument is not None and argument.value == ON:
                switches[call.context.run] = call, argument
        turned_on, computation = switches.get(call.context.run), traced.get(id(call))
        if turned_on is None or (computation is None and call.last not in KERAS_RUNS):
            continue
        switch, argument = turned_on
        # The calls that make the TPUStrategies on which it may run count, too.
        strategies = {id(option) for option in (call.receiver or NONE).options}
        ends = [call, *(maker for maker in makers if id(maker.result) in strategies)]
        if not any(is_sure(switch, end) for end in ends):
            # What is called may be one of several, of which some are not seen.
            if computation is not None and switch.context.reached_whenever(call.context):
                yield switch, argument, call, Certainty.POSSIBLE
        elif computation is not None:
            yield switch, argument, call, computation.certainty
        elif is_made_for_tpu(call.receiver):
            yield switch, argument, call, Certainty.DEFINITE


def is_traced(computation: Computation) -> bool:
    """Return whether a tf.function makes this a step that a TPUStrategy takes."""
    if computation.kind not in tf_names.STRATEGY_RUN or not may_be_tpus(computation):
        return False
    is_function = computation.context.traced or is_traced_function(computation.callee) is True
    return is_function and not is_built_in_graph(computation)
