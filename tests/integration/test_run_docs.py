"""Every command of docs/run.md is run, and prints what is shown below it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.integration.console import PROGRAMS, Page, assert_same, printed
from tests.integration.installed import entry_points

PAGE = Page("run.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the examples and the files of the page."""
    folder = PAGE.laid_out(tmp_path_factory.mktemp("page"))
    entry_points(folder / "installed")
    return folder


@pytest.mark.parametrize(
    ("command", "expected"), PAGE.commands, ids=[words for words, _ in PAGE.commands]
)
def test_the_command_prints_the_output_on_the_page(
    command: str, expected: str, folder: Path
) -> None:
    assert_same(expected, printed(command, folder, folder / "installed"))


def test_the_page_that_was_asked_for_needs_nothing_else(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "host cluster 0" in page
    assert "100 steps" in page
    assert not re.search(r"<script|<link|src=|@import", page)


def test_the_page_has_commands_for_both() -> None:
    assert {shlex.split(command)[0] for command, _ in PAGE.commands} == set(PROGRAMS)
    assert PAGE.is_read_whole()
