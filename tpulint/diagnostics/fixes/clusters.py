"""Fixes of a call of outside_compilation."""

from __future__ import annotations

from tpulint.analysis.domain.events import Cluster
from tpulint.finding import Applicability, Fix

OPENS = "outside_compilation"


def called_in_place(cluster: Cluster) -> Fix | None:
    """Return the fix that calls the host function without outside_compilation.

    Unsafe: the same line may also run where the cluster is wanted.
    """
    if cluster.kind != OPENS or cluster.site != cluster.named or cluster.call.site != cluster.site:
        return None
    from tpulint.diagnostics.fixes.calls import without_forwarding

    edits = without_forwarding(cluster.site)
    return None if edits is None else Fix(Applicability.UNSAFE, f"call it without `{OPENS}`", edits)


def function_passed(cluster: Cluster) -> Fix | None:
    """Return the fix that passes the function and its arguments instead of its result."""
    if cluster.given is None or cluster.given.keyword or cluster.given.star:
        return None
    from tpulint.diagnostics.fixes.calls import passed

    edits = passed(cluster.named, cluster.given.site)
    return (
        None
        if edits is None
        else Fix(Applicability.UNSAFE, "pass the function, then its arguments", edits)
    )
