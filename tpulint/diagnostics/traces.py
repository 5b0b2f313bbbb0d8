"""The steps of an explanation: how a lane gets to a place, and what it does there.

And the place of the fault itself: the call or the argument that a message names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypedDict

from tpulint.absint.domain.context import Scope
from tpulint.absint.domain.events import (
    Access,
    ApiCall,
    Argument,
    Cluster,
    Computation,
    Context,
    Effect,
    MixedOperands,
    Tensor,
)
from tpulint.absint.domain.objects import ExternalObject, Function, Instance, Mapping, Sequence
from tpulint.absint.domain.site import Site, shared_length
from tpulint.absint.domain.structures import STRUCTURES, parts, tensors
from tpulint.absint.domain.values import Bound, External, Partial, Value
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty, Location, Span, Step
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import compiled_if, doubt_about
from tpulint.queries.variable_conflicts import Conflict

Place = Access | ApiCall | Computation | Effect | MixedOperands
NAME = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\[\]]{1,20}\])?")


class Culprit(NamedTuple):
    """A stretch of source, and the name that is there; "" where it is no name.

    is_holder: the name is that of a list or dict that holds what is at fault.
    """

    span: Span
    name: str
    is_holder: bool = False

    def called(self, otherwise: str) -> str:
        """Return the name as messages show it, or `otherwise`."""
        if self.is_holder and self.name:
            return f"a tensor in `{self.name}`"
        return f"`{self.name}`" if self.name else otherwise


def in_calls(calls: Iterable[ApiCall], site: Site, tensor: Tensor) -> Culprit:
    """Return the argument that is `tensor` in the call at `site`; else what is at `site`."""
    for call in calls:
        if call.site == site:
            for argument in call.arguments:
                if _holds(argument.value, tensor):
                    return in_argument(argument, tensor)
    return Culprit(site.span, _name(site.module.text, site.span))


def in_argument(argument: Argument, part: Value) -> Culprit:
    """Return the part of an argument that is `part`, a tensor or an object."""
    module = argument.site.module
    span, value = argument.site.span, argument.value
    begin = f"{argument.keyword}="
    if argument.keyword and _text(module.text, span).startswith(begin):
        start = Location(span.start.row, span.start.column + len(begin))
        span = span._replace(start=start)
    while isinstance(value, (Sequence, Mapping)):
        element = _element(value, part)
        if element is None:
            break
        is_here = value.site is not None and value.site.module is module
        value, place = element
        if place < 0 or not is_here:
            break  # written elsewhere
        inner = module.span(place)
        if not span.start <= inner.start <= inner.end <= span.end:
            break  # passed by a name
        span = inner
    is_holder = isinstance(value, (Sequence, Mapping))
    return Culprit(span, _name(module.text, span), is_holder)


def _holds(value: Value, part: Value) -> bool:
    if value is part:
        return True
    if isinstance(part, Tensor):
        return any(tensor is part for tensor in tensors(value))
    return isinstance(value, STRUCTURES) and any(_holds(item, part) for item in parts(value))


def _element(value: Sequence | Mapping, part: Value) -> tuple[Value, int] | None:
    """Return the item that is or holds the part, and its place."""
    if isinstance(value, Sequence):
        for number, item in enumerate(value.items):
            if _holds(item, part):
                return item, value.places[number] if number < len(value.places) else -1
    else:
        for key, item in value.items.items():
            if _holds(item, part):
                return item, value.places.get(key, -1)
    return None


def _name(text: str, span: Span) -> str:
    written = _text(text, span)
    return written if NAME.fullmatch(written) else ""


def _text(text: str, span: Span) -> str:
    """Return the source of a span in one row; "" for others."""
    lines = text.split("\n")
    if span.start.row != span.end.row or not 0 < span.start.row <= len(lines):
        return ""
    return lines[span.start.row - 1][span.start.column - 1 : span.end.column - 1]


def step(lane: str, site: Site, message: str) -> Step:
    return Step(lane, site.span, message)


def host_step(site: Site, message: str) -> Step:
    return Step(HOST_LANE, site.span, message)


def host_path(place: Place, message: str) -> tuple[Step, ...]:
    """Return the calls that lead the host to a place, then what happens there."""
    return (*calls(HOST_LANE, Context(), place.context), host_step(place.site, message))


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
    return "the lambda" if name in ("", "<lambda>", "lambda") else f"`{name}`"


def calls(lane: str, outer: Context, context: Context, *, skip: int = 0) -> Iterator[Step]:
    """Yield the calls that lead from `outer` to `context`, after the first `skip` of them."""
    shared = shared_length(outer.call_chain, context.call_chain)
    for call in context.call_chain[shared + skip :]:
        if call.site.place >= 0:
            yield step(lane, call.site, f"calls {quoted(call.name)}")


def entry(computation: Computation) -> Step:
    """Return the step at which the device lane starts."""
    callee, name = computation.callee, callee_name(computation.callee)
    if computation.kind == "model_fn" and isinstance(callee, Function):
        place = Site(callee.module, callee.code.place)
        return device_step(place, f"{name} is compiled for the device")
    return device_step(computation.site, f"`{computation.kind}` compiles {name}")


def into_cluster(cluster: Cluster, context: Context) -> list[Step]:
    """Return the host's way: the cluster is opened, then calls down to `context`."""
    name = callee_name(cluster.callee)
    opened = host_step(cluster.named, f"{name} runs on the host")
    return [opened, *calls(HOST_LANE, cluster.context, context, skip=1)]


