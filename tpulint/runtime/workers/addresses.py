"""The addresses ("host:port") of the hosts of a pod, and of this process as they see it."""

from __future__ import annotations

import socket

Peers = frozenset[tuple[str, int]]
"""Pairs of IP address and port."""
UNREACHABLE = 1.5
"""Seconds in which a machine has to accept a connection, which its system does by itself.

A packet that was lost is sent again after one second.
"""
SILENT = 15.0
"""Seconds in which a server has to say its first word; it may be short of processors."""
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The preface of a client of HTTP/2, with empty settings (RFC 9113, section 3.4)."""


def parts_of(address: str) -> tuple[str, int]:
    """Return the host and the port of `address`.

    Raises:
        ValueError: it is no "host:port".
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 2**16:
        raise ValueError(f"{address!r} is no address of a host: give HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def answers(address: str) -> bool:
    """Return whether a server of HTTP/2, as TensorFlow's are, answers at `address`."""
    try:
        with socket.create_connection(parts_of(address), UNREACHABLE) as connection:
            connection.settimeout(SILENT)
            connection.sendall(_HELLO)
            return bool(connection.recv(1))
    except OSError:
        return False


def resolved(address: str) -> Peers:
    """Return the pairs of IP address and port that `address` means."""
    host, port = parts_of(address)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return frozenset((str(one[4][0]), port) for one in found)


def own_address_towards(addresses: tuple[str, ...], port: int) -> str:
    """Return the address at which all hosts at `addresses` reach `port` of this machine.

    It is "localhost" where they are all on this machine.
    """
    for address in addresses:
        for ip, _ in sorted(resolved(address)):
            family = socket.AF_INET6 if ":" in ip else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as towards:
                towards.connect((ip, 9))  # sends nothing: the system only chooses an interface
                own = str(towards.getsockname()[0])
            if own not in (ip, "::1") and not own.startswith("127."):
                return f"[{own}]:{port}" if ":" in own else f"{own}:{port}"
    return f"localhost:{port}"
