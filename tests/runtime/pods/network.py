"""The interfaces of a network of one's own (see scripts/loopback.py)."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

_SET_FLAGS, _SET_ADDRESS, _SET_NETMASK, _TUN = 0x8914, 0x8916, 0x891C, 0x400454CA
_TUN_DEVICE = "/dev/net/tun"
_UP, _TUN_WITHOUT_HEADER = 0x0001, 0x1001


def set_up(interface: str, ip: str, netmask: str) -> None:
    """Give `interface`, as "lo:1", an address and a network."""
    for what, number in ((_SET_ADDRESS, ip), (_SET_NETMASK, netmask)):
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(number))
        _change(what, struct.pack("16s16s", interface.encode(), address))
    _change(_SET_FLAGS, struct.pack("16sH14x", interface.encode(), _UP))


def take_down(interface: str) -> None:
    _change(_SET_FLAGS, struct.pack("16sH14x", interface.encode(), 0))


def has_interface_to_nowhere() -> bool:
    return os.access(_TUN_DEVICE, os.R_OK | os.W_OK)


@contextmanager
def interface_to_nowhere(name: str) -> Iterator[None]:
    """Have, in the context, an interface `name` that loses everything."""
    with open(_TUN_DEVICE, "r+b", buffering=0) as tun:
        fcntl.ioctl(tun, _TUN, struct.pack("16sH14x", name.encode(), _TUN_WITHOUT_HEADER))
        yield


def _change(what: int, how: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, what, how)
