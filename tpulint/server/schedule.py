"""When and where a project is analyzed: soon after the last change, in one thread.

If it changed meanwhile, it is analyzed again. The findings of the edited file come first, where its
project is large; all of them follow as soon as typing stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TypeVar

from tpulint.collector import collect_and_freeze, collect_new
from tpulint.config import ConfigError
from tpulint.incremental.model import describe
from tpulint.server.project import ServerProject, Snapshot

QUIET = 0.02  # seconds without a change, before the work begins
LONGEST = 0.3  # seconds that the work waits for them
SETTLED = 0.2  # seconds without a change, before all of a large program is read
RECENT = 3  # files that are likely to be edited next
UNWATCHED = 5.0  # seconds until the disk is looked at again, where the client does not watch it

Unsaved = Callable[[ServerProject], Mapping[str, bytes]]
Done = Callable[[ServerProject, Snapshot], None]


class Scheduled:
    """A project with its last snapshot; `wanted` and `done` count changes.

    first: what the worker does before the next analysis. edited: the files of the changes since the
    last one, None among them for what is no edit. recent: those of the last edits, newest last.
    """

    def __init__(self, project: ServerProject) -> None:
        self.project = project
        self.snapshot = Snapshot()
        self.wanted = 0
        self.done = 0
        self.looked = time.monotonic()
        self.first: list[Callable[[], None]] = []
        self.edited: set[str | None] = set()
        self.recent: list[str] = []
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def urgent(self, edited: Collection[str | None]) -> str | None:
        """Return the one file that was edited since all findings were those of the newest text."""
        since = {*edited, *([self.recent[-1]] if self.snapshot.incomplete else [])}
        return since.pop() if edited and len(since) == 1 else None

    def take(self, snapshot: Snapshot, wanted: int, edited: Collection[str | None]) -> None:
        """Take the result of an analysis, and wake up those who wait for it."""
        self.snapshot = snapshot
        self.done = wanted
        paths = [path for path in edited if path is not None]
        self.recent = [*(path for path in self.recent if path not in paths), *paths][-RECENT:]
        self.changed.set()


class AnalysisSchedule:
    """The analyses of all projects, one at a time.

    `unsaved` gives the bytes that the editor has of a project; `done` gets each result.
    """

    def __init__(self, worker: Worker, unsaved: Unsaved, done: Done) -> None:
        self.watched = False  # the client says when a file changes on the disk
        self._worker = worker
        self._unsaved = unsaved
        self._done = done

    def change(
        self,
        scheduled: Scheduled,
        first: Callable[[], None] | None = None,
        edited: str | None = None,
    ) -> None:
        """Note a change: what is being analyzed now is out of date."""
        scheduled.wanted += 1
        scheduled.edited.add(edited)
        if first is not None:
            scheduled.first.append(first)
        if scheduled.task is None or scheduled.task.done():
            scheduled.task = asyncio.ensure_future(self._follow(scheduled))

    async def current(self, scheduled: Scheduled) -> Snapshot:
        """Return the snapshot with every change until now in it."""
        wanted = scheduled.wanted
        while scheduled.done < wanted:
            scheduled.changed.clear()
            await scheduled.changed.wait()
        return scheduled.snapshot

    async def _follow(self, scheduled: Scheduled) -> None:
        while scheduled.done < scheduled.wanted or scheduled.snapshot.incomplete:
            await self._quiet(scheduled)
            wanted = scheduled.wanted
            edited, scheduled.edited = scheduled.edited, set()
            snapshot = await self._analyzed(scheduled, wanted, scheduled.urgent(edited))
            if snapshot is None:
                scheduled.edited |= edited
                continue
            scheduled.take(snapshot, wanted, edited)
            self._done(scheduled.project, snapshot)
            if snapshot.incomplete:
                await self._worker.do(collect_new)
            else:
                await self._validate_partial_check(scheduled, wanted)
                await self._worker.do(collect_and_freeze)

    async def _quiet(self, scheduled: Scheduled) -> None:
        """Wait for a pause in the typing, within limits."""
        until = time.monotonic() + LONGEST
        before = -1
        pause = QUIET if scheduled.done < scheduled.wanted else SETTLED
        while before != scheduled.wanted and time.monotonic() < until:
            before = scheduled.wanted
            await asyncio.sleep(pause)
            pause = QUIET

    async def _analyzed(
        self, scheduled: Scheduled, wanted: int, urgent: str | None
    ) -> Snapshot | None:
        """Return the result; None where something has changed meanwhile."""
        project = scheduled.project
        if not self.watched and time.monotonic() - scheduled.looked > UNWATCHED:
            scheduled.looked = time.monotonic()
            scheduled.first.append(project.look_again)
        unsaved = self._unsaved(project)
        first, scheduled.first = scheduled.first, []

        def work() -> Snapshot | None:
            for action in first:
                action()
            project.superseded = lambda: scheduled.wanted != wanted
            return project.analyze(unsaved, urgent)

        try:
            return await self._worker.do(work)
        except ConfigError as error:
            return scheduled.snapshot._replace(messages=(str(error),), incomplete=False)
        except Exception as error:  # whatever it is, the server goes on
            return Snapshot(messages=(f"internal error: {describe(error)}",))

    async def _validate_partial_check(self, scheduled: Scheduled, wanted: int) -> None:
        """Prepare for the next keystroke, while there is none."""
        for path in reversed(scheduled.recent):
            if scheduled.wanted == wanted:
                with contextlib.suppress(Exception):
                    await self._worker.do(partial(scheduled.project.validate_partial_check, path))


# The one thread that analyzes, beside the event loop.
#
# It is a daemon: the process can end at any moment, whatever it is doing.

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
