"""The end of the connections to a host that no longer answers.

TensorFlow notices at once that a process has ended, as its machine says so. If the machine is gone,
or the process stands still, TensorFlow waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import socket
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
    for descriptor in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(descriptor))) as one:
            host, port, *_ = one.getpeername()
            if (host.removeprefix("::ffff:"), port) in peers:  # IPv4 in a socket of IPv6
                one.shutdown(socket.SHUT_RDWR)
