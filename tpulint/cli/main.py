"""The command line: its words, its exit status, and never a traceback.

0: nothing found. 1: findings. 2: wrong usage, something was not checked, or an error of our own.
130: interrupted by Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from tpulint import __version__

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["version"], ["--version"], ["-V"]):  # at once, with nothing else imported
        print(f"tpulint {__version__}")
        return 0
    ends_here = arguments is None  # the process ends with the command
    try:
        from tpulint.cli.options import run

        if not ends_here or words[:1] != ["check"]:
            return run(words)
        # No garbage is collected in a process that ends after this, not even as it ends.
        gc.disable()
        status = run(words)
        gc.freeze()
        return status
    except KeyboardInterrupt:
        return interrupted(ends_here=ends_here)


def interrupted(*, ends_here: bool) -> int:
    """End after Ctrl-C: without the workers, and without waiting for any thread."""
    # Without workers nothing is imported: a thread at work would keep it waiting for a second.
    if "tpulint.worker_pool" in sys.modules:
        from tpulint.worker_pool import kill_workers

        kill_workers()
    if not ends_here:
        return INTERRUPTED
    try:
        print("tpulint: interrupted", file=sys.stderr, flush=True)
    finally:
        os._exit(INTERRUPTED)
