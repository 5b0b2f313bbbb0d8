"""The TCP connections of this process."""

from __future__ import annotations

import contextlib
import os
import socket

import psutil

from tpulint.runtime.workers.addresses import Peers


def close_connections(peers: Peers) -> None:
    """Close the connections to `peers`, also those which are still being made.

    gRPC would wait 20 seconds for a machine that is gone to accept one.
    """
    for one in psutil.Process().net_connections("tcp"):
        # An address of IPv4 on a socket of IPv6 begins with "::ffff:".
        if one.raddr and (one.raddr.ip.removeprefix("::ffff:"), one.raddr.port) in peers:
            with (
                contextlib.suppress(OSError),
                socket.socket(fileno=os.dup(one.fd)) as connection,
            ):
                connection.shutdown(socket.SHUT_RDWR)
