"""The server's state: documents, the projects that they are of, and the schedule."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tpulint import __version__
from tpulint.check.editor import ReadProgram
from tpulint.check.request import project_of
from tpulint.server.documents import SYNC, DocumentPlace, Documents, Units, units_of
from tpulint.server.project import ClientSettings, ServerProject, Snapshot
from tpulint.server.schedule import AnalysisSchedule, Scheduled, Worker
from tpulint.source import Source, UnreadableSource, read_source

T = TypeVar("T")
Listener = Callable[["Server", ServerProject, Snapshot], None]


class Document(NamedTuple):
    """An open document, and the last analysis of its project."""

    uri: str
    place: DocumentPlace
    scheduled: Scheduled
    snapshot: Snapshot


class Server(LanguageServer):
    """The state that all features share.

    listeners: told the result of each analysis. exit_status: 1 until the client shuts it down.
    """

    def __init__(self) -> None:
        super().__init__("tpulint", __version__, notebook_document_sync=SYNC)
        self.settings = ClientSettings()
        self.exit_status = 1
        self.listeners: list[Listener] = []
        self.worker = Worker()
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
        return units_of(self.workspace.position_encoding)

    # The project of a file

    def root_of(self, path: str) -> str:
        """Return the project of a file: the one around its innermost workspace folder.

        A file in none of them is a project by itself: it may be a library's.
        """
        inside = [
            folder
            for folder in self.documents.folders()
            if path.startswith(os.path.join(folder, ""))
        ]
        if inside:
            folder = max(inside, key=len)
            if folder not in self._roots:
                self._roots[folder] = project_of(folder) or folder
            return self._roots[folder]
        return path

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
        snapshot = await self.schedule.current(scheduled)
        return Document(uri, place, scheduled, snapshot)

    async def of_programs(
        self, document: Document, question: Callable[[Sequence[ReadProgram], str], T]
    ) -> T:
        """Return the answer, on the worker's thread, of the programs that read the document."""
        path, project = document.place.path, document.scheduled.project
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
                self._said.add(message)
                self.window_show_message(
                    types.ShowMessageParams(types.MessageType.Error, f"tpulint: {message}")
                )
        if not snapshot.messages:
            self._said.clear()
        for listener in self.listeners:
            listener(self, project, snapshot)
