"""TPU706: tf.functions or a Keras model are set to run eagerly, which no TPU can."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes.strategies import not_eager
from tpulint.finding import HOST_LANE, Step
from tpulint.rules.base import Report
from tpulint.rules.tpu706_eager_switches import Eager, eager_models, switched_functions


def check(program: Program, report: Report) -> None:
    for found in (*eager_models(program), *switched_functions(program)):
        report(
            found.given.site.span,
            message(found),
            certainty=found.certainty,
            trace=(
                traces.step(HOST_LANE, found.switch.site, "turns on eager execution"),
                *way_to_step(found),
            ),
            fix=not_eager(found.switch, found.given),
        )


def way_to_step(found: Eager) -> tuple[Step, ...]:
    if found.step is None:
        return ()
    calls = traces.calls(HOST_LANE, found.switch.context, found.step.context)
    last = traces.step(HOST_LANE, found.step.site, f"`{found.step.last}` runs its step eagerly")
    return (*calls, last)


def message(found: Eager) -> str:
    if found.switch.last == "compile":
        return (
            "`run_eagerly=True` for a model of a TPUStrategy: a TPU runs compiled steps only, and"
            f" `{found.step.last if found.step else 'fit'}` refuses this model"
        )
    return (
        f"`{found.switch.last}(True)` removes the tf.function around `run`: a"
        " TPUStrategy does not run a step eagerly"
    )
