"""The shared part of the rules on device operations: calls, certainty, trace."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.context import COMPUTATION, CONTEXT, Layer, Where
from tpulint.analysis.domain.program import ApiCall, Computation, Program, Site
from tpulint.analysis.domain.values import Const
from tpulint.analysis.interpreter.context_managers import CLEARS, GRAPH, INIT_SCOPE, UNSEEN
from tpulint.analysis.soft_placement import ON
from tpulint.finding import Certainty, Step
from tpulint.rules import trace_steps

# Contexts that lead out of the computation: what is built in them is not the device's.
LEADS_OUT = frozenset([CLEARS, GRAPH, INIT_SCOPE])
DEVICES = ("list_logical_devices", "list_physical_devices")
GPU = Const("GPU")


def device_calls(program: Program) -> Iterator[tuple[Computation, ApiCall]]:
    """Every call of something outside the project that is compiled for the device."""
    for computation in program.computations:
        gpus = {
            call.site
            for call in computation.calls
            if call.last in DEVICES and any(each.value == GPU for each in call.arguments)
        }
        compiled: dict[tuple[Layer, ...], bool] = {}  # many calls are in few places
        for call in computation.calls:
            layers = call.where.layers
            if layers not in compiled:
                compiled[layers] = is_compiled(call.where) and not _is_over(gpus, call.where)
            if compiled[layers]:
                yield computation, call


def is_compiled(where: Where) -> bool:
    """Return whether what is built at `where` is the device's, as far as one sees."""
    return where.on_device and LEADS_OUT.isdisjoint(_contexts(where))


def _contexts(where: Where) -> list[object]:
    return [each.payload[0] for each in where.since(COMPUTATION) if each.kind == CONTEXT]


def _is_over(gpus: set[Site], where: Where) -> bool:
    """Return whether a loop around `where` runs over the GPUs, of which a TPU host has none."""
    return any(getattr(each.payload, "site", None) in gpus for each in where.since(COMPUTATION))


def placed_softly(program: Program) -> bool:
    """Return whether what has no kernel is moved to the host."""
    return program.soft_placement == ON


def certainty(program: Program, computation: Computation, where: Where) -> Certainty:
    """Return the certainty that an operation built at `where` is compiled for a TPU."""
    sure = computation.certainty is Certainty.DEFINITE and not where.is_guess
    sure = sure and UNSEEN not in _contexts(where)
    return Certainty.DEFINITE if sure and not program.soft_placement else Certainty.POSSIBLE


def way(computation: Computation, where: Where, site: Site, message: str) -> tuple[Step, ...]:
    """From the entry point to the place, and what happens there."""
    return trace_steps.way(computation, where, trace_steps.device(site, message))
