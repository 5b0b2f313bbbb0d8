"""Generated programs in which replicas meet, and NumPy's results for them.

A program works on a few slots, each a vector; statements on different slots are independent. Each
conditional and each loop is decided by one of the replica's choices, so that one program can be run
with replicas that agree and with replicas that do not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["mean", "halves", "exchange", "around"]
Source = Literal["constant", "given", "met"]
KINDS: tuple[Kind, ...] = ("mean", "mean", "mean", "mean", "halves", "exchange", "around")
MOST_COLLECTIVES = 40


class Diverged(Exception):
    """Only some members of a group reach a collective."""


@dataclass(frozen=True)
class Meet:
    """Slot `target` gets half of its value, plus the replicas' collective of slot `source`."""

    kind: Kind
    source: int
    target: int


@dataclass(frozen=True)
class MeetAtOnce:
    """Each of `slots` gets half of its value, plus the replicas' collective of it."""

    kind: Kind
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Slope:
    """Slot `slot` gets the gradient of the square of its mean over the replicas."""

    slot: int


@dataclass(frozen=True)
class Host:
    """A host cluster works on slot `slot`."""

    slot: int


@dataclass(frozen=True)
class Mix:
    """Slot `target` gets some of slot `source`, on the device."""

    source: int
    target: int


@dataclass(frozen=True)
class Either:
    """A conditional: `branches[choice]`."""

    choice: int
    source: Source
    branches: tuple[Body, ...]


@dataclass(frozen=True)
class Loop:
    """A loop of as many rounds as the choice says."""

    choice: int
    source: Source
    body: Body


@dataclass(frozen=True)
class Twice:
    """One function, called twice."""

    body: Body


Statement = Meet | MeetAtOnce | Slope | Host | Mix | Either | Loop | Twice
Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Program:
    """A program; `constants` has a value for each choice, which those of source "constant" use."""

    replicas: int
    slots: int
    constants: tuple[int, ...]
    body: Body


def meeting_program(seed: int) -> Program:
    """Return the program of that number: of up to 40 collectives, up to 64 replicas."""
    chosen = random.Random(seed)
    writer = _Writer(chosen, slots=chosen.randint(2, 6))
    body = writer.body(chosen.randint(2, 8), depth=0)
    return writer.program(body, chosen.choice([1, 2, 2, 2, 3, 4, 4, 8, 16, 64]))


def small_program(seed: int) -> Program:
    """Return the small program of that number: a few statements, and two to four replicas."""
    chosen = random.Random(seed)
    writer = _Writer(chosen, slots=chosen.randint(2, 3))
    body = writer.body(chosen.choice([0, 1, 1, 2]), depth=1)
    return writer.program(body, chosen.choice([2, 2, 2, 2, 3, 4]))


def many_replicas(seed: int) -> Program:
    """Return the program of that number in which 16 to 64 replicas meet a few times."""
    chosen = random.Random(seed)
    writer = _Writer(chosen, slots=2)
    return writer.program(writer.body(1, depth=2), chosen.choice([16, 32, 64]))


def choices_of(program: Program, chosen: random.Random, *, agreed: bool) -> Any:
    """Return the choices of each replica: the same for all, unless one replica's are to differ."""
    count = len(program.constants)
    rows = [[chosen.randint(0, 3) for _ in range(count)]] * program.replicas
    if not agreed:
        odd = chosen.randrange(program.replicas)
        rows[odd] = [chosen.choice([row, chosen.randint(0, 3)]) for row in rows[odd]]
    return np.array(rows, np.int32).reshape(program.replicas, count)


