"""Tensors of int64 that cross to the host."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.diagnostics.trace_steps import path_to_site
from tpulint.finding import Certainty
from tpulint.knowledge import names
from tpulint.queries.device_code import certainty
from tpulint.rules.base import Report

LAST_WITHOUT_INT64 = "2.4"  # extract_outside_compilation_pass.cc: "not supported yet: b/120809951"


def check_transfers(program: Program, report: Report) -> None:
    """Tensors of int64 that cross to the host: TensorFlow up to 2.4 refuses them."""
    for cluster in program.clusters():
        if cluster.computation is None or cluster.kind != "outside_compilation":
            continue
        target = program.targets.of(cluster.site.module.filename)
        if target.mask & ~names.until(LAST_WITHOUT_INT64):
            continue
        for use in cluster.receives:
            if use.tensor.dtype == "int64":
                sure = certainty(program, cluster.computation, cluster.context)
                report(
                    cluster.named.span,
                    "an int64 is sent to the host, which TensorFlow does not support before"
                    f" {names.after(LAST_WITHOUT_INT64)}",
                    certainty=Certainty.POSSIBLE if use.alternative else sure,
                    trace=path_to_site(
                        cluster.computation, cluster.context, cluster.site, "sends an int64"
                    ),
                )
