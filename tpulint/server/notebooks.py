"""Notebooks of the client: their cells as one file's bytes, and which document each cell is."""

from __future__ import annotations

import json
from collections.abc import Callable

from lsprotocol import types

SYNC = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook",
            cells=[types.NotebookCellLanguage(language="python")],
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
