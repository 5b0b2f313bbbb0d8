"""TPU505: a host cluster inside a device loop costs one round trip an iteration."""

from __future__ import annotations

from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty
from tpulint.program import trace
from tpulint.program.model import Cluster, Program
from tpulint.program.where import COND, WHILE, Layer
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    for cluster in program.clusters():
        computation, loop = cluster.computation, loop_around(cluster)
        if computation is None or loop is None:
            continue
        report(
            cluster.named.span,
            f"{trace.callee_name(cluster.callee)} runs on the host in every iteration of a loop"
            " on the device: one round trip each time",
            certainty=Certainty.POSSIBLE if loop.perhaps else computation.certainty,
            trace=(
                trace.entry(computation),
                trace.step(DEVICE_LANE, loop.site, "in each iteration of this loop"),
                *trace.to_cluster(computation, cluster),
                trace.step(HOST_LANE, cluster.named, "crosses to the host, and back"),
            ),
        )


def loop_around(cluster: Cluster) -> Layer | None:
    """The device loop whose every iteration opens the cluster; None under a condition in it."""
    if cluster.parent is not None or not cluster.kind.endswith("outside_compilation"):
        return None
    for layer in reversed(cluster.where.control()):
        if layer.kind == COND:
            return None
        if layer.kind == WHILE:
            return layer
    return None
