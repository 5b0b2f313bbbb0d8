"""Every command of the guides is run, and prints what is shown below it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.console import Page, assert_same, printed
from tests.integration.installed import ROOT

PAGES = {name: Page(name) for name in ("start.md", "adopting.md")}
COMMANDS = [(name, *row) for name, page in PAGES.items() for row in page.commands]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A git repository for each page, with the examples committed, as a clone has them."""
    folders = {}
    for name in PAGES:
        folders[name] = tmp_path_factory.mktemp("guide")
        shutil.copytree(ROOT / "examples", folders[name] / "examples")
        shutil.copy(ROOT / "pyproject.toml", folders[name])  # it says for which TensorFlow they are
        author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "Begin"]):
            subprocess.run(["git", *words], cwd=folders[name], check=True, timeout=60)
    return folders


@pytest.mark.parametrize(
    ("page", "command", "expected"), COMMANDS, ids=[f"{row[0]}: {row[1]}" for row in COMMANDS]
)
def test_the_command_prints_the_output_on_the_page(
    page: str, command: str, expected: str, folders: dict[str, Path]
) -> None:
    assert_same(expected, printed(command, folders[page]))


@pytest.mark.parametrize("name", PAGES)
def test_every_block_of_the_page_is_run(name: str) -> None:
    assert PAGES[name].commands
    assert PAGES[name].is_read_whole()
