"""The connections to a host that is lost are closed, and no others."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from tpulint.runtime.workers import lost
from tpulint.runtime.workers.lost import _disconnect


def test_only_the_connections_to_the_host_are_closed() -> None:
    server = socket.create_server(("localhost", 0))
    address = server.getsockname()[:2]
    lost, kept = (socket.create_connection(address) for _ in range(2))
    dual = socket.socket(socket.AF_INET6)
    dual.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    one_end, other_end = socket.socketpair()
    with server, lost, kept, dual, one_end, other_end:
        dual.connect((f"::ffff:{address[0]}", address[1]))
        descriptors = len(os.listdir("/dev/fd"))
        _disconnect(frozenset({("127.0.0.1", 1), ("10.0.0.1", address[1])}))
        kept.sendall(b"still there")
        _disconnect(frozenset({address}))
        for connection in (lost, kept, dual):
            connection.settimeout(5.0)
            assert connection.recv(1) == b""
        one_end.sendall(b"other")
        assert other_end.recv(5) == b"other"
        assert len(os.listdir("/dev/fd")) == descriptors


def test_false_a_host_that_misses_one_question_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, ended = iter([True, False, True, False, False, True]), threading.Event()
    asked: list[bool] = []
    closed_after: list[int] = []

    def answers(_: str) -> bool:
        asked.append(next(answered))
        if len(asked) == 6:
            ended.set()
        return asked[-1]

    monkeypatch.setattr(lost, "_PAUSE", 0.0)
    monkeypatch.setattr(lost, "answers", answers)
    monkeypatch.setattr(lost, "_disconnect", lambda _: closed_after.append(len(asked)))
    lost._watch("localhost:1", ended)
    assert closed_after == [5]
