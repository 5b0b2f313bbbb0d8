"""Room for recursion as deep as the source nests: libcst's own walkers recurse."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

STACK = 512 * 1024 * 1024  # bytes, of which only those that are used cost anything
RECURSION = 100_000

_thread = threading.local()


def deeply(work: Callable[[], Result]) -> Result:
    """What `work` gives, or raises, on a thread with a deep stack: this one, if it has one."""
    if getattr(_thread, "is_deep", False):
        return work()
    results: list[Result] = []
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
