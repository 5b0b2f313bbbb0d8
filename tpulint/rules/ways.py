"""The steps that lead the device to a finding."""

from __future__ import annotations

from tpulint.finding import DEVICE_LANE, Step
from tpulint.program import trace
from tpulint.program.model import Computation, Site
from tpulint.program.where import Where


def way(computation: Computation, where: Where, *last: Step) -> tuple[Step, ...]:
    """From what is compiled over the calls down to `where`, then `last`."""
    calls = trace.calls(DEVICE_LANE, computation.where, where, skip=1)
    return (trace.entry(computation), *calls, *last)


def device(site: Site, message: str) -> Step:
    return Step(DEVICE_LANE, site.span, message)
