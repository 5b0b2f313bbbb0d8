from __future__ import annotations

import threading
import time

from tpulint.runtime.schedule.locks import Wait, WaitGraph


def wait(lane, other):
    return Wait(lane, other, f"waits for {other}")


def test_a_chain_is_no_cycle():
    graph = WaitGraph()
    assert graph.add(wait("a", "b")) == ()
    assert graph.add(wait("b", "c"), wait("b", "d")) == ()
    assert len(graph.all()) == 3


def test_the_wait_that_closes_the_cycle_gives_all_of_it():
    graph = WaitGraph()
    graph.add(wait("a", "b"))
    graph.add(wait("b", "x"), wait("b", "c"))
    assert [edge.lane for edge in graph.add(wait("c", "a"))] == ["c", "a", "b"]


def test_who_waits_no_more_closes_no_cycle():
    graph = WaitGraph()
    graph.add(wait("a", "b"))
    graph.remove("a")
    assert graph.add(wait("b", "a")) == ()


def test_a_lane_that_waits_for_itself():
    graph = WaitGraph()
    assert [edge.lane for edge in graph.add(wait("a", "a"))] == ["a"]


def test_one_of_many_threads_closes_the_cycle_and_at_once():
    size = 200
    graph = WaitGraph()
    actual = []
    threads = [
        threading.Thread(
            target=lambda n=n: actual.append(graph.add(wait(str(n), str((n + 1) % size))))
        )
        for n in range(size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    (cycle,) = [waits for waits in actual if waits]
    assert len(cycle) == size
    started = time.thread_time()
    graph.add(wait("0", "100"))
    assert time.thread_time() - started < 1.0


def test_a_wait_says_why_and_where():
    assert str(Wait("device", "x", "waits for x", "a.py:3")) == "device: waits for x (a.py:3)"
