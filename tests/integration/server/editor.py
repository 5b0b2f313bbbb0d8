"""An editor: pytest-lsp's client around a real `tpulint server`, everything bounded in time."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

ROOT = Path(__file__).parents[3]
DEADLINE = 120.0  # seconds, of every wait
COMMAND = [sys.executable, "-m", "tpulint", "server"]
Result = TypeVar("Result")


def run(scenario: Callable[[], Awaitable[Result]]) -> Result:
    """Play a scenario; one that takes too long is an error."""

    async def bounded() -> Result:
        return await asyncio.wait_for(scenario(), 2 * DEADLINE)

    return asyncio.run(bounded())


class Editor:
    """A client with its documents by path."""

    def __init__(self, client: LanguageClient, process: asyncio.subprocess.Process) -> None:
        self.client = client
        self.process = process
        self.versions: dict[str, int] = {}
        self.encoding = "utf-16"

    def open(self, path: Path | str, text: str | None = None, language: str = "python") -> str:
        """Open a file, with its own text or with another; the answer is its URI."""
        uri = path.as_uri() if isinstance(path, Path) else path
        if text is None:
            text = Path(path).read_text(encoding="utf-8")
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def edit(self, uri: str, text: str, where: types.Range | None = None) -> None:
        """Replace the whole text, or a range of it."""
        self.versions[uri] += 1
        change: types.TextDocumentContentChangeEvent = (
            types.TextDocumentContentChangeWholeDocument(text)
            if where is None
            else types.TextDocumentContentChangePartial(range=where, text=text)
        )
        named = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [change]))

    async def pull(self, uri: str, before: str | None = None) -> Any:
        return await self.asked(
            self.client.text_document_diagnostic_async(
                types.DocumentDiagnosticParams(named(uri), previous_result_id=before)
            )
        )

    async def found(self, uri: str) -> list[tuple[str, int]]:
        """The codes and rows (1-based) of what the server answers for a document."""
        return codes((await self.pull(uri)).items)

    async def pushed(
        self, uri: str, expected: Callable[[Sequence[types.Diagnostic]], bool]
    ) -> Sequence[types.Diagnostic]:
        """Wait until what was pushed for a document is as expected."""
        await self.until(
            lambda: uri in self.client.diagnostics and expected(self.client.diagnostics[uri])
        )
        return self.client.diagnostics[uri]

    async def until(self, done: Callable[[], object]) -> None:
        """Wait for something that the server brings about."""
        until = time.monotonic() + DEADLINE
        while not done():
            assert time.monotonic() < until, self.client.diagnostics
            await asyncio.sleep(0.01)

    async def actions(
        self, uri: str, where: types.Range, only: Sequence[str] | None = None
    ) -> Sequence[types.CodeAction]:
        context = types.CodeActionContext(diagnostics=[], only=only)
        actual = await self.asked(
            self.client.text_document_code_action_async(
                types.CodeActionParams(named(uri), where, context)
            )
        )
        return [item for item in actual or () if isinstance(item, types.CodeAction)]

    async def hover(self, uri: str, row: int, column: int) -> str | None:
        position = types.Position(row - 1, column - 1)
        actual = await self.asked(
            self.client.text_document_hover_async(types.HoverParams(named(uri), position))
        )
        if actual is None:
            return None
        assert isinstance(actual.contents, types.MarkupContent)
        return actual.contents.value

    async def asked(self, answer: Awaitable[Result]) -> Result:
        return await asyncio.wait_for(answer, DEADLINE)

    def touched(
        self, *paths: Path, how: types.FileChangeType = types.FileChangeType.Changed
    ) -> None:
        """Say that files on the disk have changed."""
        events = [types.FileEvent(path.as_uri(), how) for path in paths]
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(events))

    async def status(self) -> int:
        """The exit status of the server, once it has ended."""
        return await asyncio.wait_for(self.process.wait(), DEADLINE)


def codes(diagnostics: Sequence[types.Diagnostic]) -> list[tuple[str, int]]:
    return [(str(item.code), item.range.start.line + 1) for item in diagnostics]


def text_at(text: str, where: types.Range, encoding: str) -> str:
    """The text of a range of one line, whose columns count units of the encoding."""
    assert where.start.line == where.end.line
    unit = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    name = encoding if unit == 1 else f"{encoding}-le"
    line = text.splitlines()[where.start.line].encode(name)
    return line[where.start.character * unit : where.end.character * unit].decode(name)


def named(uri: str) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(uri)


def spot(text: str, words: str) -> types.Range:
    """The range of the first occurrence of some words."""
    return range_at(text, text.index(words), len(words))


def last(text: str, words: str) -> types.Range:
    """The range of the last occurrence of some words."""
    return range_at(text, text.rindex(words), len(words))


def range_at(text: str, start: int, length: int) -> types.Range:
    line = text.count("\n", 0, start)
    column = start - (text.rfind("\n", 0, start) + 1)
    return types.Range(types.Position(line, column), types.Position(line, column + length))


@asynccontextmanager
async def editor(
    *folders: Path,
    kind: str = "neovim",
    options: Mapping[str, object] | None = None,
    watches: bool = False,
    path: Sequence[Path] = (),
) -> AsyncIterator[Editor]:
    """Start a server, as the newest editor of a kind does; it must end well.

    `watches`: it says which files change on the disk, and can be asked to pull again. `path`: where
    the server finds packages, beside this checkout.
    """
    capabilities = client_capabilities(kind)
    if watches:
        assert capabilities.workspace is not None
        capabilities.workspace.did_change_watched_files = (
            types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
        )
        capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(
            refresh_support=True
        )
    client = make_test_lsp_client()
    registered: list[types.RegistrationParams] = []
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(
        lambda registration: registered.append(registration)
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *path)))}
    await client.start_io(*COMMAND, env=environment)
    process = client._server
    assert process is not None
    opened = Editor(client, process)
    try:
        answer = await opened.asked(
            client.initialize_session(
                types.InitializeParams(
                    capabilities=capabilities,
                    workspace_folders=[
                        types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders
                    ],
                    initialization_options=dict(options or {}),
                )
            )
        )
        opened.encoding = str(answer.capabilities.position_encoding or "utf-16")
        while watches and not registered:
            await asyncio.sleep(0.01)
        yield opened
        await opened.asked(client.shutdown_session())
        assert await opened.status() == 0
        assert client.error is None
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.wait_for(client.stop(), DEADLINE)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write a project."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def notebook(*cells: str) -> str:
    """A notebook as Jupyter writes it."""
    listed = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": text.splitlines(True)}
        for text in cells
    ]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def order_of(place: types.Position) -> tuple[int, int]:
    return place.line, place.character


def applied(text: str, edit: types.WorkspaceEdit | None, uri: str) -> str:
    """The text of a document after an edit; what is in it must be ASCII."""
    assert edit is not None
    if edit.document_changes is not None:
        edits = [
            text_edit
            for change in edit.document_changes
            if isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri
            for text_edit in change.edits
        ]
    else:
        edits = list((edit.changes or {})[uri])
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
    for text_edit in sorted(
        edits, key=lambda text_edit: order_of(text_edit.range.start), reverse=True
    ):
        assert isinstance(text_edit, types.TextEdit)
        start = starts[text_edit.range.start.line] + text_edit.range.start.character
        end = starts[text_edit.range.end.line] + text_edit.range.end.character
        text = text[:start] + text_edit.new_text + text[end:]
    return text
