"""The end of the connections to a pod of which a host no longer answers.

TensorFlow notices at once that a process has ended, as its machine says so. If the machine is gone,
or the process stands still, it waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Sequence

from tpulint.runtime.workers.addresses import answers, resolved

_PAUSE = 1.0
"""Seconds between two questions to a host."""
_UNANSWERED = 2
"""The questions in a row without an answer after which a host is lost; a busy one may miss one."""

_connected: dict[str, threading.Event] = {}
"""The addresses of the hosts that this process is connected to, and the ends of their watches."""


def disconnect_when_lost(addresses: Sequence[str]) -> None:
    """From now on, close this process's connections to a host that answers no more.

    What waits for it then fails with TensorFlow's `UnavailableError`. This lasts until the process
    ends or is connected to others.
    """
    for ended in _connected.values():
        ended.set()
    _connected.clear()
    for address in addresses:
        ended = _connected[address] = threading.Event()
        threading.Thread(
            target=_watch, args=(address, ended), daemon=True, name=f"tpulint host {address}"
        ).start()


def lost_host() -> str | None:
    """Return the address of a host that this process is connected to and that does not answer."""
    return next((address for address in tuple(_connected) if not answers(address)), None)


def _watch(address: str, ended: threading.Event) -> None:
    peers = resolved(address)  # now, as a network that is gone resolves no name
    unanswered = 0
    while not ended.wait(_PAUSE):
        unanswered = 0 if answers(address) else unanswered + 1
        if unanswered >= _UNANSWERED:
            _disconnect(peers)


def _disconnect(peers: frozenset[tuple[str, int]]) -> None:
    for descriptor in map(int, os.listdir("/dev/fd")):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as connection:
                    if _peer_of(connection) in peers:
                        connection.shutdown(socket.SHUT_RDWR)


def _peer_of(connection: socket.socket) -> tuple[str, int] | None:
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    host, port, *_ = connection.getpeername()
    return host.removeprefix("::ffff:"), port  # an address of IPv4 on a socket of IPv6
