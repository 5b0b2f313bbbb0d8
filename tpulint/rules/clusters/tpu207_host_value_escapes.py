"""TPU207: the device uses a tensor that a host cluster made and did not return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.absint.domain.events import Cluster, Computation, Tensor, Use
from tpulint.absint.domain.objects import ExternalObject, Instance
from tpulint.absint.domain.structures import STRUCTURES, parts, tensors
from tpulint.absint.domain.values import Value
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, Step
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

DEPTH = 4


@register
class HostValueEscapes(Rule):
    code = "TPU207"
    name = "host-value-escapes"
    severity = Severity.ERROR
    summary = "the device uses a host tensor that its cluster does not return"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            for use, cluster, certainty in escapes(computation):
                tensor = use.tensor
                culprit = traces.in_calls(computation.calls, use.site, tensor)
                assert tensor.made is not None
                assert tensor.site is not None
                host = traces.callee_name(cluster.callee)
                what = f"{culprit.called('')}, which" if culprit.name else "a tensor that"
                report(
                    culprit.span,
                    f"the device uses {what} {host} makes on the host and does not return: return"
                    " it from the host function",
                    certainty=certainty,
                    trace=(
                        *traces.device_path(computation, cluster.context),
                        *traces.into_cluster(cluster, tensor.made),
                        traces.host_step(tensor.site, "makes the tensor and stores it"),
                        *traces.calls(DEVICE_LANE, cluster.context, use.context),
                        Step(DEVICE_LANE, culprit.span, "uses the host's tensor"),
                    ),
                )


def escapes(computation: Computation) -> Iterable[tuple[Use, Cluster, Certainty]]:
    """Return for each tensor that escapes its first use on the device, the most certain first.

    With each comes the cluster that made the tensor and did not return it.
    """
    by_tensor: dict[int, tuple[Use, Cluster, Certainty]] = {}
    for use in computation.uses:
        home = use.tensor.made
        cluster = home.cluster if home is not None else None
        if home is None or cluster is None or cluster.computation is not computation:
            continue
        if use.context.computation is not computation or use.context.cluster is not None:
            continue
        if any(tensor is use.tensor for tensor in carried(cluster.result)):
            continue
        certainty = definite_if(
            use.certainty is Certainty.DEFINITE,
            not use.alternative,
            home.reached_whenever(use.context) and not home.is_guess,
            is_on_tpu(computation, use.context),
        )
        before = by_tensor.get(id(use.tensor))
        # Of several uses a definite one says more than the first.
        if before is None or before[-1] is not certainty is Certainty.DEFINITE:
            by_tensor[id(use.tensor)] = use, cluster, certainty
    return by_tensor.values()


def carried(value: Value | None, depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors that a returned object holds: it takes them along, as a structure does."""
    inner: list[Value] = []
    if isinstance(value, STRUCTURES):
        inner = parts(value)
    elif isinstance(value, (Instance, ExternalObject)):
        held = list(value.attributes.values())
        if isinstance(value, ExternalObject):
            held += [argument for _, argument in value.arguments]
        yield from (tensor for value in held for tensor in tensors(value))
        inner = [value for value in held if isinstance(value, (Instance, ExternalObject))]
    # Objects may hold one another in circles.
    for held_value in inner if depth < DEPTH else ():
        yield from carried(held_value, depth + 1)
