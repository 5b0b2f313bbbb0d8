"""Images in notebooks are not searched: half of the bytes of notebooks are images."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tpulint.analysis.options import Settings
from tpulint.notebook_images import without_images
from tpulint.pipeline import prefilter
from tpulint.pipeline.file_signs import FileSigns

IMAGE = "iVBORw0KGgoTPU+/8A\nAAEl=\n"


def notebook(image: str | list[str], indent: int | None = 1) -> bytes:
    """Return the bytes of a notebook with this image in an output."""
    output = {"data": {"image/png": image, "text/plain": ["<Figure>"]}, "output_type": "display"}
    cell = {"cell_type": "code", "source": ["import tensorflow as tf\n"], "outputs": [output]}
    return json.dumps({"cells": [cell], "nbformat": 4}, indent=indent).encode()


@pytest.mark.parametrize("indent", [None, 1])
def test_only_images_are_left_out(indent: int | None) -> None:
    assert without_images(notebook(IMAGE, indent)) == notebook("", indent)


@pytest.mark.parametrize("other", ["a tpu.rewrite(", ["iVBORw0KGgo="]])
def test_what_is_no_base64_stays(other: str | list[str]) -> None:
    assert without_images(notebook(other)) == notebook(other)


@pytest.mark.parametrize(
    ("filename", "searched"), [("a.ipynb", notebook("")), ("a.py", notebook(IMAGE))]
)
def test_notebooks_are_searched_without_them(
    filename: str, searched: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def signs_in(data: bytes, *_: Any) -> FileSigns:
        found.append(data)
        return FileSigns()

    monkeypatch.setattr(prefilter, "signs_in", signs_in)
    prefilter.prefilter([filename], {filename: notebook(IMAGE)}, Settings())
    assert found == [searched]
