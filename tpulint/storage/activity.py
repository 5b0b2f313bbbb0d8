"""How long requests to each bucket have been open, in memory that the server and the run share.

The run looks when a step begins to wait and when it goes on. It asks nobody: a step that waits for
an answer about its waits would be another step.
"""

from __future__ import annotations

import mmap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SLOTS = 64
"""So many buckets are measured."""
_BYTES = 8 * SLOTS


class Activity:
    """The seconds in which a request was open, by bucket, in the file `path`.

    Only the server writes. A slot is one number, so that no reader sees half of a change: the
    seconds so far, or while a request is open what is to be added to the clock to get them, which
    is negative.
    """

    def __init__(self, path: str) -> None:
        with open(path, "a+b") as file:
            if file.tell() < _BYTES:
                file.truncate(_BYTES)
            self._slots = memoryview(mmap.mmap(file.fileno(), _BYTES)).cast("d")
        self.buckets: dict[str, int] = {}
        """The slot of each bucket."""
        self._open = [0] * SLOTS
        self._lock = threading.Lock()

    @contextmanager
    def request(self, bucket: str) -> Iterator[None]:
        """Note that a request to the bucket is open."""
        with self._lock:
            slot = self.buckets.setdefault(bucket, len(self.buckets))
            self._change(slot, 1)
        try:
            yield
        finally:
            with self._lock:
                self._change(slot, -1)

    def _change(self, slot: int, number: int) -> None:
        if slot >= SLOTS:
            return
        before, self._open[slot] = self._open[slot], self._open[slot] + number
        if not before:
            self._slots[slot] -= time.monotonic()
        elif not self._open[slot]:
            self._slots[slot] += time.monotonic()

    def seconds(self) -> list[float]:
        """Return the seconds of all slots until now."""
        slots, now = self._slots.tolist(), time.monotonic()
        return [now + slot if slot < 0 else slot for slot in slots]
