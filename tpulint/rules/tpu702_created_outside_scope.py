"""TPU702: what device code uses was created outside `strategy.scope()`."""

from __future__ import annotations

from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.program import trace
from tpulint.program.model import Program
from tpulint.program.scopes import Outside, Scopes
from tpulint.rules.base import Report

HARM = {
    "optimizer": "its slot variables cannot be made beside those of the model",
    "model": "an optimizer of the strategy cannot update its variables",
    "metric": "what the replicas add to it is refused or lost",
    "variable": "it lives on one host, not on the replicas: device code reads a copy there,"
    " and what the replicas write is lost or refused",
}


def check(program: Program, report: Report) -> None:
    scopes = Scopes(program)
    for found in scopes.outside():
        report(
            scopes.place(found).span,
            message(found),
            certainty=found.certainty,
            trace=(
                *trace.calls(HOST_LANE, found.user, found.made),
                trace.step(HOST_LANE, found.site, f"makes {words(found)} under no scope"),
                trace.step(lane(found), found.use, f"uses the {found.kind}"),
            ),
        )


def lane(found: Outside) -> str:
    return DEVICE_LANE if found.user.computation is not None else HOST_LANE


def words(found: Outside) -> str:
    return f"the {found.kind} `{found.name}`"


def message(found: Outside) -> str:
    return f"{words(found)} is created outside `strategy.scope()`: {HARM[found.kind]}"
