"""Tensors that leave a host cluster by a side door."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.analysis.domain.events import Cluster, Computation, Tensor, Use
from tpulint.analysis.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import Choice, Value
from tpulint.finding import Certainty
from tpulint.queries.premises import certainty_at

DEPTH = 4


@dataclass(frozen=True)
class Escape:
    """The device takes at `use` a tensor that `cluster` made and did not return."""

    use: Use
    cluster: Cluster
    certainty: Certainty


def escapes(computation: Computation) -> Iterator[Escape]:
    """The first use on the device of every tensor that got out, the surest first."""
    found: dict[int, Escape] = {}
    for use in computation.uses:
        home = use.tensor.made
        cluster = home.cluster if home is not None else None
        if cluster is None or cluster.computation is not computation:
            continue
        if use.context.computation is not computation or use.context.cluster is not None:
            continue
        if any(each is use.tensor for each in carried(cluster.result)):
            continue
        escape = Escape(use, cluster, _certainty(computation, use))
        before = found.get(id(use.tensor))
        if before is None or before.certainty is not escape.certainty is Certainty.DEFINITE:
            found[id(use.tensor)] = escape
    yield from found.values()


def _certainty(computation: Computation, use: Use) -> Certainty:
    made = use.tensor.made
    sure = (
        use.certainty is Certainty.DEFINITE
        and not use.alternative
        and made is not None
        and made.reached_whenever(use.context)
        and not made.is_guess
    )
    return certainty_at(computation, use.context) if sure else Certainty.POSSIBLE


def carried(value: Value | None, depth: int = 0) -> Iterator[Tensor]:
    """The tensors that a returned object holds: it takes them along, as a structure does."""
    if depth > DEPTH:
        return
    inner: list[Value] = []
    if isinstance(value, Choice):
        inner = list(value.options)
    elif isinstance(value, (Sequence, Mapping)):
        inner = list(value.items.values() if isinstance(value, Mapping) else value.items)
    elif isinstance(value, (Instance, ExternalObject)):
        held = list(value.attributes.values())
        if isinstance(value, ExternalObject):
            held += [each for _, each in value.arguments]
        yield from (tensor for each in held for tensor in tensors(each))
        inner = [each for each in held if isinstance(each, (Instance, ExternalObject))]
    for each in inner:
        yield from carried(each, depth + 1)
