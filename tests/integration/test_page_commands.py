"""Every command of docs/explain.md and docs/map.md is run, and prints the output below it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.console import Page, assert_same, printed
from tests.integration.installed import ROOT

PAGES = {name: Page(f"{name}.md") for name in ("explain", "map")}
COMMANDS = [
    pytest.param(name, command, expected, id=f"{name}: {command}")
    for name, page in PAGES.items()
    for command, expected in page.commands
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Directories with the examples, and one of them with the files of explain.md."""
    plain = tmp_path_factory.mktemp("page")
    shutil.copytree(ROOT / "examples", plain / "examples")
    return {"explain": PAGES["explain"].laid_out(tmp_path_factory.mktemp("page")), "map": plain}


@pytest.mark.parametrize(("page", "command", "expected"), COMMANDS)
def test_the_command_prints_the_output_on_the_page(
    page: str, command: str, expected: str, folders: dict[str, Path]
) -> None:
    assert_same(expected, printed(command, folders[page]))


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_the_page_is_run(page: str) -> None:
    assert PAGES[page].commands
    assert PAGES[page].is_read_whole()
