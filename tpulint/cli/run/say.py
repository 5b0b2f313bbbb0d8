"""Words of tpulint's own on standard error, whatever the program has made of `sys.stderr`."""

from __future__ import annotations

import contextlib
import os
import sys


def say(text: str) -> None:
    """Write to the standard error that the process was started with."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # it may be closed
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode("utf-8", "surrogateescape"))
