"""The command line: its words, its exit status, and never a traceback.

0: nothing found. 1: findings. 2: wrong usage, or an error of our own.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from tpulint import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the answer is the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["version"], ["--version"], ["-V"]):  # at once, without the rest of the house
        print(f"tpulint {__version__}")
        return 0
    from tpulint.cli.options import run

    if arguments is not None or given[:1] != ["check"]:
        return run(given)
    # This process ends with the check: memory that the collector found now, nobody would use again.
    gc.disable()
    status = run(given)
    gc.freeze()
    return status
