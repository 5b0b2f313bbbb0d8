"""The steps that lead the device to a finding."""

from __future__ import annotations

from tpulint.analysis.domain.events import Computation, Context
from tpulint.analysis.domain.site import Site
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, Step


def way(computation: Computation, context: Context, *last: Step) -> tuple[Step, ...]:
    """From what is compiled over the calls down to `context`, then `last`."""
    calls = traces.calls(DEVICE_LANE, computation.context, context, skip=1)
    return (traces.entry(computation), *calls, *last)


def device(site: Site, message: str) -> Step:
    return Step(DEVICE_LANE, site.span, message)
