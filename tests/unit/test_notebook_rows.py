"""The rows of a notebook's cells in its file, however the file is laid out."""

from __future__ import annotations

import json

import pytest

from tpulint.notebook import file_rows

CELLS = [
    {"cell_type": "markdown", "metadata": {"source": ["no\n"]}, "source": ["# x\n", "y"]},
    {"cell_type": "code", "source": ["a = '[\\n\"'\n", "b = {}"], "outputs": [{"text": ["]\n"]}]},
    {"source": "c\nd", "cell_type": "code"},
    {"cell_type": "code", "source": []},
    {"cell_type": "code", "source": ["e\n", "\n", "f\n"]},
]
NOTEBOOK = {"metadata": {"cells": [{"source": ["no"]}]}, "cells": CELLS, "nbformat": 4}


@pytest.mark.parametrize("indent", [None, 1, 4, "\t"])
def test_each_row_is_that_of_its_string(indent: int | str | None) -> None:
    text = json.dumps(NOTEBOOK, indent=indent)
    actual = file_rows(text.encode())
    lines = text.split("\n")
    for number, cell in enumerate(CELLS, 1):
        source = cell["source"]
        strings = [source] if isinstance(source, str) else source
        rows = [row for key, row in actual.items() if key[0] == number]
        assert len(rows) == len("".join(strings).splitlines())
        for row, string in zip(rows, strings):
            assert json.dumps(string) in lines[row - 1]


def test_bytes_that_are_no_json_give_no_rows() -> None:
    for data in (b"", b"\xff", b'{"cells": [', b"]]}}", b'{"cells": 3}', b'{"cells": {"source": "'):
        assert file_rows(data) == {}
