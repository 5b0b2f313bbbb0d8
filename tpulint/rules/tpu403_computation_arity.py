"""TPU403: the computation cannot take the number of inputs that it is given."""

from __future__ import annotations

from dataclasses import dataclass

from tpulint.analysis.domain.objects import Function
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Bound, Partial, Value
from tpulint.rules.base import Report
from tpulint.rules.entry_calls import argument, certainty, entries
from tpulint.rules.input_counts import input_count


@dataclass(frozen=True)
class Arity:
    """The number of positional arguments taken: `most` is None where there is no limit."""

    least: int
    most: int | None

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        return f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"


NEVER = Arity(1, 0)


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
    if arity is NEVER:
        return "the computation has a keyword-only argument, but TensorFlow passes none by keyword"
    never = arity is not None and not arity.takes(arity.least)
    if never and _is_method(callee):
        return "a bound method is always refused, as TensorFlow counts `self`: wrap it in a lambda"
    takes = "another number" if arity is None or never else str(arity)
    return f"the computation is given {count} inputs but takes {takes}"


def _is_method(callee: Value) -> bool:
    while isinstance(callee, Partial):
        callee = callee.function
    return isinstance(callee, Bound)


def arity_of(callee: Value) -> Arity | None:
    """Return the arity that `check_function_argument_count` and Python accept; None if unseen."""
    if isinstance(callee, Partial):
        return _of_partial(callee)
    function = callee.function if isinstance(callee, Bound) else callee
    if not isinstance(function, Function) or function.code.decorators:
        return None
    if any(default is None for _, default in function.code.parameters.keyword_only):
        return NEVER
    rows = function.code.parameters.by_position
    least = sum(default is None for _, default in rows)
    most = None if function.code.parameters.star is not None else len(rows)
    if isinstance(callee, Bound) and most is not None:
        most -= 1  # Python passes self as well, which TensorFlow counts among `least`
    return Arity(least, most)


def _of_partial(callee: Partial) -> Arity | None:
    inner = arity_of(callee.function)
    if inner is None or callee.kwargs:
        return None
    if inner is NEVER:
        return NEVER
    first = len(callee.args)
    return Arity(max(inner.least - first, 0), None if inner.most is None else inner.most - first)
