"""TPU901: each step of training is launched from Python by itself."""

from __future__ import annotations

from tpulint.absint.domain.events import ApiCall, Computation
from tpulint.absint.domain.objects import ExternalObject, Instance
from tpulint.absint.domain.values import NONE, Const
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge import names
from tpulint.queries import launches
from tpulint.queries.certainty import definite_if
from tpulint.queries.entry_calls import constant_int, fed_estimators, tpu_config
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

# keras/src/trainers/trainer.py, and its names in TensorFlow 2.2 and 2.3.
SETTINGS = ("steps_per_execution", "experimental_steps_per_execution")
# tensorflow/python/distribute/tpu_strategy.py: of TPUStrategyV1, 1 by default.
OLD_SETTING = "steps_per_run"
LAST_WITHOUT_SETTING, LAST_EXPERIMENTAL = "2.0", "2.3"
IN_A_FUNCTION = "make a tf.function with `for _ in tf.range(steps)` around the step"


@register
class OneStepPerLaunch(Rule):
    code = "TPU901"
    name = "one-step-per-launch"
    severity = Severity.PERFORMANCE
    summary = "training whose steps are launched from Python one by one"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.call.last == "fit" and launches.is_training_on_tpu(computation):
                check_fit(program, computation, report)
        for steps in launches.step_loops(program):
            report(
                steps.launch.site.span,
                f"this loop of Python trains with {phrase(steps.rounds)}, and the TPU waits for"
                f" it between two of them: {IN_A_FUNCTION}",
                certainty=definite_if(steps.is_sure),
                trace=(
                    traces.host_step(steps.loop.site, "in each round of this loop"),
                    traces.host_step(steps.launch.site, "launches one step"),
                ),
                doubt="if the loop has many rounds, and a TPU trains",
            )
        check_estimators(program, report)


def phrase(steps: int | None, unit: str = "") -> str:
    """Return the number of launches in words."""
    return (
        "a launch for each step" if steps is None else f"a launch for each of {steps:,} steps{unit}"
    )


def check_fit(program: Program, computation: Computation, report: Report) -> None:
    """Report the `compile` of a model that `fit` trains step by step."""
    fit = computation.call
    model = fit.receiver
    setting = setting_at(program, fit)
    place = " to `TPUStrategy`" if setting == OLD_SETTING else ""
    compiles = [call for call in program.named.get("compile", ()) if call.receiver is model]
    # A strategy of TensorFlow 1 may have been told how many steps it runs for a launch.
    strategies = program.named.get("TPUStrategy", ())
    if setting is None or any(call.argument(OLD_SETTING) is not None for call in strategies):
        return
    if isinstance(model, (ExternalObject, Instance)) and model.attributes.keys() & set(SETTINGS):
        return
    steps = steps_of_fit(program, fit)
    if len(compiles) != 1 or not launches_each_step(compiles[0]) or launches.is_few(steps):
        return
    chunk = 100 if steps is None or steps >= 200 else steps
    report(
        compiles[0].site.span,
        f"`fit` trains with {phrase(steps, ' of an epoch')}, and the TPU waits for Python between"
        f" two of them: pass `{setting}={chunk}`{place}",
        certainty=definite_if(
            computation.certainty is Certainty.DEFINITE,
            steps is not None,
            not fit.context.is_guess,
            compiles[0].context.reached_whenever(fit.context),
        ),
        trace=(
            traces.host_step(compiles[0].site, "compiles a step"),
            traces.host_step(fit.site, "launches it for each batch"),
        ),
        doubt="if an epoch has many steps, and a TPU trains",
    )


def setting_at(program: Program, fit: ApiCall) -> str | None:
    """Return the argument that sets the steps in the TensorFlow of a `fit`; None if it has none."""
    if launches.is_of_contrib(program, fit.context):
        return OLD_SETTING
    target = program.targets.of(fit.site.module.filename)
    if target.stated and not target.mask & ~names.until(LAST_WITHOUT_SETTING):
        return None
    is_old = target.stated and not target.mask & ~names.until(LAST_EXPERIMENTAL)
    return SETTINGS[1] if is_old else SETTINGS[0]


def launches_each_step(compiled: ApiCall) -> bool:
    """Return whether `compile` certainly leaves one step for each launch."""
    is_eager = compiled.value("run_eagerly", 5) not in (None, Const(False), NONE)
    settings = [compiled.value(name) for name in SETTINGS]
    are_default = all(setting in (None, Const(1), NONE) for setting in settings)
    return are_default and not is_eager and not compiled.is_starred


def steps_of_fit(program: Program, fit: ApiCall) -> int | None:
    """Return how many steps an epoch has; None where that is not known."""
    steps = fit.value("steps_per_epoch")
    if steps not in (None, NONE):
        return constant_int(steps)
    feeds = [feed for feed in program.feeds if feed.site == fit.site]
    return launches.steps_of_epoch(feeds[0]) if len(feeds) == 1 else None


def check_estimators(program: Program, report: Report) -> None:
    for config in program.named.get("TPUConfig", ()):
        number = config.argument("iterations_per_loop", 0)
        if number is None or number.value != Const(1):
            continue
        feeds = [
            feed
            for feed, estimator in fed_estimators(program)
            if feed.kind == "train" and tpu_config(estimator) is config.result
        ]
        amounts = [constant_int(launches.steps_asked_for(program, feed)) for feed in feeds]
        if not feeds or any(map(launches.is_few, amounts)):
            continue
        steps = amounts[0] if len(amounts) == 1 else None
        report(
            number.site.span,
            f"the estimator trains with {phrase(steps)}, and the host waits for each: pass"
            " `iterations_per_loop=100` or more",
            certainty=definite_if(steps is not None, not config.context.is_guess),
            trace=(
                traces.host_step(config.site, "sets the steps of a launch"),
                traces.host_step(feeds[0].site, "trains"),
            ),
            doubt="if it trains many steps",
        )
