"""Find the accesses that touch one variable, and with which certainty."""

from __future__ import annotations

from tpulint.analysis.domain.context import LOOP
from tpulint.analysis.domain.events import Access, Context, Variable


def may_be_one(left: Variable, right: Variable) -> bool:
    """Return whether the two are one variable, or one is among the weights that the other is."""
    return left is right or left.whole is right or right.whole is left


def conflict(left: Access, right: Access) -> bool:
    """Return whether their order matters: one variable, of which one writes, on one run."""
    return (
        may_be_one(left.variable, right.variable)
        and not left.mode == right.mode == "read"
        and not left.context.excludes(right.context)
    )


def is_sure(access: Access) -> bool:
    """Return whether it is known that this variable, and no other, is touched at this place."""
    return (
        not access.variable.assumed
        and access.mode != "unknown"
        and not access.context.is_guess
        and is_one_object(access.variable, access.context)
    )


def is_one_object(variable: Variable, context: Context) -> bool:
    """Return whether what a Python loop made is taken in its own round.

    The loop is read once for all its rounds.
    """
    if variable.made is None:
        return True
    around = {id(scope) for scope in context.scopes}
    return all(id(scope) in around for scope in variable.made.scopes if scope.kind == LOOP)


def in_one_loop(left: Context, right: Context) -> bool:
    """Return whether a Python loop, read once, repeats both."""
    around = {id(each) for each in left.scopes if each.kind == LOOP}
    return any(id(each) in around for each in right.scopes)
