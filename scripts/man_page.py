"""The manual page, docs/tpulint.1, from the parsers of the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tpulint import __version__  # noqa: E402  (the checkout comes first)
from tpulint.cli.options import parser  # noqa: E402

ABOUT = """\
.SH EXIT STATUS
.TP
0
no findings
.TP
1
findings
.TP
2
wrong usage, or something was not checked
.TP
130
interrupted
.SH ENVIRONMENT
.TP
TPULINT_OUTPUT_FORMAT
the default of \\-\\-output\\-format
.TP
TPULINT_CACHE_DIR
the directory or the URL of the cache
.TP
NO_COLOR, FORCE_COLOR, FORCE_HYPERLINK
turn colors off, and colors or links on
.SH FILES
tpulint.toml and pyproject.toml hold the configuration, whose keys
.B tpulint config
explains.
.SH SEE ALSO
https://github.com/tpulint/tpulint
"""


def man_page() -> str:
    """Return the page in the macros of man(7)."""
    lines = [f'.TH TPULINT 1 "" "tpulint {__version__}"', ".SH NAME"]
    lines += ["tpulint \\- find the faults between TPU device and host code", ".SH SYNOPSIS"]
    lines += [".B tpulint", ".I COMMAND", "[OPTIONS]", ".SH COMMANDS"]
    for name, command in parser().commands().items():
        lines += [f".SS tpulint {escaped(name)}", escaped(command.description or "")]
        for action in command.actions():
            if action.dest != "help":
                lines += entry(action)
    return "\n".join(lines) + "\n" + ABOUT


def entry(action: argparse.Action) -> list[str]:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    if action.nargs == 0:
        value = ""
    words = ", ".join(action.option_strings)
    term = f"\\fB{escaped(words)}\\fR" if words else ""
    term += f" \\fI{escaped(str(value))}\\fR" if words and value else ""
    return [
        ".TP",
        term or f"\\fI{escaped(str(value or action.dest))}\\fR",
        escaped(action.help or ""),
    ]


def escaped(text: str) -> str:
    """Return text that man shows as it is."""
    shown = " ".join(text.replace("%%", "%").replace("\\", "\\e").replace("-", "\\-").split())
    return f"\\&{shown}" if shown[:1] in (".", "'") else shown
