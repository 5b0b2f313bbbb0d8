"""TPU506: a Python side effect in device code happens once, while the code is traced."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Computation, Effect, Use
from tpulint.absint.domain.objects import TraceTimeValue
from tpulint.diagnostics.traces import device_path, device_step, in_calls, path_to_site
from tpulint.finding import HOST_LANE, Step
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.tf_names import FIXED, is_tensorflow
from tpulint.queries.certainty import definite_if, is_in_every_trace
from tpulint.queries.device_code import is_behind_guard
from tpulint.queries.eager_calls import asks_for_eager
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

MEANT_IN_GRAPHS = ("shows", "keeps", "writes")  # in a graph of TensorFlow 1 these are meant
SEEDS = frozenset(["seed", "set_seed", "set_random_seed"])
CONSTANTS = frozenset(["constant", "convert_to_tensor"])
HARM = {
    "shows": "`{}` runs once, while the step is traced, and shows a symbolic tensor, not its"
    " value: return the tensor and show it outside",
    "keeps": "`{}` runs once, while the step is traced, and keeps a symbolic tensor, not the"
    " value of each step: return the tensor and collect it outside",
    "writes": "`{}` runs once, while the step is traced: the file is written then, and never again;"
    " write it after the step",
    "computes": "`{}` runs once, while device code is traced: every step uses that one value;"
    " pass the value to the step",
    "decides": "`{}` runs once, while device code is traced: every step takes the branch chosen"
    " then; pass the value to the step, and use `tf.cond`",
}


@register
class TraceTimeSideEffect(Rule):
    code = "TPU506"
    name = "trace-time-side-effect"
    severity = Severity.WARNING
    summary = "a Python side effect that runs once, at trace time"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            for use in kept_tensors(computation):
                _report_kept(program, computation, use, report)
            for effect in (*computation.effects, *given_to_operations(computation)):
                if effect.kind in HARM and not is_intended(computation, effect):
                    report(
                        effect.source.span,
                        HARM[effect.kind].format(effect.name),
                        certainty=definite_if(
                            effect.sure,
                            not effect.context.is_guess,
                            is_in_every_trace(computation, effect.context),
                        ),
                        trace=path_to_site(
                            computation,
                            effect.context,
                            effect.source,
                            f"calls `{effect.name}` while tracing",
                        ),
                    )


def kept_tensors(computation: Computation) -> Iterator[Use]:
    """Yield the first use on the host of each tensor that a step stored outside itself."""
    by_tensor: dict[int, Use] = {}
    for use in computation.uses if computation.kind in tf_names.RUNS_ON_REPLICAS else ():
        home = use.tensor.made
        is_steps = home is not None and home.computation is computation and home.cluster is None
        is_outside = use.context.computation is None and not use.alternative
        if is_steps and is_outside and use.certainty is Certainty.DEFINITE:
            by_tensor.setdefault(id(use.tensor), use)
    yield from by_tensor.values()


def _report_kept(program: Program, computation: Computation, use: Use, report: Report) -> None:
    home, origin = use.tensor.made, use.tensor.site
    assert home is not None
    assert origin is not None
    culprit = in_calls(program.at.get(use.site, ()), use.site, use.tensor)
    report(
        culprit.span,
        f"{culprit.called('the value')} is a symbolic tensor that the step kept while it was"
        " traced, not the value of the last step: return it, and use what `run` returns",
        certainty=definite_if(
            not use.context.is_guess and not home.is_guess, is_in_every_trace(computation, home)
        ),
        trace=device_path(
            computation,
            home,
            device_step(origin, "makes the tensor, which is kept"),
            Step(HOST_LANE, culprit.span, "uses it after the step"),
        ),
    )


def given_to_operations(computation: Computation) -> Iterator[Effect]:
    """Clocks and random numbers that an operation takes; what is fixed on purpose is not."""
    for call in computation.calls:
        for argument in call.arguments:
            value = argument.value
            if not isinstance(value, TraceTimeValue) or argument.keyword in FIXED:
                continue
            if is_tensorflow(call.path) and call.context.on_device and not is_fixed(call):
                yield Effect("computes", value.path, call.site, call.context, value.site, True)


def is_fixed(call: ApiCall) -> bool:
    """Return whether it keeps what it is given for good, or shows it to a human."""
    is_kept = call.last in tf_names.VARIABLE_MAKERS or call.last in CONSTANTS
    return is_kept or naming.INITIALIZER.is_in(call.path) or naming.LOGGING.is_in(call.path)


def is_intended(computation: Computation, effect: Effect) -> bool:
    """Return whether it happens once on purpose: a seed, an own graph, a lazy creation."""
    # In a graph of TensorFlow 1 a `print` shows how the graph is built.
    if effect.kind in MEANT_IN_GRAPHS:
        inner = effect.context.conditions - computation.context.conditions
        return (
            computation.kind not in tf_names.RUNS_ON_REPLICAS
            or is_behind_guard(computation, effect.context)
            or (
                effect.kind == "shows" and asks_for_eager(effect.context._replace(conditions=inner))
            )
        )
    if not naming.RANDOM.is_in(effect.name):
        return effect.kind == "decides"
    # A seeded generator gives the same numbers at each trace: this is meant to be fixed.
    return any(call.last in SEEDS and naming.RANDOM.is_in(call.path) for call in computation.calls)
