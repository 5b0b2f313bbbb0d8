"""TPU404: `maximum_shapes` that does not fit the inputs."""

from __future__ import annotations

from tpulint.analysis.domain.events import Computation
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Value, options
from tpulint.queries.entry_calls import (
    REPLICATES,
    argument,
    certainty,
    entries,
)
from tpulint.rules.base import Report
from tpulint.rules.tpu404_shapes import fault


def check(program: Program, report: Report) -> None:
    for entry in entries(program, REPLICATES):
        shapes = argument(entry, "maximum_shapes")
        if shapes is None:
            continue

        def misfits(value: Value, entry: Computation = entry) -> bool:
            return fault(entry, value) is not None

        sure = certainty(entry, misfits, shapes.value)
        if sure is not None:
            faults = [fault(entry, each) for each in options(shapes.value)]
            said = next(each for each in faults if each)
            report(shapes.site.span, f"`maximum_shapes` {said}", certainty=sure)
