"""The connections of a program to the hosts of a pod that are processes.

The hosts have addresses, "host:port". TensorFlow notices at once that a process has ended, as its
machine says so. If the machine is gone, or the process stands still, it waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

Peers = frozenset[tuple[str, int]]
"""Pairs of IP address and port."""
CONNECT_TIMEOUT_SECONDS = 1.5
"""Seconds in which a machine has to accept a connection, which its system does by itself.

A packet that was lost is sent again after one second.
"""
REPLY_TIMEOUT_SECONDS = 15.0
"""Seconds in which a server has to say its first word; it may be short of processors."""
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The preface of a client of HTTP/2, with empty settings (RFC 9113, section 3.4)."""


def split_address(address: str) -> tuple[str, int]:
    """Return the host and the port of `address`.

    Raises:
        ValueError: it is no "host:port".
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 2**16:
        raise ValueError(f"{address!r} is no address of a host: give HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_reachable(address: str) -> bool:
    """Return whether a server of HTTP/2, as TensorFlow's are, answers at `address`."""
    try:
        with socket.create_connection(
            split_address(address), CONNECT_TIMEOUT_SECONDS
        ) as connection:
            connection.settimeout(REPLY_TIMEOUT_SECONDS)
            connection.sendall(_HELLO)
            return bool(connection.recv(1))
    except OSError:
        return False


def resolve(address: str) -> Peers:
    """Return the pairs of IP address and port that `address` means."""
    host, port = split_address(address)
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return frozenset((str(info[4][0]), port) for info in infos)


def own_address_for(addresses: tuple[str, ...], port: int) -> str:
    """Return the address at which all hosts at `addresses` reach `port` of this machine.

    It is "localhost" where they are all on this machine.
    """
    for address in addresses:
        for ip, _ in sorted(resolve(address)):
            family = socket.AF_INET6 if ":" in ip else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as towards:
                towards.connect((ip, 9))  # sends nothing: the system only chooses an interface
                own = str(towards.getsockname()[0])
            if own not in (ip, "::1") and not own.startswith("127."):
                return f"[{own}]:{port}" if ":" in own else f"{own}:{port}"
    return f"localhost:{port}"


def close_connections(peers: Peers) -> None:
    """Close the connections to `peers`, also those which are still being made.

    gRPC would wait 20 seconds for a machine that is gone to accept one.
    """
    import psutil

    for tcp in psutil.Process().net_connections("tcp"):
        # An address of IPv4 on a socket of IPv6 begins with "::ffff:".
        if tcp.raddr and (tcp.raddr.ip.removeprefix("::ffff:"), tcp.raddr.port) in peers:
            with (
                contextlib.suppress(OSError),
                socket.socket(fileno=os.dup(tcp.fd)) as connection,
            ):
                connection.shutdown(socket.SHUT_RDWR)


_POLL_SECONDS = 0.5
"""Seconds between two questions to a host."""
_MAX_UNANSWERED = 2
"""The questions in a row without an answer after which a host is lost; a busy one may miss one."""
_connected: dict[str, threading.Event] = {}
"""The addresses of the hosts that this process is connected to, and the ends of their watches."""


def disconnect_when_lost(addresses: Sequence[str], *, from_all: bool = False) -> None:
    """Close, from now on, this process's connections to a host that answers no more.

    With `from_all` they are closed to all of them, when it is lost: in sessions of 2.12 the others
    would not hear that the step has failed.

    What waits for it then fails with TensorFlow's `UnavailableError`. This lasts until the process
    ends or is to be connected to others.

    Raises:
        ModuleNotFoundError: psutil is not installed, which nothing else needs.
    """
    import psutil  # noqa: F401  (the watch needs it: better say so now)

    peers = {address: resolve(address) for address in addresses}
    pod = frozenset[tuple[str, int]]().union(*peers.values())
    for address in addresses:
        ended = _connected[address] = threading.Event()
        threading.Thread(
            target=_watch,
            args=(address, ended, close_connections, pod if from_all else peers[address]),
            daemon=True,
            name=f"tpulint host {address}",
        ).start()


def end_waits_on_hosts() -> None:
    """Close the connections to all hosts: what waits there for a session's step is cancelled.

    A session does not tell the functions that it runs on other hosts that its step has failed.
    """
    for address in tuple(_connected):
        close_connections(resolve(address))


def lost_host() -> str | None:
    """Return the address of a host that this process is connected to and that does not answer."""
    return next((address for address in tuple(_connected) if not is_reachable(address)), None)


def _watch(
    address: str, ended: threading.Event, close: Callable[[Peers], None], at_first: Peers
) -> None:
    peers = resolve(address)  # now, as a network that is gone resolves no name
    unanswered = 0
    while not ended.wait(_POLL_SECONDS):
        if unanswered == _MAX_UNANSWERED:
            close(peers)  # again and again: what is tried next would wait, too
            continue
        unanswered = 0 if is_reachable(address) else unanswered + 1
        if unanswered == _MAX_UNANSWERED:
            close(at_first)


def announce_address(server_def: Any, workers: Sequence[str]) -> None:
    """Make this process known, in the ServerDef, by an address that the `workers` can reach.

    TensorFlow's is always localhost. From now on it is watched that the workers answer.

    Raises:
        tf.errors.UnavailableError: one of them does not answer; TensorFlow would wait for it.
    """
    for job in server_def.cluster.job:
        if job.name == server_def.job_name:
            port = int(job.tasks[server_def.task_index].rpartition(":")[2])
            job.tasks[server_def.task_index] = connected_address(workers, port)


def connected_address(workers: Sequence[str], port: int, *, in_session: bool = False) -> str:
    """Return the address at which the `workers` reach `port` of this process.

    From now on it is watched that they answer, and no others.

    Raises:
        tf.errors.UnavailableError: one of them does not answer; TensorFlow would wait for it.
    """
    for ended in _connected.values():
        ended.set()
    _connected.clear()
    for address in workers:
        if not is_reachable(address):
            message = f"No host of the pod answers at {address}: is `tpulint worker` running there?"
            raise tf.errors.UnavailableError(None, None, message)
    disconnect_when_lost(workers, from_all=in_session)
    return own_address_for(tuple(workers), port)
