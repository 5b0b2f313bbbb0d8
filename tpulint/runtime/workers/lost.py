"""The end of the connections to a pod of which a host no longer answers.

TensorFlow notices at once that a process has ended, as its machine says so. If the machine is gone,
or the process stands still, it waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Sequence

import psutil

from tpulint.runtime.workers.addresses import answers, resolved

_PAUSE = 0.5
"""Seconds between two questions to a host."""
_UNANSWERED = 2
"""The questions in a row without an answer after which a host is lost; a busy one may miss one."""

_connected: dict[str, threading.Event] = {}
"""The addresses of the hosts that this process is connected to, and the ends of their watches."""


def disconnect_when_lost(addresses: Sequence[str]) -> None:
    """From now on, close this process's connections to a host that answers no more.

    What waits for it then fails with TensorFlow's `UnavailableError`. This lasts until the process
    ends or is to be connected to others.
    """
    for address in addresses:
        ended = _connected[address] = threading.Event()
        threading.Thread(
            target=_watch, args=(address, ended), daemon=True, name=f"tpulint host {address}"
        ).start()


def leave_connections_alone() -> None:
    """End what `disconnect_when_lost` has begun."""
    for ended in _connected.values():
        ended.set()
    _connected.clear()


def lost_host() -> str | None:
    """Return the address of a host that this process is connected to and that does not answer."""
    return next((address for address in tuple(_connected) if not answers(address)), None)


def _watch(address: str, ended: threading.Event) -> None:
    peers = resolved(address)  # now, as a network that is gone resolves no name
    unanswered = 0
    while not ended.wait(_PAUSE):
        if unanswered >= _UNANSWERED:
            _disconnect(peers)  # again and again: what is tried next would wait, too
        else:
            unanswered = 0 if answers(address) else unanswered + 1


def _disconnect(peers: frozenset[tuple[str, int]]) -> None:
    """Close the connections to `peers`, also those which are still being made.

    gRPC would wait 20 seconds for a machine that is gone to accept one.
    """
    for socket_ in psutil.Process().net_connections("tcp"):
        if not socket_.raddr:
            continue
        # An address of IPv4 on a socket of IPv6 begins with "::ffff:".
        if (socket_.raddr.ip.removeprefix("::ffff:"), socket_.raddr.port) in peers:
            with (
                contextlib.suppress(OSError),
                socket.socket(fileno=os.dup(socket_.fd)) as connection,
            ):
                connection.shutdown(socket.SHUT_RDWR)
