"""Contexts are left as they were entered, and keys of tests say which tests are the same."""

from __future__ import annotations

import pytest

from tests.unit.reading import interpreter
from tpulint.absint.domain.context import LOOP, PLACE, VALUE, ConditionKey, Scope
from tpulint.absint.domain.events import Context
from tpulint.absint.domain.objects import Env
from tpulint.absint.domain.site import CallStep, Module, Site
from tpulint.absint.domain.values import Opaque
from tpulint.absint.interpreter.frame import Entered, Frame
from tpulint.syntax import ir

MODULE = Module("example.py", "example.py", "", ir.ModuleSummary([], [], [], []))
SITE = Site(MODULE, 0)
LOOPED = Scope(LOOP, SITE)
HERE = ConditionKey(PLACE, SITE)


def new_frame() -> Frame:
    """Return a frame of an empty module."""
    reader, module = interpreter("")
    return reader.frame(module, Env({}), Context())


def test_a_context_is_left_at_the_end_of_its_block() -> None:
    frame = new_frame()
    with Entered(frame, frame.context.inside(LOOPED)) as entered:
        assert frame.context.scopes.loops == 1
        frame.context = frame.context.when(HERE, True)
    assert frame.context == Context()
    assert entered.end.scopes.loops == 1
    assert entered.end.conditions


def test_a_context_is_left_when_its_block_fails() -> None:
    frame = new_frame()
    with pytest.raises(ValueError, match="fails"), Entered(frame, frame.context.inside(LOOPED)):
        raise ValueError("fails")
    assert frame.context == Context()


def test_scopes_are_closed_and_conditions_stay() -> None:
    frame = new_frame()
    with frame.scopes_closed():
        frame.context = frame.context.inside(LOOPED).when(HERE, True)
    assert frame.context.scopes == ()
    assert len(frame.context.conditions) == 1


def test_a_test_known_by_its_place_is_another_one_in_another_call() -> None:
    once = Context().called(CallStep(SITE, "f")).when(HERE, True)
    again = Context().called(CallStep(SITE, "g")).when(HERE, True)
    assert not once.reached_whenever(again)
    assert once.reached_whenever(once.inside(LOOPED))


def test_a_negated_test_is_the_test_answered_otherwise() -> None:
    flag = Opaque("flag")
    plain = Context().when(ConditionKey(VALUE, id(flag), flag), False)
    negated = flag.negated()
    assert Context().when(ConditionKey(VALUE, id(negated), negated), True) == plain
    assert flag.negated() is negated


def test_comparisons_of_one_thing_with_two_constants_exclude_each_other() -> None:
    mode = Opaque("mode")
    train, evaluate = mode.equal_to("TRAIN"), mode.equal_to("EVAL")
    assert train.excludes(evaluate)
    assert not train.excludes(mode.equal_to("TRAIN"))
    assert not train.excludes(Opaque("other").equal_to("EVAL"))
    first = Context().when(ConditionKey(VALUE, id(train), train), True)
    assert first.excludes(Context().when(ConditionKey(VALUE, id(evaluate), evaluate), True))
