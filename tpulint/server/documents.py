"""Open documents and notebooks as bytes over the file system, and places in them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path, uri_scheme
from pygls.workspace import TextDocument, Workspace

from tpulint.check.discover import SUFFIXES
from tpulint.finding import Location, Span
from tpulint.source import Source, UnreadableSource, declared_encoding

# Rows and columns of findings as positions of the protocol, and files as URIs.

Units = Callable[[str], int]  # the length of a text in the agreed encoding


def units_of(encoding: types.PositionEncodingKind | str | None) -> Units:
    """Return how many units of `encoding` a text takes: UTF-16's where none was agreed on."""
    if encoding == types.PositionEncodingKind.Utf8:
        return lambda text: len(text.encode("utf-8", "surrogatepass"))
    if encoding == types.PositionEncodingKind.Utf32:
        return len
    return lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return from_fs_path(path) or ""


def path_of(span: Span) -> str:
    """Return the absolute path of the file that the span is in."""
    return os.path.abspath(span.filename)


def position_in(source: Source | None, place: Location, units: Units) -> types.Position:
    """Return the position in the document: the file, or the cell of a notebook."""
    if source is None:
        return types.Position(place.row - 1, place.column - 1)
    _, row = source.place(place.row)
    return types.Position(row - 1, units(source.line(place.row)[: place.column - 1]))


def range_in(source: Source | None, span: Span, units: Units) -> types.Range:
    """Return the range in the document that the span begins in."""
    start = position_in(source, span.start, units)
    end = position_in(source, span.end, units)
    # A cell's last row ends where the next cell begins.
    if source is not None and source.cells and span.end.column == 1 < span.end.row:
        line = span.end.row - span.start.row + start.line
        end = types.Position(line, 0)
    return types.Range(
        start, max(start, end, key=lambda position: (position.line, position.character))
    )


def meet(first: types.Range, other: types.Range) -> bool:
    """Return whether the ranges overlap or touch."""
    return key(first.start) <= key(other.end) and key(other.start) <= key(first.end)


def key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


# Open documents: their text as bytes over the file system, and which file each of them is.

PYTHON = "python"


class DocumentPlace(NamedTuple):
    """The file (absolute) that a document is of; `cell` is its number in a notebook."""

    path: str
    cell: int | None = None


class Documents:
    """The documents of the client's workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def place(self, uri: str) -> DocumentPlace | None:
        """Return the file that a document is of; None where tpulint has nothing to do with it."""
        notebook = self._workspace.get_notebook_document(cell_uri=uri)
        if notebook is not None:
            path = self.path(notebook.uri)
            return DocumentPlace(path, cell_number(notebook, uri)) if path else None
        path = self.path(uri)
        return DocumentPlace(path) if path and self._is_python(uri, path) else None

    def _is_python(self, uri: str, path: str) -> bool:
        document = self._workspace.get_text_document(uri)
        return path.endswith(SUFFIXES) or document.language_id == PYTHON

    def path(self, uri: str) -> str | None:
        """Return the absolute path of a URI; an unsaved file is one of the first folder."""
        if uri_scheme(uri) == "untitled":
            folder = next(self.folders(), None)
            name = os.path.basename(uri.partition(":")[2])
            suffix = "" if name.endswith(SUFFIXES) else ".py"
            return os.path.join(folder, f"{name}{suffix}") if folder and name else None
        path = to_fs_path(uri)
        return os.path.abspath(path) if path else None

    def folders(self) -> Iterator[str]:
        """Yield the folders of the workspace, in the client's order."""
        roots = [folder.uri for folder in self._workspace.folders.values()]
        roots = roots or ([self._workspace.root_uri] if self._workspace.root_uri else [])
        for uri in roots:
            path = to_fs_path(uri)
            if path:
                yield os.path.abspath(path)

    def unsaved(self) -> dict[str, bytes]:
        """Return the bytes of every open document, by absolute path."""
        data_by_path: dict[str, bytes] = {}
        for uri, document in self._texts().items():
            place = self.place(uri)
            if place is not None and place.cell is None:
                data_by_path[place.path] = encoded(document.source)
        for notebook in self._workspace.notebook_documents.values():
            path = self.path(notebook.uri)
            if path is not None:
                data_by_path[path] = notebook_bytes(notebook, self._text)
        return data_by_path

    def _text(self, uri: str) -> str:
        """Return the text of a cell; a client sends those in Python only."""
        document = self._texts().get(uri)
        return document.source if document is not None else ""

    def _texts(self) -> dict[str, TextDocument]:
        return {document.uri: document for document in self._workspace.text_documents.values()}

    def open(self) -> list[tuple[str, DocumentPlace]]:
        """Return the URI and the place of every open document, cells included."""
        return [(uri, place) for uri in self._texts() if (place := self.place(uri)) is not None]

    def uri(self, path: str, cell: int | None = None) -> str:
        """Return the URI of a file or of a notebook's cell, as the client spells it."""
        if cell is not None:
            for notebook in self._workspace.notebook_documents.values():
                if self.path(notebook.uri) == path:
                    return cell_uri(notebook, cell) or uri_of(path)
            return uri_of(path)
        return next((uri for uri in self._texts() if self.path(uri) == path), uri_of(path))

    def version(self, uri: str) -> int | None:
        """Return the version of an open document."""
        document = self._texts().get(uri)
        return document.version if document is not None else None

    def edits(self, uri: str, edits: list[types.TextEdit]) -> types.TextDocumentEdit:
        """Return the edits of one document, bound to the version that they were made for."""
        named = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=self.version(uri))
        return types.TextDocumentEdit(text_document=named, edits=list(edits))


def encoded(text: str) -> bytes:
    """Return the text as the bytes of a file, in the encoding that it claims."""
    data = text.encode("utf-8", "replace")
    try:
        encoding = declared_encoding(data)
        return text.encode(encoding)
    except (UnreadableSource, UnicodeEncodeError):
        return data


# Notebooks of the client: their cells as one file's bytes, and which document each cell is.

SYNC = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook", cells=[types.NotebookCellLanguage(language="python")]
        )
    ]
)


def notebook_bytes(notebook: types.NotebookDocument, text: Callable[[str], str]) -> bytes:
    """Return the notebook as Jupyter would write its sources; `text` is a cell document's."""
    cells = [
        {"cell_type": "code", "source": text(cell.document), "metadata": {}, "outputs": []}
        if cell.kind == types.NotebookCellKind.Code
        else {"cell_type": "markdown", "source": "", "metadata": {}}
        for cell in notebook.cells
    ]
    written = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(written).encode()


def cell_uri(notebook: types.NotebookDocument, number: int) -> str | None:
    """Return the document of the cell with this number, 1-based over all cells."""
    if 0 < number <= len(notebook.cells):
        return notebook.cells[number - 1].document
    return None


def cell_number(notebook: types.NotebookDocument, uri: str) -> int | None:
    """Return the number of the cell that the document at `uri` is."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.document == uri:
            return number
    return None