def deadlock(conflict: Conflict) -> tuple[Step, ...]:
    """Both lanes of a cycle: who holds the variable and waits, who waits for the variable."""
    cluster, held, wanted = conflict.cluster, conflict.device, conflict.host
    variable, host = held.variable.name, callee_name(cluster.callee)
    name = f"`{variable}`"
    holds = f"{verb(held)} {name} and holds it until the program ends"
    waits = device_step(cluster.site, f"waits for the result of {host}")
    wants = host_step(wanted.site, f"waits for {name}, which the device program holds")
    return (
        *_to_conflict(conflict, device_step(held.site, holds)._replace(holds=variable)),
        waits._replace(waits_for=host),
        *into_cluster(cluster, wanted.context),
        wants._replace(waits_for=variable),
    )


def stale_read_trace(conflict: Conflict) -> tuple[Step, ...]:
    """Both lanes where neither waits for the other."""
    held, wanted = conflict.device, conflict.host
    name = f"`{held.variable.name}`"
    return (
        *_to_conflict(conflict, device_step(held.site, f"{verb(held)} its own copy of {name}")),
        *into_cluster(conflict.cluster, wanted.context),
        host_step(wanted.site, f"{verb(wanted)} {name}, unseen by the device"),
    )


def _to_conflict(conflict: Conflict, touch: Step) -> tuple[Step, ...]:
    """Return the device's way to its touch of the variable, and from there to the cluster."""
    computation, held = conflict.computation, conflict.device.context
    way = device_path(computation, held, touch)
    return (*way, *calls(DEVICE_LANE, held, conflict.cluster.context))


def nesting_trace(inner: Cluster, outer: Cluster) -> tuple[Step, ...]:
    """Return the steps that lead from one host cluster to another opened inside it."""
    computation = outer.computation
    steps = () if computation is None else device_path(computation, outer.context)
    last = host_step(inner.named, f"sends {callee_name(inner.callee)} to the host once more")
    way = [step for step in into_cluster(outer, inner.context) if step.span != last.span]
    return (*steps, *way, last)


def into_host(computation: Computation, place: Place, message: str) -> tuple[Step, ...]:
    """Return the steps that lead through a host cluster to what happens at a place in it."""
    cluster = place.context.cluster
    assert cluster is not None
    way = device_path(computation, cluster.context)
    return (*way, *into_cluster(cluster, place.context), host_step(place.site, message))


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


def path_to(computation: Computation, place: Place, message: str) -> tuple[Step, ...]:
    """Return the entry point, the calls down to a place, then what happens there."""
    return path_to_site(computation, place.context, place.site, message)


class Evidence(TypedDict):
    """What a report says of a finding besides its message."""

    certainty: Certainty
    trace: tuple[Step, ...]
    doubt: str


def compiled_at(
    program: Program,
    computation: Computation,
    place: Place,
    step: str,
    *facts: bool,
    doubt: str | None = None,
) -> Evidence:
    """Return the evidence of a fault that a TPU compiles: sure where it does, and facts hold.

    step: what happens at the place, the end of the trace. doubt: what settles the finding, where
    that is not only whether a TPU compiles the place.
    """
    context = place.context
    return {
        "certainty": compiled_if(program, computation, context, *facts),
        "trace": path_to(computation, place, step),
        "doubt": doubt_about(program, computation, context) if doubt is None else doubt,
    }


def path_to_collective(
    computation: Computation, call: ApiCall, scopes: tuple[Scope, ...]
) -> tuple[Step, ...]:
    """Return the conditions on the way to a collective, and the wait."""
    decides = "decides whether the rest is reached"
    waits = device_step(call.site, f"`{call.last}` waits for every replica")
    conditions = [device_step(scope.site, decides) for scope in scopes]
    return device_path(computation, call.context, *conditions, waits)
