"""Every command of docs/run.md is run, and prints what is shown below it."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.installed import ROOT, entry_points

PAGE = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```console\n\$ (.+)\n((?:.*\n)*?)```$", PAGE, re.MULTILINE)
FILES = re.findall(r"^```python\n# (\S+)\n((?:.*\n)*?)```$", PAGE, re.MULTILINE)
PROGRAMS = {"tpulint": "tpulint", "pytest": "pytest"}
# What TensorFlow's C++ says of this machine before a program can keep it from it.
NOISE = re.compile(r"[IWE]\d{4} |WARNING: All log messages before absl|To enable the following")
SECONDS = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the examples and the files of the page."""
    made = tmp_path_factory.mktemp("page")
    shutil.copytree(ROOT / "examples", made / "examples")
    for name, text in FILES:
        (made / name).write_text(text, encoding="utf-8")
    entry_points(made / "installed")
    return made


@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=[each for each, _ in COMMANDS])
def test_the_command_prints_what_the_page_says(command: str, expected: str, folder: Path) -> None:
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", PROGRAMS[program], *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "installed")]),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PYTHONWARNINGS": "ignore",
            "PYTHONUNBUFFERED": "1",  # the page shows a terminal
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    printed = "".join(kept(done.stdout))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(expected, printed, flags), printed


def kept(printed: str) -> Iterator[str]:
    return (line for line in printed.splitlines(keepends=True) if not NOISE.match(line))


def test_the_page_that_was_asked_for_needs_nothing_else(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "host cluster 0" in page
    assert "100 steps" in page
    assert not re.search(r"<script|<link|src=|@import", page)


def test_the_page_has_commands_for_both() -> None:
    assert {shlex.split(command)[0] for command, _ in COMMANDS} == set(PROGRAMS)
    assert len(COMMANDS) == PAGE.count("```console")
    assert len(FILES) == PAGE.count("```python")
