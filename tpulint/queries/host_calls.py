"""The host functions of a TPUEstimatorSpec."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import Cluster, Computation
from tpulint.analysis.domain.program import Program
from tpulint.queries.estimators import SPEC_FUNCTIONS


def host_calls(program: Program) -> Iterator[tuple[Computation, Cluster]]:
    """Each `host_call` and `eval_metrics` with the model_fn that hands it over."""
    for computation in program.computations:
        for cluster in computation.clusters:
            if cluster.kind in SPEC_FUNCTIONS:
                yield computation, cluster
