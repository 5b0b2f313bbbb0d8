"""TPU704: the TPU system is initialized after something was built on it."""

from __future__ import annotations

from tpulint.finding import HOST_LANE
from tpulint.program import trace
from tpulint.program.model import ApiCall, Program
from tpulint.program.systems import Again, initialized_again
from tpulint.program.where import Where
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for found in initialized_again(program):
        report(
            found.call.site.span,
            message(found),
            certainty=found.certainty,
            trace=(
                trace.step(HOST_LANE, found.before.site, does(found.before)),
                *trace.calls(HOST_LANE, Where(), found.call.where),
                trace.step(HOST_LANE, found.call.site, "initializes the system, and clears it"),
            ),
        )


def message(found: Again) -> str:
    if found.before.last == "scope":
        harm = "the variables of the strategy that was built on it are lost"
    elif found.before.last == found.call.last:
        harm = "it was initialized already, and what was made on it is lost"
    else:
        harm = "a strategy was built on it already"
    return f"initializing the TPU system clears the TPU: {harm}"


def does(call: ApiCall) -> str:
    if call.last == "scope":
        return "enters the scope of a strategy on the system"
    return f"calls `{call.last}`"
