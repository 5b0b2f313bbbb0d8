"""TPU402: replicas get inputs of different number, structure or dtype."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import options
from tpulint.queries.entry_calls import REPLICATES, argument, certainty, entries
from tpulint.rules.base import Report
from tpulint.rules.tpu402_differences import difference


def check(program: Program, report: Report) -> None:
    for entry in entries(program, REPLICATES):
        inputs = argument(entry, "inputs")
        if inputs is None:
            continue
        sure = certainty(entry, lambda value: difference(value) is not None, inputs.value)
        if sure is not None:
            found = [difference(each) for each in options(inputs.value)]
            said = next(each for each in found if each)
            report(inputs.site.span, said, certainty=sure)
