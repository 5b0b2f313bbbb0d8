"""TPU702: what device code uses was created outside `strategy.scope()`."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import in_scope
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.frontends.tensorflow.knowledge.tf_names import KERAS_3
from tpulint.frontends.tensorflow.target_release import allowed
from tpulint.queries.environment import KERAS, is_for_keras_2, target_at
from tpulint.queries.strategies import Misplaced, Scopes
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register

HARM = {
    "optimizer": "its slot variables cannot be created beside the model's variables",
    "model": "an optimizer of the strategy cannot update its variables",
    "layer": "an optimizer of the model's strategy cannot update its weights",
    "metric": "updates from the replicas are refused or lost",
    "variable": "it lives on the host, so replicas read a copy of it, and their writes are refused"
    " or lost",
}


@register
class CreatedOutsideScope(Rule):
    code = "TPU702"
    name = "created-outside-scope"
    severity = Severity.ERROR
    summary = "a model, optimizer or metric created outside strategy.scope()"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        scopes = Scopes(program)
        for misplaced in scopes.misplaced():
            verdict = judge(program, misplaced)
            if verdict is None:
                continue
            certainty, doubt = verdict
            # It has no name where its creation is not seen.
            name = f" `{misplaced.name}`" if misplaced.name else ""
            what = f"the {misplaced.kind}{name}"
            verb = "makes" if name else "compiles"
            harm = "`fit` trains it without the TPU" if misplaced.unused else HARM[misplaced.kind]
            lane = HOST_LANE if misplaced.use.context.computation is None else DEVICE_LANE
            report(
                scopes.place(misplaced).span,
                f"{what} is created outside `strategy.scope()`: {harm}; create it under the scope",
                certainty=certainty,
                trace=(
                    *traces.calls(HOST_LANE, misplaced.use.context, misplaced.created),
                    traces.host_step(misplaced.site, f"{verb} {what} outside the scope"),
                    traces.step(lane, misplaced.use.site, f"uses the {misplaced.kind}"),
                ),
                fix=in_scope(scopes.place(misplaced)) if name else None,
                doubt=doubt,
            )


def judge(program: Program, misplaced: Misplaced) -> tuple[Certainty, str] | None:
    """Return how sure the fault is, and what would make it none; None where it is none.

    That is an optimizer before Keras 3, which takes its strategy when it is used first.
    """
    if misplaced.kind == "optimizer":
        target, keras_3 = target_at(program, misplaced.site, KERAS), allowed([KERAS_3])
        if target.needs_keras_2 or not target.newest & keras_3:
            return None
        if not target.stated and is_for_keras_2(program, misplaced.site):
            return None
        # The requirements may allow Keras 2, too; `compile` often runs on it.
        may_be_keras_2 = bool(target.mask & ~keras_3) if target.stated else misplaced.compiled
        if may_be_keras_2:
            takes = "whose optimizers take the strategy at the first step"
            return Certainty.POSSIBLE, f"unless Keras 2 runs this, {takes}"
    if not misplaced.name:
        doubt = "unless what makes the model, which is not seen, enters the scope of a TPU"
    elif misplaced.unused:
        doubt = "unless this one is not for the TPU"
    else:
        doubt = f"unless the {misplaced.kind} is built later, under the scope of a TPU"
    return misplaced.certainty, doubt
