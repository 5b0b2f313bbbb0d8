"""The server's state: documents, the projects that they are of, and when those are analyzed.

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
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tpulint import __version__
from tpulint.check.request import project_of
from tpulint.collector import collect_and_freeze
from tpulint.config import ConfigError
from tpulint.incremental.model import describe
from tpulint.server.documents import SYNC, DocumentPlace, Documents, Units, units_of
from tpulint.server.project import ClientSettings, ServerProject, Snapshot
from tpulint.source import Source

QUIET = 0.02  # seconds without a change, before the work begins
LONGEST = 0.3  # seconds that the work waits for them
SETTLED = 0.2  # seconds without a change, before all of a large program is read
RECENT = 3  # files that are likely to be edited next
UNWATCHED = 5.0  # seconds until the disk is looked at again, where the client does not watch it


@dataclass(eq=False)
class Scheduled:
    """A project with its last snapshot, and when it is analyzed. `wanted` and `done` count changes.

    first: what the worker does before the next analysis. edited: the files of the changes since the
    last one, None among them for what is no edit. recent: those of the last edits, newest last.
    """

    server: Server
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

    def change(self, first: Callable[[], None] | None = None, edited: str | None = None) -> None:
        """Note a change: what is being analyzed now is out of date."""
        self.wanted += 1
        self.edited.add(edited)
        if first is not None:
            self.first.append(first)
        if self.task is None or self.task.done():
            self.task = asyncio.ensure_future(self._follow())

    async def current(self) -> Snapshot:
        """Return the snapshot with every change until now in it."""
        wanted = self.wanted
        while self.done < wanted:
            self.changed.clear()
            await self.changed.wait()
        return self.snapshot

    async def _follow(self) -> None:
        worker = self.server.worker
        while self.done < self.wanted or self.snapshot.incomplete:
            await self._quiet()
            wanted = self.wanted
            edited, self.edited = self.edited, set()
            snapshot = await self._analyzed(wanted, edited)
            if snapshot is None:
                self.edited |= edited
                continue
            self.snapshot = snapshot
            self.done = wanted
            paths = [path for path in edited if path is not None]
            self.recent = [*(path for path in self.recent if path not in paths), *paths][-RECENT:]
            self.changed.set()
            self.server.tell(self.project, snapshot)
            if snapshot.incomplete:
                await worker.do(gc.collect)
                continue
            # Prepare for the next keystroke, while there is none.
            for path in reversed(self.recent):
                if self.wanted == wanted:
                    with contextlib.suppress(Exception):
                        await worker.do(partial(self.project.validate_partial_check, path))
            await worker.do(collect_and_freeze)

    async def _quiet(self) -> None:
        """Wait for a pause in the typing, within limits."""
        until = time.monotonic() + LONGEST
        before = -1
        pause = QUIET if self.done < self.wanted else SETTLED
        while before != self.wanted and time.monotonic() < until:
            before = self.wanted
            await asyncio.sleep(pause)
            pause = QUIET

    async def _analyzed(self, wanted: int, edited: Collection[str | None]) -> Snapshot | None:
        """Return the result; None where something has changed meanwhile."""
        if not self.server.watched and time.monotonic() - self.looked > UNWATCHED:
            self.looked = time.monotonic()
            self.first.append(self.project.look_again)
        unsaved = self.server.unsaved_of(self.project)
        first, self.first = self.first, []
        # The one file that was edited since all findings were those of the newest text comes first.
        since = {*edited, *([self.recent[-1]] if self.snapshot.incomplete else [])}
        urgent = since.pop() if edited and len(since) == 1 else None

        def work() -> Snapshot | None:
            for action in first:
                action()
            self.project.superseded = lambda: self.wanted != wanted
            return self.project.analyze(unsaved, urgent)

        try:
            return await self.server.worker.do(work)
        except ConfigError as error:
            return self.snapshot._replace(messages=(str(error),), incomplete=False)
        except Exception as error:  # whatever it is, the server goes on
            return Snapshot(messages=(f"internal error: {describe(error)}",))


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
        self.watched = False  # the client says when a file changes on the disk
        self.scheduled: dict[str, Scheduled] = {}  # by the root of the project
        self.refreshed: dict[str, dict[str, str]] = {}  # results that the client was told of
        self._said: set[str] = set()
        self._roots: dict[str, str] = {}  # the projects of workspace folders

    @property
    def documents(self) -> Documents:
        return Documents(self.workspace)

    @property
    def units(self) -> Units:
        return units_of(self.workspace.position_encoding)

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
            project = ServerProject(root, self.settings)
            scheduled = self.scheduled[root] = Scheduled(self, project)
            scheduled.change()
        return scheduled

    def every_folder(self) -> list[Scheduled]:
        return [self.scheduled_of(os.path.join(folder, "")) for folder in self.documents.folders()]

    # Changes

    def change(self, uri: str) -> None:
        """Note that a document was opened, edited or closed."""
        place = self.documents.place(uri)
        if place is not None:
            self.scheduled_of(place.path).change(edited=place.path)

    def configure(self) -> None:
        """Analyze everything again, under the current settings."""
        for scheduled in self.scheduled.values():
            scheduled.change(partial(scheduled.project.configure, self.settings))

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

    def unsaved_of(self, project: ServerProject) -> Mapping[str, bytes]:
        unsaved = self.documents.unsaved()
        return {path: data for path, data in unsaved.items() if self.root_of(path) == project.root}

    # Answers

    async def document(self, uri: str) -> Document | None:
        """Return an open document with every change until now analyzed."""
        place = self.documents.place(uri)
        if place is None:
            return None
        scheduled = self.scheduled_of(place.path)
        return Document(place, scheduled.project, await scheduled.current())

    def tell(self, project: ServerProject, snapshot: Snapshot) -> None:
        """Show each message until there is none, and give the listener the snapshot."""
        for message in snapshot.messages:
            if message not in self._said:
                self._said.add(message)
                self.show_error(message)
        if not snapshot.messages:
            self._said.clear()
        self._listener(self, project, snapshot)

    def show_error(self, message: str) -> None:
        params = types.ShowMessageParams(types.MessageType.Error, f"tpulint: {message}")
        self.window_show_message(params)
