"""The steps of an explanation: how a lane gets to a place, and what it does there."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.context import Scope
from tpulint.absint.domain.events import Access, ApiCall, Cluster, Computation, Context
from tpulint.absint.domain.objects import ExternalObject, Function, Instance
from tpulint.absint.domain.site import CallStep, Site
from tpulint.absint.domain.values import Bound, External, Partial, Value
from tpulint.finding import DEVICE_LANE, HOST_LANE, Step
from tpulint.queries.variable_conflicts import Conflict

LAMBDA = "the lambda"


def step(lane: str, site: Site, message: str) -> Step:
    return Step(lane, site.span, message)


def callee_name(callee: Value) -> str:
    """Return the user's name of a host function or a computation."""
    if isinstance(callee, Function):
        return quoted(callee.name)
    if isinstance(callee, (Bound, Partial)):
        return callee_name(callee.function)
    if isinstance(callee, (External, ExternalObject)):
        return quoted(callee.last)
    if isinstance(callee, Instance):
        return quoted(callee.cls.code.name)
    return "its function"


def quoted(name: str) -> str:
    return LAMBDA if name in ("", "<lambda>", "lambda") else f"`{name}`"


def calls(lane: str, outer: Context, context: Context, *, skip: int = 0) -> Iterator[Step]:
    """Yield the calls that lead from `outer` to `context`, after the first `skip` of them."""
    for call in below(outer, context)[skip:]:
        if call.site.place >= 0:
            yield step(lane, call.site, f"calls {quoted(call.name)}")


def below(outer: Context, context: Context) -> tuple[CallStep, ...]:
    """Return the frames of `context` after those that it shares with `outer`."""
    shared = 0
    for left, right in zip(outer.call_chain, context.call_chain, strict=False):
        if left != right:
            break
        shared += 1
    return context.call_chain[shared:]


def entry(computation: Computation) -> Step:
    """Return the step at which the device lane starts."""
    site = computation.callee.code if isinstance(computation.callee, Function) else None
    name = callee_name(computation.callee)
    if computation.kind == "model_fn" and isinstance(computation.callee, Function) and site:
        place = Site(computation.callee.module, site.place)
        return step(DEVICE_LANE, place, f"{name} is compiled for the device")
    return step(DEVICE_LANE, computation.site, f"`{computation.kind}` compiles {name}")


def to_cluster(
    computation: Computation, cluster: Cluster, after: Context | None = None
) -> list[Step]:
    """Return the device's way to a cluster.

    What it shares with the way to `after` is not repeated.
    """
    outer = after or computation.context
    skip = 0 if after is not None else 1
    return list(calls(DEVICE_LANE, outer, cluster.context, skip=skip))


def to_host_call(computation: Computation, cluster: Cluster) -> tuple[Step, ...]:
    """Return the model_fn, and the calls down to the specification that has the host function."""
    return (entry(computation), *to_cluster(computation, cluster))


def into_cluster(cluster: Cluster, context: Context) -> list[Step]:
    """Return the host's way: the cluster is opened, then calls down to `context`."""
    name = callee_name(cluster.callee)
    opened = step(HOST_LANE, cluster.named, f"{name} runs on the host")
    return [opened, *calls(HOST_LANE, cluster.context, context, skip=1)]


def deadlock(conflict: Conflict) -> tuple[Step, ...]:
    """Both lanes of a cycle: who holds the variable and waits, who waits for the variable."""
    computation, cluster = conflict.computation, conflict.cluster
    held, wanted = conflict.device, conflict.host
    variable, host = held.variable.name, callee_name(cluster.callee)
    name = f"`{variable}`"
    holds = step(DEVICE_LANE, held.site, f"{verb(held)} {name} and holds it until the program ends")
    waits = step(DEVICE_LANE, cluster.site, f"waits for the result of {host}")
    wants = step(HOST_LANE, wanted.site, f"waits for {name}, which the device program holds")
    return (
        entry(computation),
        *calls(DEVICE_LANE, computation.context, held.context, skip=1),
        holds._replace(holds=variable),
        *to_cluster(computation, cluster, held.context),
        waits._replace(waits_for=host),
        *into_cluster(cluster, wanted.context),
        wants._replace(waits_for=variable),
    )


def stale_read_trace(conflict: Conflict) -> tuple[Step, ...]:
    """Both lanes where neither waits for the other."""
    computation, cluster = conflict.computation, conflict.cluster
    held, wanted = conflict.device, conflict.host
    name = f"`{held.variable.name}`"
    return (
        entry(computation),
        *calls(DEVICE_LANE, computation.context, held.context, skip=1),
        step(DEVICE_LANE, held.site, f"{verb(held)} its own copy of {name}"),
        *to_cluster(computation, cluster, held.context),
        *into_cluster(cluster, wanted.context),
        step(HOST_LANE, wanted.site, f"{verb(wanted)} {name}, unseen by the device"),
    )


def nesting_trace(inner: Cluster, outer: Cluster) -> tuple[Step, ...]:
    """Return the steps that lead from one host cluster to another opened inside it."""
    steps: list[Step] = []
    if outer.computation is not None:
        steps = [entry(outer.computation), *to_cluster(outer.computation, outer)]
    last = step(HOST_LANE, inner.named, f"sends {callee_name(inner.callee)} to the host once more")
    way = [step for step in into_cluster(outer, inner.context) if step.span != last.span]
    return (*steps, *way, last)


def access_trace(computation: Computation, access: Access) -> tuple[Step, ...]:
    """Return the steps that lead from a host cluster to an access."""
    cluster = access.context.cluster
    assert cluster is not None
    return (
        entry(computation),
        *to_cluster(computation, cluster),
        *into_cluster(cluster, access.context),
        step(HOST_LANE, access.site, f"{verb(access)} `{access.variable.name}`"),
    )


def verb(access: Access) -> str:
    return "writes" if access.mode == "write" else "reads"


# The steps that lead the device to a finding.


def device_step(site: Site, message: str) -> Step:
    return Step(DEVICE_LANE, site.span, message)


def device_path(computation: Computation, context: Context, *last: Step) -> tuple[Step, ...]:
    """Return the entry point, the calls down to `context`, then `last`."""
    way = calls(DEVICE_LANE, computation.context, context, skip=1)
    return (entry(computation), *way, *last)


def path_to_site(
    computation: Computation, context: Context, site: Site, message: str
) -> tuple[Step, ...]:
    """Return the entry point, the calls down to `context`, then what happens at `site`."""
    return device_path(computation, context, device_step(site, message))


def path_to_collective(
    computation: Computation, call: ApiCall, scopes: tuple[Scope, ...]
) -> tuple[Step, ...]:
    """Return the conditions on the way to a collective, and the wait."""
    decides = "decides whether the rest is reached"
    waits = device_step(call.site, f"`{call.last}` waits for every replica")
    conditions = [device_step(scope.site, decides) for scope in scopes]
    return device_path(computation, call.context, *conditions, waits)
