"""TPU206: the gradient of a host cluster is compiled for the device."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Cluster, Computation
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.structures import tensors, with_alternatives
from tpulint.absint.domain.values import UNKNOWN, Const
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import colocated
from tpulint.finding import DEVICE_LANE
from tpulint.queries.certainty import on_tpu_if
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register

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
            for call, cluster, is_sure in uncolocated(computation):
                mend = "pass colocate_gradients_with_ops=True"
                if call.last == "gradient":
                    mend = "call `tf.gradients`, as a GradientTape places no gradients"
                report(
                    call.site.span,
                    f"the gradient of {traces.callee_name(cluster.callee)}, which runs on the host,"
                    f" is compiled for the device: {mend}",
                    certainty=on_tpu_if(computation, call.context, is_sure),
                    trace=(
                        *traces.device_path(computation, cluster.context),
                        traces.device_step(cluster.site, "takes the host's result"),
                        *traces.calls(DEVICE_LANE, cluster.context, call.context),
                        traces.device_step(call.site, "takes the gradient through it"),
                    ),
                    fix=colocated(call),
                )


def uncolocated(computation: Computation) -> Iterator[tuple[ApiCall, Cluster, bool]]:
    """Yield the gradients through a cluster whose operations are not placed with the host's.

    Each comes with the cluster, and whether it certainly cannot be compiled.
    """
    for call in computation.calls:
        # A gradient that a host function takes runs on the host like all of its operations.
        if call.context.cluster is not None or not takes_gradient(call) or colocates(call):
            continue
        loss = call.value(LOSSES[call.last], 0) or UNKNOWN
        for tensor, alternative in with_alternatives(loss):
            # The order of a set changes between runs, and so would the cluster that is named.
            for cluster in sorted(tensor.clusters, key=computation.clusters.index):
                called = {it.last for it in computation.calls if it.context.cluster is cluster}
                # What goes into the cluster can depend on what is trained.
                is_reached = cluster.computed_inputs or cluster.vague
                if called.isdisjoint(WITHOUT_GRADIENT) and is_reached:
                    is_python = "py_function" in called and not alternative
                    yield call, cluster, is_python and is_source(call, cluster)


def takes_gradient(call: ApiCall) -> bool:
    if call.last == "gradient":
        return isinstance(call.receiver, ExternalObject) and call.receiver.last == "GradientTape"
    if call.last != "gradients":
        return call.last in LOSSES and "." in call.path
    # TensorFlow 2's colocates by itself: in tensorflow/python/ops/gradients_impl.py,
    # `gradients_v2` passes colocation on as True.
    if "compat" in call.path or "gradients_impl" in call.path:
        return True
    is_old = call.site.module.facts.names_any(frozenset(["contrib"]))
    return call.path == "tensorflow.gradients" and is_old


def colocates(call: ApiCall) -> bool:
    """Return whether colocation is asked for, or may be."""
    if call.last not in COLOCATE:
        return False
    if call.is_starred:
        return True
    option = call.argument("colocate_gradients_with_ops", COLOCATE[call.last])
    return option is not None and option.value != Const(False)


def is_source(call: ApiCall, cluster: Cluster) -> bool:
    """Return whether the gradient is asked for what goes straight into the cluster."""
    asked_for = call.value("xs" if call.last == "gradients" else "sources", 1)
    sources = {id(tensor) for tensor in tensors(asked_for or UNKNOWN)}
    return any(id(use.tensor) in sources for use in cluster.receives)
