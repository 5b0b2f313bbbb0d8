"""The end of the connections to a host that no longer answers.

TensorFlow notices at once that a process has ended, as its machine says so. If the machine is gone,
or the process stands still, TensorFlow waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Iterator, Sequence

from tpulint.runtime.workers.addresses import answers, resolved

_PAUSE = 1.0
"""Seconds between two questions to a host."""


@contextlib.contextmanager
def lost_hosts_disconnected(addresses: Sequence[str]) -> Iterator[None]:
    """Close, in the context, this process's connections to hosts that answer no more.

    What waits for one of them then fails with TensorFlow's `UnavailableError`.
    """
    ended = threading.Event()
    for address in addresses:
        threading.Thread(
            target=_watch, args=(address, ended), daemon=True, name=f"tpulint host {address}"
        ).start()
    try:
        yield
    finally:
        ended.set()


def _watch(address: str, ended: threading.Event) -> None:
    peers: frozenset[tuple[str, int]] = frozenset()
    while not ended.wait(_PAUSE):
        if answers(address):
            peers = peers or resolved(address)  # a network that is gone resolves no name
        elif peers:
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
