"""Every command of docs/map.md is run, and prints what is shown below it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.console import Page, assert_same, printed
from tests.integration.installed import ROOT

PAGE = Page("map.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the examples."""
    made = tmp_path_factory.mktemp("page")
    shutil.copytree(ROOT / "examples", made / "examples")
    return made


@pytest.mark.parametrize(
    ("command", "expected"), PAGE.commands, ids=[each for each, _ in PAGE.commands]
)
def test_the_command_prints_what_the_page_says(command: str, expected: str, folder: Path) -> None:
    assert_same(expected, printed(command, folder))


def test_every_block_of_the_page_is_run() -> None:
    assert PAGE.commands
    assert PAGE.is_read_whole()
