"""The tensors that cross the seam, and their sizes as far as dtypes and shapes are known."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from tpulint.analysis.domain.events import SENT, Computation, Tensor, Use
from tpulint.analysis.domain.objects import Sequence as Items
from tpulint.analysis.domain.objects import function_of
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import Value
from tpulint.output.program_map.model import Crossing

NAME = re.compile(r"[A-Za-z_][\w.]*(\[\w*\])?")
BITS = re.compile(r"[a-z]+(\d+)")
SORTS = {"structure": "tensors", "unseen": "not known"}
LONGEST = 40  # characters of an expression that is shown as a name


def given_away(uses: Iterable[Use]) -> tuple[Crossing, ...]:
    """Return what the uses take from the other side, each tensor once.

    An argument is called what it is called where it is sent; so is what a closure takes, if that is
    a name.
    """
    found: dict[int, tuple[Tensor, str]] = {}
    for use in uses:
        name = name_at(use.site, anything=use.taker == SENT)
        known = found.get(id(use.tensor))
        if known is None or not known[1]:
            found[id(use.tensor)] = (use.tensor, name)
    return tuple(crossing(tensor, name) for tensor, name in found.values())


def inputs_of(computation: Computation) -> tuple[Crossing, ...]:
    """Return what a computation is given, by the names of its parameters."""
    function = function_of(computation.callee)
    names: Sequence[str] = ()
    if function is not None:
        names = [each.name for each in function.code.parameters.by_position]
        names = names[1:] if function.owner is not None and names[:1] == ["self"] else names
    found = []
    for index, value in enumerate(_given(computation)):
        name = names[index] if index < len(names) else ""
        found += [crossing(each, name) for each in tensors(value)]
    return tuple(found)


def _given(computation: Computation) -> Sequence[Value]:
    """Return what each parameter gets on the first replica, as far as it is seen.

    Only `rewrite` and `replicate` hand over what they are given as it is.
    """
    inputs = computation.call.argument("inputs", 1)
    given = inputs.value if inputs is not None else None
    if computation.kind == "replicate" and isinstance(given, Items) and given.items:
        given = given.items[0]
    if computation.kind not in ("rewrite", "replicate") or not isinstance(given, Items):
        return computation.parameters
    is_whole = not given.open and len(given.items) == len(computation.parameters)
    return given.items if is_whole else computation.parameters


def results_of(computation: Computation) -> tuple[Crossing, ...]:
    """Return the tensors that a computation gives out."""
    value = computation.result
    return tuple(crossing(each, "") for each in tensors(value)) if value is not None else ()


def crossing(tensor: Tensor, name: str) -> Crossing:
    """Return what is known of the tensor, under that name."""
    shape = "" if tensor.shape is None else f"({', '.join(map(_dimension, tensor.shape))})"
    words = " ".join(filter(None, [tensor.dtype, shape])) or SORTS.get(tensor.sort, tensor.sort)
    return Crossing(name, words, _bytes(tensor))


def _dimension(size: int | None) -> str:
    return "?" if size is None else str(size)


def _bytes(tensor: Tensor) -> int | None:
    if tensor.sort != "tensor" or tensor.dtype is None or tensor.shape is None:
        return None
    known = [each for each in tensor.shape if each is not None]
    width = _width(tensor.dtype)
    return None if width is None or len(known) < len(tensor.shape) else width * math.prod(known)


def _width(dtype: str) -> int | None:
    """Return the bytes of an element; None where they vary, as those of a string do."""
    if dtype == "bool":
        return 1
    match = BITS.fullmatch(dtype)
    return int(match[1]) // 8 if match else None


def name_at(site: Site, *, anything: bool) -> str:
    """Return the source text at `site`, if it reads as a name or is an argument."""
    if site.place < 0:
        return ""
    span = site.span
    if span.start.row != span.end.row:
        return ""
    rows = site.module.text.splitlines()
    text = rows[span.start.row - 1][span.start.column - 1 : span.end.column - 1]
    if NAME.fullmatch(text) or (anything and len(text) <= LONGEST):
        return text
    return ""