class _Writer:
    def __init__(self, chosen: random.Random, slots: int) -> None:
        self._chosen = chosen
        self.slots = slots
        self.choices = 0
        self.collectives = 0

    def program(self, body: Body, replicas: int) -> Program:
        """Return the program of `body`, in which replicas meet at least twice."""
        body += tuple(self.meet() for _ in range(2 - self.collectives))
        # To build a step takes time for each part of each replica.
        most = max(128 // self.collectives, 2)
        constants = tuple(self._chosen.randint(0, 3) for _ in range(self.choices))
        return Program(min(replicas, most), self.slots, constants, body)

    def meet(self) -> Meet:
        self.collectives += 1
        slots = range(self.slots)
        chosen = self._chosen
        return Meet(chosen.choice(KINDS), chosen.choice(slots), chosen.choice(slots))

    def meet_at_once(self) -> MeetAtOnce:
        chosen = self._chosen
        slots = chosen.sample(range(self.slots), chosen.randint(2, self.slots))
        self.collectives += len(slots)
        return MeetAtOnce(chosen.choice(KINDS), tuple(slots))

    def body(self, size: int, depth: int) -> Body:
        return tuple(self._statement(depth) for _ in range(size))

    def _statement(self, depth: int) -> Statement:
        number = self._chosen.random()
        slots = range(self.slots)
        if number < 0.5 or depth == 3 or self.collectives > MOST_COLLECTIVES - 10:
            if self.collectives < MOST_COLLECTIVES:
                return self.meet() if number < 0.4 else self.meet_at_once()
            return Mix(self._chosen.choice(slots), self._chosen.choice(slots))
        if number < 0.6:
            return Mix(self._chosen.choice(slots), self._chosen.choice(slots))
        if number < 0.65:
            return Host(self._chosen.choice(slots))
        if number < 0.7:
            self.collectives += 2
            return Slope(self._chosen.choice(slots))
        return self._control(depth + 1)

    def _control(self, depth: int) -> Statement:
        number = self._chosen.random()
        size = self._chosen.randint(1, 4)
        if number < 0.2:
            return Twice(self.body(size, depth))
        self.choices += 1
        choice = self.choices - 1
        source: Source = self._chosen.choice(("constant", "given", "given", "met"))
        if number < 0.6:
            return Loop(choice, source, self.body(size, depth))
        branches = tuple(
            self.body(self._chosen.randint(0, 2), depth)
            for _ in range(self._chosen.choice([2, 2, 3]))
        )
        return Either(choice, source, branches)


def halves(replicas: int) -> list[list[int]]:
    """Two groups, where they are of equal size, else one."""
    half = replicas // 2 if replicas % 2 == 0 else replicas
    return [list(range(first, first + half)) for first in range(0, replicas, half)]


def expected(program: Program, rows: Any, choices: Any) -> Any:
    """Return the slots after `program`, one array of all replicas' vectors each.

    `choices` has for each replica its choices.

    Raises:
        Diverged: only some replicas reach a collective.
    """
    run = _Run(program, [np.array(slot, np.float64) for slot in rows], np.asarray(choices))
    run.body(program.body, np.ones(program.replicas, bool))
    return run.slots


class _Run:
    def __init__(self, program: Program, slots: list[Any], choices: Any) -> None:
        self._program = program
        self.slots = slots
        self._choices = choices

    def body(self, statements: Sequence[Statement], active: Any) -> None:
        for statement in statements:
            if isinstance(statement, Meet):
                met = self._met(statement.kind, self.slots[statement.source], active)
                self._set(statement.target, self.slots[statement.target] * 0.5 + met * 0.5, active)
            elif isinstance(statement, MeetAtOnce):
                for slot in statement.slots:
                    met = self._met(statement.kind, self.slots[slot], active)
                    self._set(slot, self.slots[slot] * 0.5 + met * 0.5, active)
            elif isinstance(statement, Slope):
                mean = self._met("mean", self.slots[statement.slot], active)
                self._set(statement.slot, (self.slots[statement.slot] + 2.0 * mean) * 0.25, active)
            elif isinstance(statement, Host):
                self._set(statement.slot, self.slots[statement.slot] * 0.5 + 0.25, active)
            elif isinstance(statement, Mix):
                mixed = self.slots[statement.target] * 0.5 + self.slots[statement.source] * 0.25
                self._set(statement.target, mixed, active)
            elif isinstance(statement, Twice):
                self.body(statement.body, active)
                self.body(statement.body, active)
            elif isinstance(statement, Loop):
                self._loop(statement, active)
            else:
                self._either(statement, active)

    def _set(self, slot: int, rows: Any, active: Any) -> None:
        self.slots[slot] = np.where(active[:, None], rows, self.slots[slot])

    def _met(self, kind: Kind, rows: Any, active: Any) -> Any:
        replicas = self._program.replicas
        groups = halves(replicas) if kind == "halves" else [list(range(replicas))]
        for group in groups:
            if active[group].any() and not active[group].all():
                raise Diverged
        if kind == "exchange":
            return rows.T
        if kind == "around":
            return np.roll(rows, 1, axis=0)
        means = [np.broadcast_to(rows[group].mean(0), (len(group), replicas)) for group in groups]
        return np.concatenate(means)

    def _choice(self, statement: Either | Loop, active: Any) -> Any:
        if statement.source == "constant":
            return np.full(self._program.replicas, self._program.constants[statement.choice])
        chosen = self._choices[:, statement.choice]
        if statement.source == "given":
            return chosen
        if not active.all() and self._program.replicas > 1:
            raise Diverged
        return np.full(self._program.replicas, chosen.sum() % 4)

    def _loop(self, statement: Loop, active: Any) -> None:
        times = self._choice(statement, active)
        for number in range(int(times.max(initial=0, where=active))):
            self.body(statement.body, active & (times > number))

    def _either(self, statement: Either, active: Any) -> None:
        choice = np.minimum(self._choice(statement, active), len(statement.branches) - 1)
        for number, branch in enumerate(statement.branches):
            if (active & (choice == number)).any():
                self.body(branch, active & (choice == number))
