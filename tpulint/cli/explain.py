"""`tpulint explain`: from PATH[:LINE] to the account of the analysis."""

from __future__ import annotations

import argparse
import os
import re
import sys

from tpulint.cli.request import request_of_file


def explain(options: argparse.Namespace) -> int:
    """Print what the analysis saw."""
    from tpulint.explain.account import explain
    from tpulint.explain.explanation import explanation_json, explanation_text

    path, row = split(options.place)
    request = request_of_file("explain", options, path)
    found = explain(request, row)
    written = explanation_json if options.output_format == "json" else explanation_text
    sys.stdout.write(written(found))
    return 0


def split(place: str) -> tuple[str, int | None]:
    """Return the path and the line of PATH, PATH:LINE or PATH:LINE:COLUMN, as findings have it."""
    match = re.fullmatch(r"(.+?):(\d+)(?::\d+)?:?", place)
    if match is None or os.path.lexists(place):
        return place, None
    return match[1], int(match[2])
