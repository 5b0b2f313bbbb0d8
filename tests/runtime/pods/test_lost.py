"""When a host is connections."""

from __future__ import annotations

import importlib
import sys
import threading

import pytest

from tpulint.runtime.pods import connections


def test_false_a_host_that_misses_one_question_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    questions, ended = [True, False, True, False, False], threading.Event()
    pod = frozenset({("127.0.0.1", 1), ("127.0.0.1", 2)})
    closed: list[tuple[int, int]] = []

    def disconnect(peers: frozenset[tuple[str, int]]) -> None:
        closed.append((len(questions), len(peers)))
        if len(closed) == 3:
            ended.set()

    monkeypatch.setattr(connections, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr(connections, "is_reachable", lambda _: questions.pop(0))
    monkeypatch.setattr(connections, "resolve", lambda _: frozenset({("127.0.0.1", 1)}))
    connections._watch("localhost:1", ended, disconnect, pod)
    assert closed == [(0, 2), (0, 1), (0, 1)]  # of the whole pod once, then of the host alone


def test_only_hosts_that_are_processes_need_psutil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.delitem(sys.modules, "tpulint.runtime.pods.connections")
    importlib.import_module("tpulint.runtime.pods.connections")
    with pytest.raises(ModuleNotFoundError, match="psutil"):
        connections.disconnect_when_lost(["localhost:1"])
