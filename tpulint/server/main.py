"""Start the language server, and end it without waiting for anything."""

from __future__ import annotations

import os
import signal
import sys

from lsprotocol import types

from tpulint.server import actions, diagnostics, hints, hover, watching
from tpulint.server.language_server import Server
from tpulint.server.schedule import collect_by_hand


def serve(port: int | None = None) -> int:
    """Serve one client on standard input and output, or on a TCP port of this machine.

    The answer is the exit status: 1 where the client went without a word.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it: no thread is waited for
    collect_by_hand()
    server = made()
    if port is not None:
        server.start_tcp("127.0.0.1", port)
    else:
        # Nothing but the protocol may write there: one line of another would end it.
        stdout, sys.stdout = sys.stdout, sys.stderr
        server.start_io(sys.stdin.buffer, stdout.buffer)
    return server.exit_status


def made() -> Server:
    """Return a server with all features."""
    server = Server()
    for feature in (actions, diagnostics, hover, hints, watching):
        feature.register(server)
    server.feature(types.SHUTDOWN)(shut_down)
    server.feature(types.EXIT)(leave)
    return server


def shut_down(ls: Server, params: None) -> None:
    ls.exit_status = 0


def leave(ls: Server, params: None) -> None:
    """End at once: a thread waits for input that will not come, another may be analyzing."""
    sys.stderr.flush()
    os._exit(ls.exit_status)
