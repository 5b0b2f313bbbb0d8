"""The number of inputs that a computation takes, as TensorFlow counts it."""

from __future__ import annotations

from dataclasses import dataclass

from tpulint.analysis.domain.objects import Function
from tpulint.analysis.domain.values import Bound, Partial, Value


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
