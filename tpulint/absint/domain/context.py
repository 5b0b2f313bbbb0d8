"""The context in which a piece of code runs: the scopes around it, outermost first.

One tuple answers everything that the rules ask of a place: whether device code
is being built, which host cluster is open, what lies between the two (a
traced function, a tensor condition, a cleared context), and under which Python
conditions the place is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from tpulint.absint.domain.site import CallStep, Site
from tpulint.absint.domain.values import Opaque, frozen
from tpulint.syntax.nodes import Expression

# Effects that change the control-flow context (the others only add to what is there).
CLEARS = "clears control flow"
INIT_SCOPE = "init_scope"
CONTROL = "control flow context"
DEPENDENCIES = "control_dependencies"
GRAPH = "graph"
DEVICE = "device"
VARIABLE_SCOPE = "variable_scope"
STACK = "exit stack"
UNSEEN = "a context that is not seen"
DECORATED = "a decorator that is not seen"
AFTER_RETURN = "the rest after a return on a tensor"  # conversion makes a branch of it
# Around code where a traced function converts Python's control flow to operations, or leaves it.
CONVERTED = "converted control flow"
UNCONVERTED = "control flow that stays Python's"
MAY_CONVERT = "control flow that only some releases convert"

Self = TypeVar("Self", bound="BaseContext")

# The kinds of scope.
COMPUTATION, CLUSTER = "computation", "cluster"
FUNCTION = "function"  # the body of a function that is traced
COND, WHILE = "cond", "while"  # a branch or body that is traced on its own
WITH = "with"  # a with block whose meaning matters: its `effect`
ONCE = "once"  # under a test that is true the first time only
LOOP = "loop"  # a Python loop
ROUND = "round"  # one round of a loop over a literal: its items are read one by one
NO_KNOWN_CALLER = "unseen caller"  # a function that nothing read calls
DATA = "data"  # a function of an input pipeline
TRY = "try"  # the body of a `try` that catches errors
OUTER = "outer"  # the effect of one that only catches what happens outside the program

_WORDS = {
    COND: "a branch on a tensor",
    WHILE: "a loop on a tensor",
    ONCE: "a create-once test",
    LOOP: "a Python loop",
    ROUND: "a round of a Python loop",
    NO_KNOWN_CALLER: "a function that nothing read calls",
    DATA: "an input pipeline",
    TRY: "a `try`",
}

# Keys of conditions that are no test in the source: one of several callees, a function that
# is given to an operation and may be called, one of several values.
CALLEE, CALLED, ALTERNATIVE = "callee", "called", "alternative"
GUESSES = frozenset([CALLEE, CALLED, ALTERNATIVE])
ENTRY = "entry"  # one of the callees in a dict, each of which a key names: no guess
VALUE, NAME = "value", "name"
FLAGS = (VALUE, NAME)  # keys of tests that have one answer in a whole run
MAX_COVERED_TESTS = 6  # tests between two places that are looked at
PLACE = "site"  # the key of a test that is only known by its place
TESTS = (*FLAGS, PLACE, ENTRY)  # keys of conditions with one answer at a time
GUARD = "guard"  # a create-once test: `is None`, `hasattr`, `not self.built`
STATE = "state"  # a test of what is open just now: the device's context, a flag that changes


@dataclass(eq=False, slots=True)
class Scope:
    """One thing around a place.

    payload: what it is made of: a computation, a cluster, the predicate of a branch, what a
    `with` block enters; `effect` is the block's (see `effects`). converted: control flow that is
    written as Python's. is_uncertain: it may be another, or none. label: what a reader calls it.
    """

    kind: str
    site: Site
    payload: object = None
    converted: bool = False
    is_uncertain: bool = False
    effect: str = ""
    label: str = ""

    def __repr__(self) -> str:
        name = self.label or (
            self.effect if self.kind == WITH else _WORDS.get(self.kind, self.kind)
        )
        return f"{name} (possibly)" if self.is_uncertain else name


class ScopeStack(tuple[Scope, ...]):
    """The scopes around a place, outermost first; made by `and_inside` of those around it.

    computation: the innermost that is being built. cluster: its innermost open host cluster.
    loops: the number of Python loops, of which each is read once. Many places share them, and each
    asks the same: so they are found once.
    """

    computation: Any = None
    cluster: Any = None
    loops = 0

    @cached_property
    def fed_at(self) -> Site | None:
        """Where the device gets the dataset that an input function makes here, if one does."""
        data = next((scope for scope in reversed(self) if scope.kind == DATA), None)
        return None if data is None or data.payload is None else data.site

    @cached_property
    def rounds(self) -> tuple[object, ...]:
        """The rounds of loops around this place: the place is another one in each."""
        return tuple([(scope.site, scope.payload) for scope in self if scope.kind == ROUND])

    def since(self, kind: str) -> Iterator[Scope]:
        """Yield the scopes inside the innermost scope of `kind`, innermost first."""
        for scope in reversed(self):
            if scope.kind == kind:
                return
            yield scope

    def and_inside(self, *inner: Scope) -> ScopeStack:
        """Return these scopes with others inside them."""
        stack = ScopeStack((*self, *inner))
        computation, cluster, loops = self.computation, self.cluster, self.loops
        for scope in inner:
            if scope.kind == COMPUTATION:
                computation, cluster = scope.payload, None
            elif scope.kind == CLUSTER:
                cluster = scope.payload
            elif scope.kind == LOOP:
                loops += 1
        stack.computation, stack.cluster, stack.loops = computation, cluster, loops
        return stack


@frozen
class ConditionKey:
    """The identity of a Python test: equal keys are the same test, with the same answer.

    kind: VALUE, NAME, PLACE, ... `identity` tells tests of one kind apart: a site, a name, an id.
    answer: the value that is tested, of kind VALUE. call_chain: the calls that led to the test,
    of kinds PLACE and ENTRY: asked in another call, it may be answered otherwise. answers: how many
    there are, of the kinds CALLEE and ENTRY. test: the expression that is tested, of the kinds that
    are known by their place, of which it is no second identity. rounds: those of the loops around
    the test, but for flags, which have one answer in a whole run.
    """

    kind: str
    identity: object
    answer: Opaque | None = None
    call_chain: tuple[CallStep, ...] = ()
    answers: int = 2
    rounds: tuple[object, ...] = ()
    test: Expression | None = field(default=None, compare=False, repr=False)


class BaseContext(NamedTuple):
    """`conditions` are (key, branch taken) pairs; equal keys are the same Python test.

    `run` numbers the root whose reading led here: places of different runs say nothing
    of one another, for an object's attributes outlive a run. `assumed`: conditions without which
    the run ends in an error.
    """

    scopes: ScopeStack = ScopeStack()
    call_chain: tuple[CallStep, ...] = ()
    conditions: frozenset[tuple[ConditionKey, object]] = frozenset()
    is_unrecorded: bool = False
    run: int = 0
    assumed: frozenset[tuple[ConditionKey, object]] = frozenset()

    def __repr__(self) -> str:
        calls = (f"{call.name}()" for call in self.call_chain)
        return " > ".join([self.lane, *map(repr, self.inner_scopes), *calls])

    @property
    def lane(self) -> str:
        """Return who runs what is built here: the device, a host cluster, a pipeline, the host."""
        for scope in reversed(self.scopes):
            if scope.kind in (COMPUTATION, CLUSTER):
                return "device" if scope.kind == COMPUTATION else "host cluster"
        return "input pipeline" if self.is_inside(DATA) else "host"

    @property
    def inner_scopes(self) -> list[Scope]:
        """The scopes around this place that do not make its lane, outermost first."""
        return [scope for scope in self.scopes if scope.kind not in (COMPUTATION, CLUSTER)]

    def inside(self: Self, scope: Scope) -> Self:
        return self.with_scopes(self.scopes.and_inside(scope))

    # A program has hundreds of thousands of contexts. A tuple made directly costs half of what a
    # call of the class does, and a third of what `_replace` does.
    def with_scopes(self: Self, scopes: ScopeStack) -> Self:
        """Return the same place with other scopes around it."""
        return tuple.__new__(type(self), (scopes, *self[1:]))

    def called(self: Self, call: CallStep) -> Self:
        scopes, call_chain, *rest = self
        return tuple.__new__(type(self), (scopes, (*call_chain, call), *rest))

    def when(self: Self, key: ConditionKey, branch: object) -> Self:
        while key.answer is not None and key.answer.negates is not None:
            opposite = key.answer.negates
            key, branch = ConditionKey(VALUE, id(opposite), opposite), not branch
        scopes, call_chain, conditions, *rest = self
        calls = call_chain if key.kind in (PLACE, ENTRY) else key.call_chain
        rounds = key.rounds if key.kind in FLAGS else scopes.rounds or key.rounds
        if calls is not key.call_chain or rounds is not key.rounds:
            kind, identity, answer = key.kind, key.identity, key.answer
            key = ConditionKey(kind, identity, answer, calls, key.answers, rounds, key.test)
        conditions |= {(key, branch)}
        return tuple.__new__(type(self), (scopes, call_chain, conditions, *rest))

    def without_recording(self: Self) -> Self:
        """Return the same place, with nothing recorded."""
        return tuple.__new__(type(self), (*self[:3], True, *self[4:]))

    def is_inside(self, kind: str) -> bool:
        """Return whether a scope of `kind` is around this place, in or outside the computation."""
        return any(scope.kind == kind for scope in self.scopes)

    @property
    def traced(self) -> bool:
        """Return whether a traced function is around this place, in or outside the computation."""
        return self.is_inside(FUNCTION)

    @property
    def forks(self) -> frozenset[tuple[ConditionKey, object]]:
        """The conditions without which a run goes on elsewhere."""
        return self.conditions - self.assumed if self.assumed else self.conditions

    @property
    def is_guess(self) -> bool:
        """Return whether this place depends on which of several functions or values is meant."""
        return any(key.kind in GUESSES for key, _ in self.conditions)

    @property
    def is_tried(self) -> bool:
        """Return whether an error may be caught, here or by a caller."""
        return self.is_inside(TRY)

    @property
    def hides_faults(self) -> bool:
        """Return whether the error that a fault of the program raises may be caught."""
        return any(scope.kind == TRY and scope.effect != OUTER for scope in self.scopes)

    def since(self, kind: str) -> Iterator[Scope]:
        """Return the scopes inside the innermost scope of `kind`, innermost first."""
        return self.scopes.since(kind)

    def control(self) -> tuple[Scope, ...]:
        """Return the traced control flow around this place in the computation, outermost first."""
        scopes = [scope for scope in self.since(COMPUTATION) if scope.kind in (COND, WHILE)]
        return tuple(scopes[::-1])

    def with_blocks(self, name: str, within: str = COMPUTATION) -> list[Scope]:
        """Return the contexts called `name` that are open since the innermost `within` scope."""
        blocks = (scope for scope in self.since(within) if scope.kind == WITH)
        return [scope for scope in blocks if scope.effect == name]

    def excludes(self, other: BaseContext) -> bool:
        """Return whether no run reaches both: they stand under one flag, taken differently."""
        mine = {key: branch for key, branch in self.conditions if key.kind in FLAGS}
        if any(mine.get(key, branch) != branch for key, branch in other.conditions):
            return True
        held = [key.answer for key, branch in mine.items() if key.answer and branch]
        others = [key.answer for key, branch in other.conditions if key.answer and branch]
        return any(answer.excludes(compared) for answer in held for compared in others)

    def is_other_branch(self, other: BaseContext) -> bool:
        """Return whether a test on the way is answered otherwise on the way to `other`."""
        answers = {key: branch for key, branch in self.conditions if key.kind in TESTS}
        return any(answers.get(key, branch) != branch for key, branch in other.conditions)

    def runs_once_with(self, other: BaseContext | None) -> bool:
        """Return whether this place is reached, and no loop repeats it, when `other` is."""
        if other is None:
            return not self.forks and not self.scopes.loops
        return self.reached_whenever(other) and self.scopes.loops <= other.scopes.loops

    def reached_whenever(self, other: BaseContext) -> bool:
        """Return whether this place is reached on every run that reaches `other`."""
        return self.forks <= other.conditions or all(
            (key, branch) in other.conditions or other._implies(key.answer, branch)
            for key, branch in self.forks
        )

    def choices_beyond(self, other: BaseContext) -> frozenset[tuple[ConditionKey, object]]:
        """Return the conditions of this place that `other`, or the rest of them, leaves open."""
        return frozenset(
            (key, branch)
            for key, branch in self.forks - other.conditions
            if not other._implies(key.answer, branch)
            if not (branch is True and self._implies(key.answer, branch))
        )

    def _implies(self, answer: Opaque | None, branch: object) -> bool:
        """Return whether a comparison can have this answer only, by those on the way here."""
        if answer is None or not isinstance(branch, bool):
            return False
        others = [(key.answer, taken) for key, taken in self.conditions if key.answer is not None]
        if branch:
            denied = [comparison for comparison, taken in others if not taken]
            return answer.is_implied_by_negations(denied)
        return any(taken and comparison.excludes(answer) for comparison, taken in others)


def cover(places: Iterable[BaseContext], other: BaseContext) -> bool:
    """Return whether each run that reaches `other` reaches one of the places, by any branch."""
    return _exhaust([place.choices_beyond(other) for place in places], MAX_COVERED_TESTS)


def _exhaust(rows: list[frozenset[tuple[ConditionKey, object]]], depth: int) -> bool:
    """Return whether one of the conjunctions holds whatever the answers to the tests are."""
    if not all(rows):
        return True
    tests = [
        key
        for row in rows
        for key, branch in row
        # All answers are known: False and True, or a number for each.
        if key.kind in (CALLEE, ENTRY) or (isinstance(branch, bool) and key.kind not in GUESSES)
    ]
    if not tests or depth == 0:
        return False
    key = max(tests, key=tests.count)
    for answer in range(key.answers):  # 0 is False, 1 is True
        left = [row for row in rows if all(branch == answer for test, branch in row if test == key)]
        if not _exhaust([row - {(key, answer)} for row in left], depth - 1):
            return False
    return True
