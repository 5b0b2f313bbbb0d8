from __future__ import annotations

import time

from tpulint.runtime.schedule.locks import Wait, closed_cycle


def wait(lane, other):
    return Wait(lane, other, f"waits for {other}")


def test_a_chain_is_no_cycle():
    assert closed_cycle([wait("a", "b"), wait("b", "c")], wait("b", "d")) == ()


def test_the_wait_that_closes_the_cycle_gives_all_of_it():
    waits = [wait("a", "b"), wait("b", "x"), wait("b", "c")]
    assert [edge.lane for edge in closed_cycle(waits, wait("c", "a"))] == ["c", "a", "b"]


def test_a_cycle_that_the_last_wait_is_not_in():
    assert closed_cycle([wait("a", "b"), wait("b", "a")], wait("c", "a")) == ()


def test_a_lane_that_waits_for_itself():
    assert [edge.lane for edge in closed_cycle([], wait("a", "a"))] == ["a"]


def test_a_long_cycle_is_found_at_once():
    size = 200
    waits = [wait(str(number), str((number + 1) % size)) for number in range(size - 1)]
    started = time.thread_time()
    assert len(closed_cycle(waits, wait(str(size - 1), "0"))) == size
    assert time.thread_time() - started < 1.0


def test_a_wait_says_why_and_where():
    assert str(Wait("device", "x", "waits for x", "a.py:3")) == "device: waits for x (a.py:3)"
