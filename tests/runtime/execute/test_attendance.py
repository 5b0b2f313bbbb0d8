"""The rendezvous of replicas: who arrives, who waits, and who provably never comes."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tpulint.ordering import Truth
from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.exchanges import RendezvousReports
from tpulint.runtime.extract.collectives import Collective, Decision

NAMES = [f"replica {number}" for number in range(4)]
SITE, CONDITIONAL = ("if", 0, "sum"), ("if",)


def collective(*decisions: Decision, groups: tuple[tuple[int, ...], ...] = ((0, 1),)) -> Collective:
    with tf.Graph().as_default():
        op = tf.no_op("sum")
    return Collective(SITE, op, groups, decisions, Truth.MAYBE)


def decision(branch: int | None) -> Decision:
    with tf.Graph().as_default():
        op = tf.no_op("decides")
    return Decision(CONDITIONAL, op, 0, branch)


def test_replicas_that_all_arrive_wait_for_nobody() -> None:
    attendance = RendezvousReports([(collective(),)], NAMES, all_of_them=True)
    assert attendance.arrive(SITE, 0, ()) is None
    (wait,) = attendance.waits()
    assert (wait.lane, wait.held_up_by) == ("replica 0", "replica 1")
    assert attendance.arrive(SITE, 1, ()) is None
    assert attendance.waits() == ()


def test_groups_wait_apart() -> None:
    attendance = RendezvousReports(
        [(collective(groups=((0, 1), (2, 3))),)], NAMES, all_of_them=True
    )
    for replica in (0, 2, 3):
        assert attendance.arrive(SITE, replica, ()) is None
    assert [wait.held_up_by for wait in attendance.waits()] == ["replica 1"]


@pytest.mark.parametrize("decides_first", [True, False])
def test_a_replica_in_another_branch_never_comes(decides_first: bool) -> None:
    attendance = RendezvousReports([(collective(decision(branch=0)),)], NAMES, all_of_them=True)
    steps = [
        lambda: attendance.decide(CONDITIONAL, 1, (), 1),
        lambda: attendance.arrive(SITE, 0, ()),
    ]
    first, last = steps if decides_first else steps[::-1]
    assert first() is None
    fault = last()
    assert isinstance(fault, DivergentCollectiveError)
    assert "has taken another branch" in str(fault)
    assert fault.rule == "TPU305"


def test_a_replica_in_the_same_branch_may_still_come() -> None:
    attendance = RendezvousReports([(collective(decision(branch=0)),)], NAMES, all_of_them=True)
    assert attendance.decide(CONDITIONAL, 1, (), 0) is None
    assert attendance.arrive(SITE, 0, ()) is None


def test_a_replica_that_has_ended_its_loop_never_comes() -> None:
    attendance = RendezvousReports([(collective(decision(branch=None)),)], NAMES, all_of_them=True)
    assert attendance.arrive(SITE, 0, (2,)) is None
    fault = attendance.decide(CONDITIONAL, 1, (), 2)
    assert fault is not None
    assert "has ended its loop 'decides'" in str(fault)
    assert "after 2 rounds" in str(fault)


def test_the_next_step_begins_afresh() -> None:
    attendance = RendezvousReports([(collective(decision(branch=0)),)], NAMES, all_of_them=True)
    attendance.decide(CONDITIONAL, 1, (), 1)
    attendance.forget()
    assert attendance.arrive(SITE, 0, ()) is None
