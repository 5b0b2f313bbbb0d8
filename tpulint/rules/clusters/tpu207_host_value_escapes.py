"""TPU207: the device uses a tensor that a host cluster made and did not return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.absint.domain.events import Cluster, Computation, Tensor, Use
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import Choice, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import Culprit, in_calls
from tpulint.finding import DEVICE_LANE, Certainty, Severity, Step
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.rules.base import Report, Rule, register

DEPTH = 4


@register
class HostValueEscapes(Rule):
    code = "TPU207"
    name = "host-value-escapes"
    severity = Severity.ERROR
    summary = "the device uses a host tensor that its cluster does not return"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            for escape in escapes(computation):
                tensor = escape.use.tensor
                culprit = in_calls(computation.calls, escape.use.site, tensor)
                assert tensor.made is not None
                assert tensor.site is not None
                steps = [
                    traces.entry(computation),
                    *traces.to_cluster(computation, escape.cluster),
                    *traces.into_cluster(escape.cluster, tensor.made),
                    traces.host_step(tensor.site, "makes the tensor and stores it"),
                    *traces.calls(DEVICE_LANE, escape.cluster.context, escape.use.context),
                    Step(DEVICE_LANE, culprit.span, "uses the host's tensor"),
                ]
                report(
                    culprit.span,
                    message(escape, culprit),
                    certainty=escape.certainty,
                    trace=tuple(steps),
                )


def message(escape: Escape, culprit: Culprit) -> str:
    host = traces.callee_name(escape.cluster.callee)
    tensor = f"{culprit.called('')}, which" if culprit.name else "a tensor that"
    return (
        f"the device uses {tensor} {host} makes on the host and does not return: return it"
        " from the host function"
    )


@dataclass(frozen=True)
class Escape:
    """The device takes at `use` a tensor that `cluster` made and did not return."""

    use: Use
    cluster: Cluster
    certainty: Certainty


def escapes(computation: Computation) -> Iterator[Escape]:
    """Yield the first use on the device of every tensor that got out, the surest first."""
    by_tensor: dict[int, Escape] = {}
    for use in computation.uses:
        home = use.tensor.made
        cluster = home.cluster if home is not None else None
        if cluster is None or cluster.computation is not computation:
            continue
        if use.context.computation is not computation or use.context.cluster is not None:
            continue
        if any(tensor is use.tensor for tensor in carried(cluster.result)):
            continue
        escape = Escape(use, cluster, _certainty(computation, use))
        before = by_tensor.get(id(use.tensor))
        # Of several uses a definite one says more than the first.
        if before is None or before.certainty is not escape.certainty is Certainty.DEFINITE:
            by_tensor[id(use.tensor)] = escape
    yield from by_tensor.values()


def _certainty(computation: Computation, use: Use) -> Certainty:
    home = use.tensor.made
    return definite_if(
        use.certainty is Certainty.DEFINITE,
        not use.alternative,
        home is not None and home.reached_whenever(use.context) and not home.is_guess,
        is_on_tpu(computation, use.context),
    )


def carried(value: Value | None, depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors that a returned object holds: it takes them along, as a structure does."""
    # Objects may hold one another in circles.
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
            held += [argument for _, argument in value.arguments]
        yield from (tensor for value in held for tensor in tensors(value))
        inner = [value for value in held if isinstance(value, (Instance, ExternalObject))]
    for held_value in inner:
        yield from carried(held_value, depth + 1)
