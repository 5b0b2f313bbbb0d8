"""Checks the program of the playground; it runs in Pyodide, in a worker of the page."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

from tpulint.cli.main import main

PROGRAM = Path("/program/program.py")
PROGRAM.parent.mkdir(exist_ok=True)
os.chdir(PROGRAM.parent)
ALONE = ["--isolated", "--no-cache", "--no-plugins"]


def check(source: str, columns: int, possible: bool, performance: bool) -> str:
    """Return the report and the picture of a program, as JSON.

    columns: the width of the report. possible: report possible findings too. performance: select
    the rules about performance.
    """
    PROGRAM.write_text(source, encoding="utf-8")
    os.environ["COLUMNS"] = str(columns)
    options = [*(["--performance"] if performance else [])]
    options += ["--certainty", "possible" if possible else "definite"]
    _, report = _printed(["check", *ALONE, *options, PROGRAM.name])
    status, picture = _printed(["map", *ALONE, "--output-format", "svg", PROGRAM.name])
    return json.dumps({"report": report, "picture": picture if status == 0 else ""})


def _printed(arguments: list[str]) -> tuple[int, str]:
    """Return the exit status of a command, and what it prints."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 2
    return status, printed.buffer.getvalue().decode()
