"""The variables of a computation, and who touches them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tpulint.analysis.domain.events import TOUCHES, Access, Computation, Variable
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.output.program_map.model import MapTouch, MapVariable
from tpulint.pipeline.program_map.lanes import EventBoxes
from tpulint.pipeline.program_map.part import Part

SHARED = 16  # variables that the host touches too
OWN = 6  # variables that only the device touches
MOST = 8  # touches of a variable


def variables_of(
    computation: Computation, lanes: EventBoxes, part: Part
) -> tuple[tuple[MapVariable, ...], Mapping[int, str], list[str]]:
    """Return the variables that the part touches, their keys by identity, and what is left out.

    First come those that both sides touch, then those of the host alone.
    """
    by_variable: dict[object, tuple[Variable, list[Access]]] = {}
    inside: set[object] = set()
    for each in computation.accesses:
        if each.mode in TOUCHES:
            key = _identity(each.variable)
            by_variable.setdefault(key, (each.variable, []))[1].append(each)
            if id(each) in lanes.of_access and part.has(each.context, each.site):
                inside.add(key)
    rows = [row for key, row in by_variable.items() if key in inside]
    lanes_of = {id(each): {_lane(one) for one in touched} for each, touched in rows}
    shared = [row for row in rows if HOST_LANE in lanes_of[id(row[0])]]
    shared.sort(key=lambda row: DEVICE_LANE not in lanes_of[id(row[0])])
    own = [row for row in rows if HOST_LANE not in lanes_of[id(row[0])]]
    keys: dict[int, str] = {}
    found: list[MapVariable] = []
    for number, (variable, touched) in enumerate([*shared[:SHARED], *own[:OWN]]):
        key = f"variable {number}"
        keys |= {id(each.variable): key for each in touched}
        found.append(_described(key, variable, touched, lanes))
    left_out = []
    if len(shared) > SHARED:
        left_out.append(f"{len(shared) - SHARED} more variables that the host touches")
    if len(own) > OWN:
        names = list(dict.fromkeys(each.name for each, _ in own[OWN:]))
        some = ", ".join(names[:OWN]) + (", ..." if len(names) > OWN else "")
        left_out.append(f"{len(own) - OWN} more variables that only the device touches: {some}")
    return tuple(found), keys, left_out


def _identity(variable: Variable) -> object:
    """Return what is one variable to a reader: one name, made at one place."""
    return (variable.name, variable.sort, variable.site) if variable.site else id(variable)


def _described(
    key: str, variable: Variable, accesses: list[Access], lanes: EventBoxes
) -> MapVariable:
    counted = Counter(
        MapTouch(
            lanes.of_access.get(id(each), ""),
            _lane(each),
            "read or write" if each.mode == "unknown" else each.mode,
            each.how,
            each.site.span,
        )
        for each in accesses
        if each.site.place >= 0
    )
    touches = [
        MapTouch(each.node, each.lane, each.mode, each.how, each.span, times)
        for each, times in counted.items()
    ]
    touches.sort(key=lambda each: (each.lane, each.mode != "write"))
    some = [each for lane in (DEVICE_LANE, HOST_LANE) for each in _first(touches, lane)]
    span = variable.site.span if variable.site is not None and variable.site.place >= 0 else None
    return MapVariable(
        key, variable.name, variable.sort, span, tuple(some), len(touches) - len(some)
    )


def _first(touches: list[MapTouch], lane: str) -> list[MapTouch]:
    return [each for each in touches if each.lane == lane][: MOST // 2]


def _lane(access: Access) -> str:
    return DEVICE_LANE if access.context.cluster is None else HOST_LANE
