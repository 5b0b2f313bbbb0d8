"""TPU403: the computation cannot take the number of inputs that it is given."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Bound, Choice, Partial, Value
from tpulint.diagnostics import traces
from tpulint.queries.entry_calls import argument, certainty, entries
from tpulint.rules.base import Report
from tpulint.rules.tpu403_arity import NEVER, arity_of
from tpulint.rules.tpu403_input_counts import input_count


def check(program: Program, report: Report) -> None:
    for entry in entries(program):
        computation = argument(entry, "computation")
        count = input_count(entry)
        if computation is None or count is None:
            continue

        def misfits(value: Value, count: int = count) -> bool:
            arity = arity_of(value)
            return arity is not None and not arity.takes(count)

        sure = certainty(entry, misfits, computation.value)
        if sure is not None:
            said = _message(computation.value, count)
            report(entry.site.span, said, certainty=sure)


def _message(callee: Value, count: int) -> str:
    arity = arity_of(callee)
    name = traces.callee_name(callee) if not isinstance(callee, Choice) else "the computation"
    if arity is NEVER:
        return f"{name} has a keyword-only argument, but TensorFlow passes none by keyword"
    never = arity is not None and not arity.takes(arity.least)
    if never and _is_method(callee):
        return (
            f"{name} is a bound method, which TensorFlow always refuses, as it counts `self`: wrap"
            " it in a lambda"
        )
    takes = "another number" if arity is None or never else str(arity)
    return f"{name} is given {count} input{'' if count == 1 else 's'} but takes {takes}"


def _is_method(callee: Value) -> bool:
    while isinstance(callee, Partial):
        callee = callee.function
    return isinstance(callee, Bound)
