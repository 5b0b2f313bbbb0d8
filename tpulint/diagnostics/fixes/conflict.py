"""The one edit that ends a conflict over a variable: read it on the device, pass the value."""

from __future__ import annotations

from tpulint.analysis.domain.events import Access, Argument, Cluster, Computation
from tpulint.analysis.domain.objects import Function
from tpulint.analysis.domain.values import Bound
from tpulint.finding import Applicability, Fix
from tpulint.queries.nesting_guards import path_of
from tpulint.queries.variable_conflicts import Conflict

READS = ("read_value", "value")


def of_conflict(conflict: Conflict) -> Fix | None:
    """Return the fix of a conflict between both sides."""
    return pass_by_value(conflict.computation, conflict.cluster, conflict.host)


def pass_by_value(computation: Computation, cluster: Cluster, host: Access) -> Fix | None:
    """Return the fix, where the variable itself is an argument of the cluster; else None.

    All of it must be in the file of the finding: the argument, and what the host
    function does with the variable, which must be reads only.
    """
    variable = host.variable
    if cluster.site != cluster.named:
        return None
    given = [each for each in cluster.arguments if each.value is variable]
    wanted = [
        each
        for each in computation.accesses
        if each.variable is variable and each.context.cluster is cluster
    ]
    module = host.site.module
    here = all(site.module is module for site in [each.site for each in wanted] + [cluster.site])
    if len(given) != 1 or not here or any(each.mode != "read" for each in wanted):
        return None
    if not all(_by_parameter(given[0], cluster, each) for each in wanted):
        return None
    from tpulint.diagnostics.fixes.calls import method_called, without_method

    edits = [
        method_called(module, given[0].site.span, "read_value"),
        *(without_method(each.site, each.how) for each in wanted if each.how in READS),
    ]
    if any(each is None for each in edits):
        return None
    message = f"read `{variable.name}` on the device and pass its value"
    unique = dict.fromkeys(edit for each in edits for edit in each or ())
    return Fix(Applicability.UNSAFE, message, tuple(unique))


def _by_parameter(argument: Argument, cluster: Cluster, access: Access) -> bool:
    """Return whether the host function takes the variable as its parameter only."""
    callee = cluster.callee.function if isinstance(cluster.callee, Bound) else cluster.callee
    direct = len(access.context.call_chain) == len(cluster.context.call_chain) + 1
    if not isinstance(callee, Function) or not direct:
        return False
    path = path_of(argument.node).split(".") if argument.node is not None else [""]
    seen = [name for name in {path[0], path[-1]} if name in callee.code.mentions]
    if len(path) > 1:
        return len(seen) < 2
    rows = callee.code.parameters
    names = [each.name for each in rows.named]
    return not seen or path[0] in names
