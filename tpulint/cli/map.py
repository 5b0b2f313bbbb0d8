"""`tpulint map`: from PATH[:FUNCTION] to the picture of a program."""

from __future__ import annotations

import argparse
import os
import re
import sys

from tpulint.cli.report import colored, print_messages
from tpulint.cli.request import request_of_file
from tpulint.cli.writing import out, write_file

FUNCTION = re.compile(r"(.+):([A-Za-z_][\w.]*)")


def draw(options: argparse.Namespace) -> int:
    """Write the map of a file, or of one of its functions."""
    from tpulint.map.draw import draw
    from tpulint.map.pictures import load
    from tpulint.output.context import RenderContext

    path, function = split(options.place)
    request = request_of_file("map", options, path)
    found = draw(request, function)
    print_messages(found.messages)
    context = RenderContext(os.getcwd(), found.sources, color=colored(options), width=width())
    written = load(options.output_format)(found.program, context)
    if options.output_file is not None:
        write_file(options.output_file, written.encode("utf-8", "surrogateescape"))
    else:
        out(written, sys.stdout)
    return 0


def split(place: str) -> tuple[str, str | None]:
    """Return the path and the function of PATH or PATH:FUNCTION; a path that exists is one."""
    match = None if os.path.lexists(place) else FUNCTION.fullmatch(place)
    return (match[1], match[2]) if match else (place, None)


def width() -> int:
    """The columns of the terminal, within what can be read."""
    from tpulint.cli.parser import columns

    return min(max(columns() + 2, 60), 140) if sys.stdout.isatty() else 100
