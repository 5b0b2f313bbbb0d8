"""TPU702: what device code uses was created outside `strategy.scope()`."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import in_scope
from tpulint.finding import DEVICE_LANE, HOST_LANE, Applicability, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge.keras import KERAS_3
from tpulint.frontends.tensorflow.names.target_release import allowed
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.environment import KERAS, target_at
from tpulint.queries.strategies import Outside, Scopes
from tpulint.rules.base import Report, Rule, register

HARM = {
    "optimizer": "its slot variables cannot be created beside the model's variables",
    "model": "an optimizer of the strategy cannot update its variables",
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
        for creation in scopes.outside():
            verdict = certainty(program, creation)
            if verdict is None:
                continue
            report(
                scopes.place(creation).span,
                message(creation),
                certainty=verdict,
                trace=(
                    *traces.calls(HOST_LANE, creation.user, creation.made),
                    traces.step(
                        HOST_LANE, creation.site, f"makes {words(creation)} outside the scope"
                    ),
                    traces.step(lane(creation), creation.use, f"uses the {creation.kind}"),
                ),
                fix=in_scope(scopes.place(creation)),
            )


def certainty(program: Program, creation: Outside) -> Certainty | None:
    """Return how sure the fault is; None for an optimizer before Keras 3.

    Those take their strategy when they are used first.
    """
    if creation.kind != "optimizer":
        return creation.certainty
    target = target_at(program, creation.site, KERAS)
    if not target.newest & allowed([KERAS_3]):
        return None
    # Requirements that allow both Keras 2 and 3 leave it open.
    is_mixed = target.stated and target.mask & ~allowed([KERAS_3])
    return Certainty.POSSIBLE if is_mixed else creation.certainty


def lane(creation: Outside) -> str:
    return DEVICE_LANE if creation.user.computation is not None else HOST_LANE


def words(creation: Outside) -> str:
    return f"the {creation.kind} `{creation.name}`"


def message(creation: Outside) -> str:
    return f"{words(creation)} is created outside `strategy.scope()`: {HARM[creation.kind]}"
