"""The budgets of a run: how often and how deep the functions of a program are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from tpulint.analysis.domain.objects import Function
from tpulint.analysis.interpreter.distinct_calls import (
    Arguments,
    Identity,
    code_of_call,
    identity,
)
from tpulint.analysis.interpreter.entered import Pushed

DEPTH = 40  # calls inside one another
VISITS = 3  # readings of one function in one run, at least
SMALL = 60  # identifiers: a function with few of them is read more often
DISTINCT = 64  # readings of one function in one run after which it is read once a distinct call
CALLS = 20_000  # readings of all functions in one run
RECURSION = "recursion"


class Budgets:
    """The budgets of one run, and the functions that are being read.

    A function has a budget for each group of functions and variables that are passed to it, so
    that calls with others do not use it up.
    """

    def __init__(self) -> None:
        self._active: list[Identity] = []
        self._visits: Counter[Hashable] = Counter()
        self._calls = 0

    def renew(self) -> None:
        """Begin a run, with fresh budgets."""
        self._visits.clear()
        self._calls = 0

    def exceeded(self, function: Function, args: Arguments) -> str | None:
        """Count a call; return the budget that it exceeds, None where it may be followed."""
        code, call = id(function.code), identity(function, args)
        self._calls += 1
        self._visits[code] += 1
        self._visits[call] += 1
        if self._calls > CALLS:
            return f"more than {CALLS:,} calls in one run"
        if len(self._active) > DEPTH:
            return f"calls more than {DEPTH} deep"
        if self._active.count(code_of_call(function, args)) >= 2:
            return RECURSION
        visits = self._visits[call]
        is_spent = visits > VISITS and visits > SMALL // (len(function.code.mentions) + 1)
        if is_spent or (visits > 1 and self._visits[code] > DISTINCT):
            return "read often enough"
        return None

    def is_active(self, function: Function) -> bool:
        """Return whether the function is being read."""
        return any(code == id(function.code) for code, *_ in self._active)

    def entered(self, function: Function, args: Arguments) -> Pushed[Identity]:
        """Return what makes the function one that is being read, in a `with` block."""
        return Pushed(self._active, code_of_call(function, args))
