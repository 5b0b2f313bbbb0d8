"""The end of the connections to a pod of which a host no longer answers.

TensorFlow notices at once that a process has ended, as its machine says so. If the machine is gone,
or the process stands still, it waits for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tpulint.runtime.workers.addresses import Peers, answers, resolved

_PAUSE = 0.5
"""Seconds between two questions to a host."""
_UNANSWERED = 2
"""The questions in a row without an answer after which a host is lost; a busy one may miss one."""

_connected: dict[str, threading.Event] = {}
"""The addresses of the hosts that this process is connected to, and the ends of their watches."""


def disconnect_when_lost(addresses: Sequence[str], *, from_all: bool = False) -> None:
    """From now on, close this process's connections to a host that answers no more.

    With `from_all` they are closed to all of them, when it is lost: in sessions of 2.12 the others
    would not hear that the step has failed.

    What waits for it then fails with TensorFlow's `UnavailableError`. This lasts until the process
    ends or is to be connected to others.

    Raises:
        ModuleNotFoundError: psutil is not installed, which nothing else needs.
    """
    from tpulint.runtime.workers.connections import close_connections

    peers = {address: resolved(address) for address in addresses}
    pod = frozenset[tuple[str, int]]().union(*peers.values())
    for address in addresses:
        ended = _connected[address] = threading.Event()
        threading.Thread(
            target=_watch,
            args=(address, ended, close_connections, pod if from_all else peers[address]),
            daemon=True,
            name=f"tpulint host {address}",
        ).start()


def leave_connections_alone() -> None:
    """End what `disconnect_when_lost` has begun."""
    for ended in _connected.values():
        ended.set()
    _connected.clear()


def lost_host() -> str | None:
    """Return the address of a host that this process is connected to and that does not answer."""
    return next((address for address in tuple(_connected) if not answers(address)), None)


def _watch(
    address: str, ended: threading.Event, close: Callable[[Peers], None], at_first: Peers
) -> None:
    peers = resolved(address)  # now, as a network that is gone resolves no name
    unanswered = 0
    while not ended.wait(_PAUSE):
        if unanswered == _UNANSWERED:
            close(peers)  # again and again: what is tried next would wait, too
            continue
        unanswered = 0 if answers(address) else unanswered + 1
        if unanswered == _UNANSWERED:
            close(at_first)
