"""Fixes of the calls of the replicate family, and of gradients in them."""

from __future__ import annotations

from tpulint.analysis.domain.arity import signature_of
from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.analysis.domain.objects import Sequence
from tpulint.analysis.domain.values import Value
from tpulint.finding import Applicability, Fix

COLOCATE = "colocate_gradients_with_ops"


def colocated(gradient: ApiCall) -> Fix | None:
    """Return the fix that places gradients with their operations; a tape has no such option."""
    if gradient.last == "gradient":
        return None
    from tpulint.diagnostics.fixes.calls import with_keyword

    edits = with_keyword(gradient.site, COLOCATE, "True")
    return None if edits is None else Fix(Applicability.SAFE, f"pass `{COLOCATE}=True`", edits)


def a_list_each(inputs: Argument, computation: Value) -> Fix | None:
    """Return the fix that gives each replica a list of its own.

    A computation of one parameter has one element of the list a replica; one of as many
    parameters as there are elements runs once. Nothing else is clear enough.
    """
    value = inputs.value
    if not isinstance(value, Sequence) or value.open or value.kind != "list" or not value.items:
        return None
    count, taken = len(value.items), parameters(computation)
    if taken not in (1, count):
        return None
    from tpulint.diagnostics.fixes.calls import in_lists

    edits = in_lists(inputs.site, count, is_one=taken != 1)
    message = "give each replica a list of its inputs"
    return None if edits is None else Fix(Applicability.UNSAFE, message, edits)


def parameters(computation: Value) -> int | None:
    """Return how many arguments a computation takes; None where that is not one number."""
    signature = signature_of(computation)
    if signature is None:
        return None
    plain = [
        each
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and each.default is each.empty
    ]
    return len(plain) if len(plain) == len(signature.parameters) else None
