"""Places of a program that one process may reach: its files may be run by several processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

from tpulint.analysis.domain.context import UNSEEN_CALLER
from tpulint.analysis.domain.events import ApiCall, Computation
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Module, Site

Event = TypeVar("Event", ApiCall, Computation)


def starts_of(events: Iterable[Event]) -> list[tuple[Event, Module]]:
    """Return each event with the module whose code leads to it.

    A function that is called somewhere counts as called only: whether it was read by itself, too,
    depends on the order of the files.
    """
    by_site: defaultdict[Site, list[Event]] = defaultdict(list)
    for event in events:
        by_site[event.site].append(event)
    return [
        (event, _start(event))
        for same_place in by_site.values()
        for event in same_place
        if not any(_is_called_in(event, other) for other in same_place)
    ]


def _start(event: ApiCall | Computation) -> Module:
    call_chain = event.context.call_chain
    return call_chain[0].site.module if call_chain else event.site.module


def _is_called_in(event: Event, other: Event) -> bool:
    """Return whether `other` is `event` with a caller of the function that was read by itself."""
    scopes, steps, others = event.context.scopes, event.context.call_chain, other.context.call_chain
    if not (scopes and scopes[0].kind == UNSEEN_CALLER and 0 < len(steps) <= len(others)):
        return False
    first, *rest = others[-len(steps) :]
    return first.name == steps[0].name and first != steps[0] and tuple(rest) == steps[1:]


def may_share_a_process(program: Program, module: Module, other: Module) -> bool:
    """Return whether a module that was read imports both, directly or not (or is one of them)."""
    if module is other:
        return True
    return not _importers(program, module).isdisjoint(_importers(program, other))


def _importers(program: Program, module: Module) -> set[str]:
    """Return the paths of the module and of all that import it, directly or not."""
    paths, waiting = {module.path}, [module.path]
    while waiting:
        for path in program.importers.get(waiting.pop(), ()):
            if path not in paths:
                paths.add(path)
                waiting.append(path)
    return paths
