"""The connections to a host that is lost are closed, and no others."""

from __future__ import annotations

import contextlib
import errno
import os
import socket

import pytest

from tpulint.runtime.pods.connections import close_connections


def test_only_the_connections_to_the_host_are_closed() -> None:
    server = socket.create_server(("localhost", 0))
    address = server.getsockname()[:2]
    lost, other = (socket.create_connection(address) for _ in range(2))
    dual = socket.socket(socket.AF_INET6)
    dual.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    one_end, other_end = socket.socketpair()
    with server, lost, other, dual, one_end, other_end:
        dual.connect((f"::ffff:{address[0]}", address[1]))
        descriptors = len(os.listdir("/dev/fd"))
        close_connections(frozenset({("127.0.0.1", 1), ("10.0.0.1", address[1])}))
        other.sendall(b"still there")
        close_connections(frozenset({address}))
        for connection in (lost, other, dual):
            connection.settimeout(60.0)
            assert connection.recv(1) == b""
        one_end.sendall(b"other")
        assert other_end.recv(5) == b"other"
        assert len(os.listdir("/dev/fd")) == descriptors


def test_a_connection_that_nobody_accepts_is_closed() -> None:
    """As to a machine that is gone: a full queue of connections leaves the next ones unanswered."""
    with socket.socket() as server, contextlib.ExitStack() as connections:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            last = connections.enter_context(socket.socket())
            last.setblocking(False)
            last.connect_ex(server.getsockname())
        with pytest.raises(OSError, match="not connected"):
            last.getpeername()
        close_connections(frozenset({server.getsockname()}))
        assert last.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET
