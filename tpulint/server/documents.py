"""Open documents and notebooks as bytes over the file system, and places in them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
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
    """Return how many units of `encoding` a text takes: UTF-16's where none was agreed on.

    A text may have half of a character, which pygls' own codec cannot count in UTF-8.
    """
    if encoding == types.PositionEncodingKind.Utf8:
        return lambda text: len(text.encode("utf-8", "surrogatepass"))
    if encoding == types.PositionEncodingKind.Utf32:
        return len
    return lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2


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
        end = types.Position(span.end.row - span.start.row + start.line, 0)
    return types.Range(start, max(start, end))


def meet(first: types.Range, other: types.Range) -> bool:
    """Return whether the ranges overlap or touch."""
    return first.start <= other.end and other.start <= first.end


# Open documents: their text as bytes over the file system, and which file each of them is.


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
            numbers = {cell.document: number for number, cell in enumerate(notebook.cells, 1)}
            return DocumentPlace(path, numbers.get(uri)) if path else None
        path = self.path(uri)
        return DocumentPlace(path) if path and self._is_python(uri, path) else None

    def _is_python(self, uri: str, path: str) -> bool:
        if path.endswith(SUFFIXES):
            return True
        return self._workspace.get_text_document(uri).language_id == "python"

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
                data_by_path[path] = notebook_bytes(notebook, self._texts())
        return data_by_path

    def _texts(self) -> dict[str, TextDocument]:
        return {document.uri: document for document in self._workspace.text_documents.values()}

    def open(self) -> list[tuple[str, DocumentPlace]]:
        """Return the URI and the place of every open document, cells included."""
        return [(uri, place) for uri in self._texts() if (place := self.place(uri)) is not None]

    def uri(self, path: str, cell: int | None = None) -> str:
        """Return the URI of a file or of a notebook's cell, as the client spells it."""
        on_disk: str = from_fs_path(path) or ""
        if cell is None:
            return next((uri for uri in self._texts() if self.path(uri) == path), on_disk)
        for notebook in self._workspace.notebook_documents.values():
            if self.path(notebook.uri) == path and 0 < cell <= len(notebook.cells):
                return str(notebook.cells[cell - 1].document)
        return on_disk

    def version(self, uri: str) -> int | None:
        document = self._texts().get(uri)
        return document.version if document is not None else None


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


def notebook_bytes(
    notebook: types.NotebookDocument, documents: Mapping[str, TextDocument]
) -> bytes:
    """Return the notebook as Jupyter would write its sources; a client sends Python's only."""
    cells: list[dict[str, object]] = []
    for cell in notebook.cells:
        if cell.kind == types.NotebookCellKind.Code:
            source = documents[cell.document].source if cell.document in documents else ""
            cells.append({"cell_type": "code", "source": source, "metadata": {}, "outputs": []})
        else:
            cells.append({"cell_type": "markdown", "source": "", "metadata": {}})
    written = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(written).encode()
