"""The one thread that analyzes, beside the event loop.

It is a daemon: the process can end at any moment, whatever it is doing.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Worker:
    """A thread that does one piece of work after the other."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="tpulint-analysis", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._work.get()()

    async def do(self, work: Callable[[], T]) -> T:
        """Return `work()`, or raise what it raises; work of a cancelled request is not begun."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def answer(result: T | None, error: Exception | None) -> None:
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        def run() -> None:
            if future.cancelled():
                return
            try:
                result = work()
            except Exception as error:
                loop.call_soon_threadsafe(answer, None, error)
            else:
                loop.call_soon_threadsafe(answer, result, None)

        self._work.put(run)
        return await future
