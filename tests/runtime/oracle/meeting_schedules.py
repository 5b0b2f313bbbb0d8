"""Generated programs in which replicas meet, run without TensorFlow in any possible order.

Each replica runs any statement that is ready, in a random order: a statement waits only for the
earlier ones that touch the same slots. So replicas reach independent collectives in any order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tests.runtime.oracle.meeting_programs import (
    Body,
    Either,
    Loop,
    Meet,
    MeetAtOnce,
    Mix,
    Program,
    Slope,
    Statement,
    Twice,
    halves,
)
from tpulint.ordering import Truth
from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.exchanges import RendezvousReports
from tpulint.runtime.extract.collectives import Collective, Decision
from tpulint.runtime.extract.region import Iteration, RegionSite

Steps = Iterator[bool]
"""The steps of a replica: each reports progress, or that it has to wait."""


def reported(program: Program, choices: Any, chosen: random.Random) -> str | None:
    """Return the divergence reported when `program` is run in an order that `chosen` draws.

    Raises:
        AssertionError: replicas wait forever, and nothing is reported.
    """
    run = _Run(program, choices, chosen)
    try:
        run.to_the_end()
    except DivergentCollectiveError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class _Around:
    site: RegionSite = ()
    decisions: tuple[Decision, ...] = ()
    loops: int = 0

    def inside(self, name: str, number: int, *, loop: bool = False) -> _Around:
        site = (*self.site, name)
        decision = Decision(site, _operation(name), self.loops, None if loop else number)
        return _Around((*site, number), (*self.decisions, decision), self.loops + loop)

    def called(self, name: str) -> _Around:
        return _Around((*self.site, name, 0), self.decisions, self.loops)


def _operation(name: str) -> Any:
    return SimpleNamespace(type="CrossReplicaSum", name=name, graph=None, traceback=())


def _collectives(program: Program, body: Body, around: _Around) -> Iterator[Collective]:
    def met(name: str, kind: str) -> Collective:
        groups = halves(program.replicas) if kind == "halves" else [range(program.replicas)]
        site = (*around.site, name)
        members = tuple(tuple(group) for group in groups)
        return Collective(site, _operation(name), members, around.decisions, Truth.NO)

    for place, statement in enumerate(body):
        name = f"op{place}"
        if isinstance(statement, (Meet, MeetAtOnce)):
            yield met(name, statement.kind)
        elif isinstance(statement, Slope):
            yield from (met(f"{name}/{lap}", "mean") for lap in range(2))
        elif isinstance(statement, Twice):
            for call in range(2):
                yield from _collectives(program, statement.body, around.called(f"{name}/{call}"))
        elif isinstance(statement, (Either, Loop)):
            if statement.source == "met":
                yield met(f"{name}/choice", "mean")
            for inner, inside in _inside(statement, name, around):
                yield from _collectives(program, inner, inside)


def _inside(statement: Either | Loop, name: str, around: _Around) -> list[tuple[Body, _Around]]:
    if isinstance(statement, Loop):
        return [(statement.body, around.inside(name, 1, loop=True))]
    return [(body, around.inside(name, number)) for number, body in enumerate(statement.branches)]


class _Run:
    def __init__(self, program: Program, choices: Any, chosen: random.Random) -> None:
        self._program = program
        self._choices = choices
        self._chosen = chosen
        collectives = list(_collectives(program, program.body, _Around()))
        self._collectives = {collective.site: collective for collective in collectives}
        assert len(self._collectives) == len(collectives)
        names = [f"replica {replica}" for replica in range(program.replicas)]
        alone = [(collective,) for collective in collectives]
        self._attendance = RendezvousReports(alone, names, all_of_them=True)
        self._come: dict[tuple[RegionSite, Iteration], set[int]] = {}

    def to_the_end(self) -> None:
        replicas = [
            self._body(replica, self._program.body, _Around(), ())
            for replica in range(self._program.replicas)
        ]
        for came_forward in self._side_by_side(replicas, lambda _: True):
            assert came_forward, f"nobody comes forward: {self._attendance.waits()}"

    def _side_by_side(self, tasks: Sequence[Steps], is_ready: Callable[[int], bool]) -> Steps:
        """Run the steps of `tasks` in any order, and wait when all that are ready wait."""
        rest = dict(enumerate(tasks))
        while rest:
            ready = [place for place in rest if is_ready(place)]
            self._chosen.shuffle(ready)
            for place in ready:
                came_forward = next(rest[place], None)
                if came_forward is None:
                    del rest[place]
                if came_forward is not False:
                    yield True
                    break
            else:
                yield False

    def _body(self, replica: int, body: Body, around: _Around, now: Iteration) -> Steps:
        touched = [_touched(statement) for statement in body]
        ended: set[int] = set()

        def task(place: int) -> Steps:
            yield from self._statement(replica, body[place], f"op{place}", around, now)
            ended.add(place)

        def is_ready(place: int) -> bool:
            return all(
                earlier in ended or not touched[earlier] & touched[place]
                for earlier in range(place)
            )

        yield from self._side_by_side([task(place) for place in range(len(body))], is_ready)

    def _statement(
        self, replica: int, statement: Statement, name: str, around: _Around, now: Iteration
    ) -> Steps:
        if isinstance(statement, (Meet, MeetAtOnce)):
            yield from self._meet(replica, (*around.site, name), now)
        elif isinstance(statement, Slope):
            for lap in range(2):
                yield from self._meet(replica, (*around.site, f"{name}/{lap}"), now)
        elif isinstance(statement, Twice):
            for call in range(2):
                inside = around.called(f"{name}/{call}")
                yield from self._body(replica, statement.body, inside, now)
        elif isinstance(statement, (Either, Loop)):
            yield from self._control(replica, statement, name, around, now)
        yield True

    def _control(
        self, replica: int, statement: Either | Loop, name: str, around: _Around, now: Iteration
    ) -> Steps:
        site = (*around.site, name)
        choice = self._program.constants[statement.choice]
        if statement.source != "constant":
            choice = int(self._choices[replica, statement.choice])
        if statement.source == "met":
            yield from self._meet(replica, (*site[:-1], f"{name}/choice"), now)
            choice = int(self._choices[:, statement.choice].sum() % 4)
        bodies = _inside(statement, name, around)
        if isinstance(statement, Loop):
            for number in range(choice):
                yield from self._body(replica, *bodies[0], (*now, number))
        else:
            choice = min(choice, len(bodies) - 1)
            # It may be told late, but not after the end of the branch.
            output = [
                self._body(replica, *bodies[choice], now),
                self._tell(replica, site, now, choice),
            ]
            yield from self._side_by_side(output, lambda _: True)
            return
        yield from self._tell(replica, site, now, choice)

    def _tell(self, replica: int, site: RegionSite, now: Iteration, choice: int) -> Steps:
        fault = self._attendance.decide(site, replica, now, choice)
        if fault:
            raise fault
        yield True

    def _meet(self, replica: int, site: RegionSite, now: Iteration) -> Steps:
        group = self._collectives[site].group_of(replica)
        # A replica that meets nobody does not report.
        fault = self._attendance.arrive(site, replica, now) if len(group) > 1 else None
        if fault:
            raise fault
        come = self._come.setdefault((site, now), set())
        come.add(replica)
        while not come.issuperset(group):
            yield False
        yield True


def _touched(statement: Statement) -> set[int]:
    if isinstance(statement, (Meet, Mix)):
        return {statement.source, statement.target}
    if isinstance(statement, MeetAtOnce):
        return set(statement.slots)
    if isinstance(statement, (Loop, Twice)):
        return {slot for inner in statement.body for slot in _touched(inner)}
    if isinstance(statement, Either):
        return {slot for body in statement.branches for inner in body for slot in _touched(inner)}
    return {statement.slot}
