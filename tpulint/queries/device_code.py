"""The calls that are compiled for the device, and the certainty of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpulint.analysis.domain.context import COMPUTATION, LOOP, WHILE, WITH, Scope
from tpulint.analysis.domain.effects import CLEARS, GRAPH, INIT_SCOPE, UNSEEN
from tpulint.analysis.domain.events import ApiCall, Computation, Context
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Const
from tpulint.analysis.soft_placement import ON
from tpulint.finding import Certainty
from tpulint.queries.host_functions import calls_in_place
from tpulint.queries.premises import certainty_at

# Contexts that lead out of the computation: what is built in them is not the device's.
LEADS_OUT = frozenset([CLEARS, GRAPH, INIT_SCOPE])
DEVICES = ("list_logical_devices", "list_physical_devices")
GPU = Const("GPU")


def device_calls(program: Program) -> Sequence[tuple[Computation, ApiCall]]:
    """Every call of something outside the project that is compiled for the device.

    They are found once for all rules that ask.
    """
    found: Sequence[tuple[Computation, ApiCall]] | None = program.answers.get(device_calls)
    if found is None:
        found = program.answers[device_calls] = tuple(_device_calls(program))
    return found


def compiled_calls(program: Program) -> Sequence[tuple[Computation, ApiCall]]:
    """Return those of the calls that no soft placement moves to the host instead."""
    found: Sequence[tuple[Computation, ApiCall]] | None = program.answers.get(compiled_calls)
    if found is None:
        moved = {each for each in program.computations if placed_softly(program, each)}
        calls = device_calls(program)
        kept = tuple(each for each in calls if each[0] not in moved) if moved else calls
        found = program.answers[compiled_calls] = kept
    return found


def _device_calls(program: Program) -> Iterator[tuple[Computation, ApiCall]]:
    for computation in program.computations:
        gpus = {
            call.site
            for call in computation.calls
            if call.last in DEVICES and any(each.value == GPU for each in call.arguments)
        }
        of_the_host = calls_in_place(computation)
        compiled: dict[tuple[Scope, ...], bool] = {}  # many calls are in few places
        for call in computation.calls:
            scopes = call.context.scopes
            if scopes not in compiled:
                compiled[scopes] = is_compiled(call.context) and not _is_over(gpus, call.context)
            if compiled[scopes] and not (of_the_host and _is_in(call, of_the_host)):
                yield computation, call


def _is_in(call: ApiCall, places: set[Site]) -> bool:
    """Return whether a call is one of those at `places`, or part of what one does."""
    return call.site in places or any(step.site in places for step in call.context.call_chain)


def is_compiled(context: Context) -> bool:
    """Return whether what is built at `context` is the device's, as far as one sees."""
    return context.on_device and LEADS_OUT.isdisjoint(_contexts(context))


def _contexts(context: Context) -> list[object]:
    return [each.effect for each in context.since(COMPUTATION) if each.kind == WITH]


def _is_over(gpus: set[Site], context: Context) -> bool:
    """Return whether a loop around `context` runs over the GPUs, of which a TPU host has none."""
    loops = [each for each in context.since(COMPUTATION) if each.kind in (LOOP, WHILE)]
    return any(getattr(each.payload, "site", None) in gpus for each in loops)


def placed_softly(program: Program, computation: Computation) -> bool:
    """Return whether every program that runs this moves what has no kernel to the host."""
    return placement(program, computation) == ON


def placement(program: Program, computation: Computation) -> str | None:
    """Return the soft placement of the programs that run the computation, found at each start."""
    calls = computation.context.call_chain
    first = calls[0].site if calls else computation.site
    return program.soft_placement.get(first.module.path)


def certainty(program: Program, computation: Computation, context: Context) -> Certainty:
    """Return the certainty that an operation built at `context` is compiled for a TPU."""
    sure = certainty_at(computation, context) is Certainty.DEFINITE and not context.is_guess
    sure = sure and UNSEEN not in _contexts(context) and not placement(program, computation)
    return Certainty.DEFINITE if sure else Certainty.POSSIBLE
