"""Edits of a call: one more keyword, another function around it, the call taken away."""

from __future__ import annotations

from tpulint.analysis.domain.site import Site
from tpulint.diagnostics.fixes.tokens import (
    CLOSING,
    OPENING,
    Token,
    opening_of_call,
    text_of,
    tokens_of,
)
from tpulint.finding import Edit, Location, Span

Edits = tuple[Edit, ...]


def with_keyword(call: Site, keyword: str, value: str) -> Edits | None:
    """Return the edit that gives the call a keyword argument, or the one that it has a new value.

    None where that is not simple: a generator without brackets, or text that is not as read.
    """
    tokens = tokens_of(call)
    begin = opening_of_call(tokens)
    if begin is None:
        return None
    inside = tokens[begin + 1 : -1]
    top = at_top(inside)
    texts = [each.text for each in top]
    if "for" in texts or "**" in texts:
        return None
    for index, each in enumerate(top[:-2]):
        if each.text == keyword and top[index + 1].text == "=":
            is_one_word = index + 3 == len(top) or top[index + 3].text == ","
            old = top[index + 2]
            return (Edit(old.start, old.end, value),) if is_one_word else None
    new = f"{keyword}={value}"
    if not inside:
        return (insert(tokens[-1].start, new),)
    last = inside[-1]
    return (insert(last.end, f" {new}" if last.text == "," else f", {new}"),)


def wrapped(span: Span, before: str, after: str) -> Edits:
    """Return the edits that put text on both sides of an expression."""
    return (insert(span.start, before), insert(span.end, after))


def called_by_name(call: Site, name: str) -> Edits | None:
    """Return the edit that calls `name` with the arguments of the call."""
    tokens = tokens_of(call)
    begin = opening_of_call(tokens)
    return None if begin is None else (Edit(call.span.start, tokens[begin].start, name),)


def without_forwarding(call: Site) -> Edits | None:
    """Return the edit that makes `forward(function, x, y)` `function(x, y)`.

    None where the function is given by keyword, or a comment would be lost.
    """
    tokens = tokens_of(call)
    begin = opening_of_call(tokens)
    if begin is None or begin + 1 >= len(tokens) - 1:
        return None
    first, *others = arguments_of(tokens[begin + 1 : -1])
    if "=" in [each.text for each in at_top(first)] or first[0].text == "*":
        return None
    function = text_of(call.module, Span(call.span.filename, first[0].start, first[-1].end))
    if first[0].text == "lambda":
        function = f"({function})"
    end = others[0][0].start if others else tokens[-1].start
    dropped = text_of(call.module, Span(call.span.filename, call.span.start, end))
    if "#" in dropped:
        return None
    return (Edit(call.span.start, end, f"{function}("),)


def passed(called: Site) -> Edits | None:
    """Return the edit that makes `forward(function(x))` `forward(function, x)`.

    `called` is the argument `function(x)`. None where it is no plain call.
    """
    tokens = tokens_of(called)
    begin = opening_of_call(tokens)
    if begin is None or text_of(called.module, called.span).startswith(("*", "lambda")):
        return None
    if [each.text for each in tokens[1:2]] == ["="]:
        return None  # given by keyword
    inside = tokens[begin + 1 : -1]
    if "for" in [each.text for each in at_top(inside)]:
        return None
    opening, ending = tokens[begin], tokens[-1]
    close = Edit(ending.start, ending.end, "")
    if not inside:
        return (Edit(opening.start, ending.end, ""),)
    return (Edit(opening.start, opening.end, ", "), close)


def arguments_of(inside: list[Token]) -> list[list[Token]]:
    """Return the tokens of each argument of a call, or of each element of a list."""
    found: list[list[Token]] = [[]]
    depth = 0
    for each in inside:
        depth += each.text in OPENING
        depth -= each.text in CLOSING
        if depth == 0 and each.text == "," and not in_lambda(found[-1]):
            found.append([])
        else:
            found[-1].append(each)
    return found if found[-1] else found[:-1]


def in_lambda(tokens: list[Token]) -> bool:
    """Return whether the tokens end among the parameters of a lambda."""
    texts = [each.text for each in at_top(tokens)]
    return texts.count("lambda") > texts.count(":")


def at_top(tokens: list[Token]) -> list[Token]:
    """Return the tokens that are in no brackets of their own."""
    found, depth = [], 0
    for each in tokens:
        depth -= each.text in CLOSING
        if depth == 0:
            found.append(each)
        depth += each.text in OPENING
    return found


def insert(place: Location, text: str) -> Edit:
    return Edit(place, place, text)
