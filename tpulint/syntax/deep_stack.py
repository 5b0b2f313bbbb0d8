"""Room for recursion as deep as the source nests: our walkers recurse."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

STACK = 512 * 1024 * 1024  # bytes, of which only those that are used cost anything
RECURSION = 100_000
FRAMES = 1 << 16  # words: half a megabyte

_thread = threading.local()


def deeply(work: Callable[[], T]) -> T:
    """Return `work()`, run on a thread with a deep stack (this one, if it has one)."""
    if getattr(_thread, "is_deep", False):
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _thread.is_deep = True
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, RECURSION))
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            sys.setrecursionlimit(limit)

    # CPython takes memory for its frames from the system in chunks of 16 KB, and gives one back
    # when the call that needed it returns: a loop at the edge of a chunk pays for that each time.
    # A frame that asks for much gets a chunk of twice its size, with room for all that is in it.
    run.__code__ = run.__code__.replace(co_stacksize=FRAMES)
    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=run, name="tpulint-deep")
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
