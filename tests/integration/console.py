"""A page whose console blocks are run by the tests, and what they print."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.integration.installed import ROOT

PROGRAMS = {"tpulint": "tpulint", "pytest": "pytest"}
# The lines that TensorFlow's C++ prints about this machine before a program can keep it from it.
NOISE = re.compile(r"[IWE]\d{4} |WARNING: All log messages before absl|To enable the following")
SECONDS = 240


class Page:
    """A page of docs/: its text, its commands with what they print, and its files."""

    def __init__(self, name: str) -> None:
        self.text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        console = r"^```console\n\$ (.+)\n((?:.*\n)*?)```$"
        self.commands = re.findall(console, self.text, re.MULTILINE)
        self.files = re.findall(r"^```python\n# (\S+)\n((?:.*\n)*?)```$", self.text, re.MULTILINE)

    def laid_out(self, folder: Path) -> Path:
        """Put the examples and the files of the page into `folder`, and return it."""
        shutil.copytree(ROOT / "examples", folder / "examples")
        for name, text in self.files:
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    def is_read_whole(self) -> bool:
        """Return whether no block of the page has a form that is passed over."""
        blocks = self.text.count("```console"), self.text.count("```python")
        return blocks == (len(self.commands), len(self.files))


def printed(command: str, folder: Path, *path: Path) -> str:
    """Return what the command prints in `folder`; modules in `path` can be imported."""
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", PROGRAMS[program], *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *path])),
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
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if not NOISE.match(line))


def assert_same(expected: str, actual: str) -> None:
    """Compare as doctest does: `...` is anything, and white space does not count."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(expected, actual, flags), actual
