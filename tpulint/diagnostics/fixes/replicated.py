"""Fixes of the calls of the replicate family, and of gradients in them."""

from __future__ import annotations

from tpulint.analysis.domain.arity import signature_of
from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.analysis.domain.objects import Sequence
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Value
from tpulint.diagnostics.fixes.calls import arguments_of, insert, with_keyword
from tpulint.diagnostics.fixes.tokens import Token, closing, tokens_of
from tpulint.finding import Applicability, Edit, Fix

COLOCATE = "colocate_gradients_with_ops"


def colocated(gradient: ApiCall) -> Fix | None:
    """Return the fix that places gradients with their operations; a tape has no such option."""
    if gradient.last == "gradient":
        return None
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
    elements = elements_of(inputs.site, inputs.keyword)
    if len(elements) != len(value.items):
        return None  # the list is written elsewhere
    taken = parameters(computation)
    if taken == 1:
        edits: tuple[Edit, ...] = tuple(
            edit
            for each in elements
            for edit in (insert(each[0].start, "["), insert(each[-1].end, "]"))
        )
    elif taken == len(elements):
        edits = (insert(elements[0][0].start, "["), insert(elements[-1][-1].end, "]"))
    else:
        return None
    return Fix(Applicability.UNSAFE, "give each replica a list of its inputs", edits)


def elements_of(argument: Site, keyword: str | None) -> list[list[Token]]:
    """Return the tokens of each element of a list that is written as an argument."""
    tokens = tokens_of(argument)
    if keyword is not None and [each.text for each in tokens[:2]] == [keyword, "="]:
        tokens = tokens[2:]
    if not tokens or tokens[0].text != "[" or closing(tokens, 0) != len(tokens) - 1:
        return []
    return arguments_of(tokens[1:-1])


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
