"""Programs as the tests of one file, for `pytest --tpulint-emulate 2`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import programs
import pytest

FOLDER = Path(os.environ["ORDINARY_FOLDER"])
NAMES = os.environ["ORDINARY_NAMES"].split()


@pytest.fixture(scope="session")
def transcripts() -> Iterator[dict[str, list[str]]]:
    """Collect the transcripts, and write them as JSON at the end."""
    programs.keep_tensorflow_from_the_collector()
    transcripts: dict[str, list[str]] = {}
    yield transcripts
    written = json.dumps(transcripts, indent=1)
    Path(os.environ["ORDINARY_TRANSCRIPTS"]).write_text(written, encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_runs(name: str, transcripts: dict[str, list[str]]) -> None:
    transcript = programs.transcript_of(FOLDER / f"{name}.py")
    assert transcript
    transcripts[name] = transcript
