"""Ctrl-C while TensorFlow runs: Python sees it only when TensorFlow returns.

A thread of its own receives it at once. It gives the program the time to end as it does under
Python; where the main thread does not move, it ends what TensorFlow runs, then the process.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from abc import ABCMeta
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

from tpulint.run.failure import stack_of, write_stderr
from tpulint.run.program import INTERRUPTED

if TYPE_CHECKING:
    from tpulint.runtime.run_statistics import Watch


_MAKES_ERRORS = (os.path.join("", "tpulint", "runtime", ""), "errors_impl.py")
"""Where C++ has Python make an error, and could not take another one in its place."""
_ASKED_FOR_CLASSES = (
    os.path.join("", "tensorflow", "python", "util", "nest"),
    ABCMeta.__subclasscheck__.__code__.co_filename,
)
"""Where C++ asks for a class, and ignores what that raises."""
_INNERMOST = 4
_LOOK = 0.02
_HEARS = 0.2  # seconds in which a main thread that runs Python has heard of it
_STOPS = 0.5  # seconds in which it has seen that what TensorFlow ran was ended
_AGAIN = 5.0  # seconds in which another Ctrl-C means that the first has not helped
_WORDS = 10.0
"""Seconds after which the last words are stuck: they need milliseconds, and a processor."""
_MOST_PATIENCE = 10.0


class Interrupts:
    """The handler of each Ctrl-C; `last_words` reports what has run until then."""

    def __init__(self, last_words: Callable[[], None]) -> None:
        self.last_words = last_words
        self.watch: Watch | None = None
        self.main = threading.main_thread().ident or 0
        self.came: list[float] = []
        """When each came to which the main thread has not reacted, and the newest."""
        self.raised = 0  # the number of times that KeyboardInterrupt was raised in the main thread
        self.seen = 0  # the part of them that an earlier Ctrl-C has caused
        self.late = False  # True while KeyboardInterrupt is still due in the main thread
        self.own = 0  # the number of times that we have raised it again
        self.listens = True

    def listen(self) -> None:
        """Listen from now on. Forks of the process have Python's own behaviour."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        handler = self._raise
        signal.signal(signal.SIGINT, handler)
        # asyncio, for one, looks whether this is in place.
        vars(signal)["default_int_handler"] = handler
        reads, writes = os.pipe()
        os.set_blocking(writes, False)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=self._forked)
        threading.Thread(target=self._run, args=(reads,), daemon=True, name="tpulint").start()

    def _forked(self) -> None:
        signal.set_wakeup_fd(-1)
        self.listens = False

    def _raise(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt in the main thread, as Python does.

        It is not raised where C++ would lose it.
        """
        self.late = self.listens and _is_lost_in(frame)
        if not self.late:
            self.raised += 1
            raise KeyboardInterrupt
        profiled = sys.getprofile()

        def raise_outside(frame: FrameType, event: str, argument: object) -> None:
            if not _is_lost_in(frame):
                sys.setprofile(profiled)
                if self.take():
                    self.raised += 1
                    raise KeyboardInterrupt

        sys.setprofile(raise_outside)

    def take(self) -> bool:
        """Return whether KeyboardInterrupt is still due in the main thread, and clear that."""
        late, self.late = self.late, False
        return late

    def _raise_late(self) -> None:
        """Raise what could not be raised where the main thread was, should it still be there."""
        while self.late:
            time.sleep(_LOOK)
            if self.late:
                self.own += 1
                _thread.interrupt_main()

    def _run(self, reads: int) -> None:
        while True:
            signals = os.read(reads, 64)
            for _ in range(signals.count(signal.SIGINT)):
                if self.own:
                    self.own -= 1
                    continue
                self.came.append(time.monotonic())
                # What writes the report is imported while the main thread has its time to react.
                words = ("tpulint.run.explain",)
                threading.Thread(target=import_module, args=words, daemon=True).start()
                again = len(self.came) > 1 and self.came[-1] - self.came[-2] < _AGAIN
                self._act(again and _ends_by_default())
                self._raise_late()
                self.seen = self.raised

    def _act(self, again: bool) -> None:
        """End the process where the main thread does not react to this Ctrl-C."""
        since, patience = self.came[-1], _patience()
        before = self._position()
        if again:
            time.sleep(_STOPS)
            self._end()
        if self._moves(before, since + _HEARS * patience):
            self.came.clear()
            return
        if self._is_first() and not _ends_by_default():
            return
        if self.watch is not None:
            self.watch.stop(self.main)
        moved = self._moves(before, since + _STOPS * patience)
        places = self.watch.host_functions() if self.watch is not None else []
        if not moved and places and self._is_first():
            threading.Thread(target=self._waits, args=(places[0], before), daemon=True).start()
        elif moved and self.watch is not None:
            self.came.clear()
            self.watch.resume()
        elif not moved:
            self._end()

    def _waits(self, place: str, before: object) -> None:
        """Let steps run again when the main thread has seen it: the program may need some."""
        write_stderr(
            f"tpulint: a host function still runs at {place}; Ctrl-C again ends the program now\n"
        )
        self._moves(before, float("inf"))
        self.came.clear()
        if self.watch is not None:
            self.watch.resume()

    def _is_first(self) -> bool:
        return len(self.came) < 2

    def _moves(self, before: object, until: float) -> bool:
        while time.monotonic() < until:
            if self.raised != self.seen or self._position() != before:
                return True
            time.sleep(_LOOK)
        return False

    def _position(self) -> object:
        frame = sys._current_frames().get(self.main)
        return None if frame is None else (id(frame), frame.f_lasti)

    def _end(self) -> None:
        words = threading.Thread(target=self._write_stacks, daemon=True)
        words.start()
        words.join(_WORDS)
        os._exit(INTERRUPTED)

    def _write_stacks(self) -> None:
        if (frame := sys._current_frames().get(self.main)) is not None:
            write_stderr(f"{stack_of(frame)}KeyboardInterrupt\n")
        self.last_words()


def _patience() -> float:
    """Return how many times as long as on an idle machine the program may take to react.

    Where others compete for the processors, it waits for them, and does not hang.
    """
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # not on Windows
        return 1.0
    return min(max(load / (os.cpu_count() or 1), 1.0), _MOST_PATIENCE)


def _is_lost_in(frame: FrameType | None) -> bool:
    """Return whether `frame` may be in a call by C++ that would lose an error."""
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back  # this handler
    # What these call in turn may be a loop of the program's own, which has to hear it.
    if frame is not None and _is_in(frame, _ASKED_FOR_CLASSES):
        return True
    for _ in range(_INNERMOST):
        if frame is None:
            return False
        if _is_in(frame, _MAKES_ERRORS):
            return True
        frame = frame.f_back
    return False


def _is_in(frame: FrameType, parts: tuple[str, ...]) -> bool:
    return any(part in frame.f_code.co_filename for part in parts)


def _ends_by_default() -> bool:
    """Return whether the program has left it to Python what Ctrl-C does."""
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler
