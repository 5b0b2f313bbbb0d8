"""The steps that lead the device to a finding."""

from __future__ import annotations

from tpulint.analysis.domain.context import Scope
from tpulint.analysis.domain.events import ApiCall, Computation, Context
from tpulint.analysis.domain.site import Site
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, Step


def device_step(site: Site, message: str) -> Step:
    return Step(DEVICE_LANE, site.span, message)


def device_path(computation: Computation, context: Context, *last: Step) -> tuple[Step, ...]:
    """Return the entry point, the calls down to `context`, then `last`."""
    calls = traces.calls(DEVICE_LANE, computation.context, context, skip=1)
    return (traces.entry(computation), *calls, *last)


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
