"""TPU206: the gradient of a host cluster is compiled for the device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.absint.domain.events import ApiCall, Cluster, Computation
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.structures import tensors, with_alternatives
from tpulint.absint.domain.values import UNKNOWN, Const
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import colocated
from tpulint.finding import DEVICE_LANE, Applicability, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import on_tpu_if
from tpulint.rules.base import Report, Rule, register

# tensorflow/python/ops/gradients_impl.py and training/optimizer.py: of what the gradient is
# taken, and the position of colocate_gradients_with_ops.
LOSSES = {"gradients": "ys", "minimize": "loss", "compute_gradients": "loss", "gradient": "target"}
COLOCATE = {"gradients": 4, "minimize": 5, "compute_gradients": 4}
# tensorflow/python/ops/script_ops.py: what has no gradient at all.
WITHOUT_GRADIENT = ("py_func", "numpy_function")


@register
class GradientNotColocated(Rule):
    code = "TPU206"
    name = "gradient-not-colocated"
    severity = Severity.ERROR
    summary = "a gradient through a host cluster is compiled for the device"
    fixes = (Applicability.SAFE,)

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            for gradient in uncolocated(computation):
                report(
                    gradient.call.site.span,
                    message(gradient),
                    certainty=on_tpu_if(computation, gradient.call.context, gradient.sure),
                    trace=(
                        traces.entry(computation),
                        *traces.to_cluster(computation, gradient.cluster),
                        traces.device_step(gradient.cluster.site, "takes the host's result"),
                        *traces.calls(DEVICE_LANE, gradient.cluster.context, gradient.call.context),
                        traces.device_step(gradient.call.site, "takes the gradient through it"),
                    ),
                    fix=colocated(gradient.call),
                )


def message(gradient: Gradient) -> str:
    host = traces.callee_name(gradient.cluster.callee)
    if gradient.call.last == "gradient":
        mend = "call `tf.gradients`, as a GradientTape places no gradients"
    else:
        mend = "pass colocate_gradients_with_ops=True"
    return f"the gradient of {host}, which runs on the host, is compiled for the device: {mend}"


@dataclass(frozen=True)
class Gradient:
    """A call that takes a gradient through `cluster`, not colocated. sure: it cannot compile."""

    call: ApiCall
    cluster: Cluster
    sure: bool


def uncolocated(computation: Computation) -> Iterator[Gradient]:
    """Yield the gradients of `computation` whose operations are not placed with the host's."""
    for call in computation.calls:
        # A gradient that a host function takes runs on the host like all of its operations.
        if call.context.cluster is not None or not takes_gradient(call) or colocates(call):
            continue
        loss = call.argument(LOSSES[call.last], 0)
        for tensor, alternative in with_alternatives(loss.value if loss is not None else UNKNOWN):
            # The order of a set changes between runs, and so would the cluster that is named.
            for cluster in sorted(tensor.clusters, key=computation.clusters.index):
                called = {
                    call.last for call in computation.calls if call.context.cluster is cluster
                }
                if not called.isdisjoint(WITHOUT_GRADIENT) or not reaches(cluster):
                    continue
                has_no_gradient = (
                    "py_function" in called and not alternative and is_source(call, cluster)
                )
                yield Gradient(call, cluster, has_no_gradient)


def takes_gradient(call: ApiCall) -> bool:
    if call.last == "gradient":
        return isinstance(call.receiver, ExternalObject) and call.receiver.last == "GradientTape"
    if call.last == "gradients":
        return is_first_version(call)
    return call.last in LOSSES and "." in call.path


def is_first_version(call: ApiCall) -> bool:
    """Return whether `gradients` is TF1's: TF2's colocates by itself."""
    # tensorflow/python/ops/gradients_impl.py: `gradients_v2` passes colocation on as True.
    if "compat" in call.path or "gradients_impl" in call.path:
        return True
    if call.path != "tensorflow.gradients":
        return False
    return call.site.module.facts.names_any(frozenset(["contrib"]))


def colocates(call: ApiCall) -> bool:
    """Return whether colocation is asked for, or may be."""
    if call.last not in COLOCATE:
        return False
    if call.is_starred:
        return True
    option = call.argument("colocate_gradients_with_ops", COLOCATE[call.last])
    return option is not None and option.value != Const(False)


def reaches(cluster: Cluster) -> bool:
    """Return whether what goes into the cluster can depend on what is trained."""
    return cluster.computed_inputs or cluster.vague


def is_source(call: ApiCall, cluster: Cluster) -> bool:
    """Return whether the gradient is asked for what goes straight into the cluster."""
    argument = call.argument("xs" if call.last == "gradients" else "sources", 1)
    sources = {
        id(tensor) for tensor in tensors(argument.value if argument is not None else UNKNOWN)
    }
    return any(id(use.tensor) in sources for use in cluster.receives)
