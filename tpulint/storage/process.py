"""The process that serves storage: started with a run, and ended with it, however that ends.

At first it only waits, which costs a run nothing: it imports the server when the first connection
comes. It ends when its standard input does, whose other end the run holds.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import sys

# The server's side. The file is run by its path, and waits with few modules imported.


def main() -> None:
    """Wait for a connection, serve, and end with the input."""
    # Unbuffered: what comes after the line stays in the pipe, where the server waits for it.
    settings = io.FileIO(0, closefd=False).readline()
    if not settings.endswith(b"\n"):
        return
    import json

    request = json.loads(settings)
    listener = socket.socket(fileno=request["listener"])
    try:
        readable, _, _ = select.select([0, listener.fileno()], [], [])
        if 0 in readable:
            return
        sys.path[:] = request["path"]
        from tpulint.storage.proxy import serve

        words = json.dumps(serve(listener, request)).encode()
        with contextlib.suppress(BrokenPipeError):  # the run has ended without a report
            os.write(1, words)
    finally:
        import shutil

        shutil.rmtree(request["private"], ignore_errors=True)


if __name__ == "__main__":
    main()
    os._exit(0)
