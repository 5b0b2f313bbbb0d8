"""Run Python in a network of its own, in which nothing but loopback is: python loopback.py ARGS...

TensorFlow's servers listen on all interfaces; here that is this one. Exit status 77 where the
system refuses such a network, as in most containers.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

REFUSED = 77
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # CLONE_* of linux/sched.h
_SET_FLAGS, _UP = 0x8914, 0x1  # SIOCSIFFLAGS of linux/sockios.h, IFF_UP of linux/if.h


def main() -> None:
    if sys.platform != "linux":
        sys.exit(REFUSED)
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_NET):
        sys.exit(REFUSED)
    try:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"0 {user} 1"),
            ("gid_map", f"0 {group} 1"),
        ):
            with open(f"/proc/self/{file}", "w", encoding="ascii") as out:
                out.write(text)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))
    except OSError:
        sys.exit(REFUSED)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])


if __name__ == "__main__":
    main()
