"""The server's state: documents, the projects that they are of, and the schedule.

A project is analyzed soon after the last change, in one thread. If it changed meanwhile, it is
analyzed again. The findings of the edited file come first, where its project is large; all of them
follow as soon as typing stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tpulint import __version__
from tpulint.check.editor import ReadProgram
from tpulint.check.request import project_of
from tpulint.collector import collect_and_freeze
from tpulint.config import ConfigError
from tpulint.incremental.model import describe
from tpulint.server.documents import SYNC, DocumentPlace, Documents, Units
from tpulint.server.project import ClientSettings, ServerProject, Snapshot
from tpulint.source import Source, UnreadableSource, read_source

QUIET = 0.02  # seconds without a change, before the work begins
LONGEST = 0.3  # seconds that the work waits for them
SETTLED = 0.2  # seconds without a change, before all of a large program is read
RECENT = 3  # files that are likely to be edited next
UNWATCHED = 5.0  # seconds until the disk is looked at again, where the client does not watch it

Unsaved = Callable[[ServerProject], Mapping[str, bytes]]
Done = Callable[[ServerProject, Snapshot], None]


@dataclass(eq=False)
class Scheduled:
    """A project with its last snapshot; `wanted` and `done` count changes.

    first: what the worker does before the next analysis. edited: the files of the changes since the
    last one, None among them for what is no edit. recent: those of the last edits, newest last.
    """

    project: ServerProject
    snapshot: Snapshot = field(default_factory=Snapshot)
    wanted: int = 0
    done: int = 0
    looked: float = field(default_factory=time.monotonic)
    first: list[Callable[[], None]] = field(default_factory=list)
    edited: set[str | None] = field(default_factory=set)
    recent: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

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
                await self._worker.do(gc.collect)
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
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except Exception as error:
                    future.set_exception(error)

        self._work.put(run)
        return await asyncio.wrap_future(future)


Listener = Callable[["Server", ServerProject, Snapshot], None]


class Document(NamedTuple):
    """An open document, and the last analysis of its project."""

    place: DocumentPlace
    project: ServerProject
    snapshot: Snapshot

    @property
    def source(self) -> Source | None:
        return self.snapshot.sources.get(self.place.path)


class Server(LanguageServer):
    """The state that all features share. exit_status: 1 until the client shuts it down."""

    def __init__(self, listener: Listener) -> None:
        super().__init__("tpulint", __version__, notebook_document_sync=SYNC)
        self.settings = ClientSettings()
        self.exit_status = 1
        self.worker = Worker()
        self._listener = listener
        self.schedule = AnalysisSchedule(self.worker, self._unsaved_of, self._analyzed)
        self.scheduled: dict[str, Scheduled] = {}  # by the root of the project
        self.refreshed: dict[str, dict[str, str]] = {}  # results that the client was told of
        self._said: set[str] = set()
        self._roots: dict[str, str] = {}  # the projects of workspace folders

    @property
    def documents(self) -> Documents:
        return Documents(self.workspace)

    @property
    def units(self) -> Units:
        return self.workspace.position_codec.client_num_units

    # The project of a file

    def root_of(self, path: str) -> str:
        """Return the project of a file: the one around its innermost workspace folder.

        A file in none of them is a project by itself: it may be a library's.
        """
        folders = self.documents.folders()
        inside = [folder for folder in folders if path.startswith(os.path.join(folder, ""))]
        if not inside:
            return path
        folder = max(inside, key=len)
        if folder not in self._roots:
            self._roots[folder] = project_of(folder) or folder
        return self._roots[folder]

    def scheduled_of(self, path: str) -> Scheduled:
        """Return the project of a file, made at the first question."""
        root = self.root_of(path)
        scheduled = self.scheduled.get(root)
        if scheduled is None:
            scheduled = self.scheduled[root] = Scheduled(ServerProject(root, self.settings))
            self.schedule.change(scheduled)
        return scheduled

    def every_folder(self) -> list[Scheduled]:
        """Return the projects of all workspace folders."""
        return [self.scheduled_of(os.path.join(folder, "")) for folder in self.documents.folders()]

    # Changes

    def change(self, uri: str) -> None:
        """Note that a document was opened, edited or closed."""
        place = self.documents.place(uri)
        if place is not None:
            self.schedule.change(self.scheduled_of(place.path), edited=place.path)

    def configure(self) -> None:
        """Analyze everything again, under the current settings."""
        for scheduled in self.scheduled.values():
            self.schedule.change(scheduled, partial(scheduled.project.configure, self.settings))

    def change_folders(self) -> None:
        """Forget the projects of folders that are gone, and take in those that came."""
        self._roots.clear()
        roots = {self.root_of(os.path.join(folder, "")) for folder in self.documents.folders()}
        self.scheduled = {
            root: scheduled for root, scheduled in self.scheduled.items() if root in roots
        }
        self.every_folder()
        for uri, _ in self.documents.open():
            self.change(uri)

    def _unsaved_of(self, project: ServerProject) -> Mapping[str, bytes]:
        unsaved = self.documents.unsaved()
        return {path: data for path, data in unsaved.items() if self.root_of(path) == project.root}

    # Answers

    async def document(self, uri: str) -> Document | None:
        """Return an open document with every change until now analyzed."""
        place = self.documents.place(uri)
        if place is None:
            return None
        scheduled = self.scheduled_of(place.path)
        return Document(place, scheduled.project, await self.schedule.current(scheduled))

    async def of_programs(
        self, document: Document, question: Callable[[Sequence[ReadProgram], str], T]
    ) -> T:
        """Return the answer, on the worker's thread, of the programs that read the document."""
        path, project = document.place.path, document.project
        return await self.worker.do(lambda: question(project.programs_of(path), path))

    def source(self, path: str) -> Source | None:
        """Return a file as it is open, else as it is on the disk; None where it is no Python."""
        try:
            return read_source(path, self.documents.unsaved().get(path))
        except UnreadableSource:
            return None

    def _analyzed(self, project: ServerProject, snapshot: Snapshot) -> None:
        for message in snapshot.messages:
            if message not in self._said:
                self.show_error(message)
        self._said = {*self._said, *snapshot.messages} if snapshot.messages else set()
        self._listener(self, project, snapshot)

    def show_error(self, message: str) -> None:
        params = types.ShowMessageParams(types.MessageType.Error, f"tpulint: {message}")
        self.window_show_message(params)
