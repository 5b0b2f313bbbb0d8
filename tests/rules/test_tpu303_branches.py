"""False alarm: a dict filled in one branch of a Python test was read in the other (TPU303)."""

from __future__ import annotations

from types import SimpleNamespace

from tpulint.absint.domain.context import LOOP, PLACE, ConditionKey, Scope
from tpulint.absint.domain.events import Context
from tpulint.absint.domain.site import Module, Site
from tpulint.rules.control_flow.tpu303_tensor_crosses_control_flow import is_exclusive
from tpulint.syntax import ir

MODULE = Module("example.py", "example.py", "", ir.ModuleSummary([], [], [], []))
TEST = ConditionKey(PLACE, Site(MODULE, 0))
LOOPED = Scope(LOOP, Site(MODULE, 1))


def use(maker: Context, used: Context) -> SimpleNamespace:
    return SimpleNamespace(tensor=SimpleNamespace(made=maker), context=used)


def test_a_run_takes_one_branch_of_a_test() -> None:
    yes, no = Context().when(TEST, True), Context().when(TEST, False)
    assert is_exclusive(use(yes, no))
    assert not is_exclusive(use(yes, yes))
    assert not is_exclusive(use(yes, Context()))


def test_another_round_of_a_loop_may_take_the_other_branch() -> None:
    round_ = Context().inside(LOOPED)
    assert not is_exclusive(use(round_.when(TEST, True), round_.when(TEST, False)))
