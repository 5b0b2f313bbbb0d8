"""The ```console blocks of the rules' pages: commands, and the output that they have.

Such a block belongs to the ```python block before it. A line `$ tpulint check ...` is a command,
run where the files of that program are; the lines below are its whole output. So a page asserts
the message, the range, the trace and, by `--diff`, the fix of an alarm. `scripts/pages.py --update`
writes the outputs, and adds the block where a page has none.
"""

from __future__ import annotations

import io
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tpulint.cli.main import main
from tpulint.codes import CODES
from tpulint.finding import Applicability
from tpulint.testing import Block, Page, fences, findings, write

PROMPT = "$ tpulint "
CHECK = "check"
POSSIBLE = " --certainty possible"
DIFF = " --diff"
UNSAFE = " --unsafe-fixes"


@dataclass(frozen=True)
class Console:
    """One block: `line` is where its fence opens, `program` the program that its commands check."""

    line: int
    program: Block
    text: str

    @property
    def commands(self) -> list[str]:
        lines = self.text.splitlines()
        return [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]

    def output(self) -> str:
        """Return the text that the block should have: each command with its output."""
        return transcript(self.program, self.commands)


def consoles(page: Page) -> list[Console]:
    """The ```console blocks of `page`, each with the program that it belongs to."""
    lines = page.path.read_text(encoding="utf-8").splitlines()
    programs = {block.line: block for block in page.blocks}
    actual: list[Console] = []
    last: Block | None = None
    for line, info, body in fences(page.path, lines):
        last = programs.get(line, last)
        if info == "console":
            if last is None:
                raise ValueError(f"{page.path.name}:{line}: no program is before the block")
            actual.append(Console(line, last, "\n".join(body)))
    return actual


def missing(page: Page) -> list[tuple[Block, list[str]]]:
    """Return the programs of `page` below which an output is needed, with its commands.

    Needed are the finding of an alarm, and the edit of a fix where an alarm has one.
    """
    shown = [command for console in consoles(page) for command in console.commands]
    alarms = [block for block in page.blocks if page.code in _codes(block)]
    if not alarms:
        raise ValueError(f"{page.path.name}: no line is marked with {page.code}")
    needed: list[tuple[Block, list[str]]] = []
    if not any(DIFF not in command for command in shown):
        needed.append((alarms[0], [CHECK + _certainty(page.code, alarms[0])]))
    if CODES[page.code].fixes and not any(DIFF in command for command in shown):
        fixed = [text for block in alarms if (text := _fixed(page.code, block))]
        if not fixed:
            raise ValueError(f"{page.path.name}: no alarm has a fix, and {page.code} has one")
        block, options = fixed[0]
        command = CHECK + _certainty(page.code, block) + DIFF + options
        if needed and needed[0][0] == block:
            needed[0][1].append(command)
        else:
            needed.append((block, [command]))
    return needed


def transcript(program: Block, commands: list[str]) -> str:
    """Return each command with what it prints in a folder of the files of `program`."""
    with tempfile.TemporaryDirectory() as folder:
        write(program, Path(folder))
        with _working_in(folder):
            parts = [f"{PROMPT}{command}\n{_printed(command)}" for command in commands]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts).rstrip("\n")


def _printed(command: str) -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(out), redirect_stderr(out):
        main([*shlex.split(command), "--no-cache", "--color", "never"])
    out.seek(0)
    return out.read()


@contextmanager
def _working_in(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        with patch.dict(os.environ, {"COLUMNS": "100"}):
            yield
    finally:
        os.chdir(before)


def _codes(block: Block) -> set[str]:
    return {mark.code for mark in block.expected}


def _certainty(code: str, block: Block) -> str:
    """Return the option without which the findings of `code` in `block` are not shown."""
    certainties = {mark.certainty for mark in block.expected if mark.code == code}
    return "" if "definite" in certainties else POSSIBLE


def _fixed(code: str, block: Block) -> tuple[Block, str] | None:
    """Return `block` and the options that show the fix of a finding of `code`, or None."""
    with tempfile.TemporaryDirectory() as folder:
        fixes = [finding.fix for finding in findings(block, Path(folder)) if finding.code == code]
    for fix in fixes:
        if fix is not None:
            return block, "" if fix.applicability is Applicability.SAFE else UNSAFE
    return None
