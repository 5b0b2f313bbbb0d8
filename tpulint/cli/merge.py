"""`tpulint merge`: one report made of those that the shards of a run wrote."""

from __future__ import annotations

import argparse
import sys

from tpulint.cli.writing import out, write_file
from tpulint.config import ConfigError
from tpulint.disk import OWN_FILE_LIMIT_BYTES, read_regular
from tpulint.output.merged import Unmergeable, merged


def merge(options: argparse.Namespace) -> int:
    """Write the merged report; the answer is 1 where it holds findings, as that of a check."""
    texts = [read(path) for path in options.reports]
    try:
        text, findings = merged(texts)
    except Unmergeable as error:
        raise ConfigError(f"merge: {error}") from None
    if options.output_file:
        write_file(options.output_file, text.encode("utf-8", "surrogateescape"))
    else:
        out(text, sys.stdout)
    return 1 if findings and not options.exit_zero else 0


def read(path: str) -> str:
    """Return the text of a report. Raises ConfigError where it cannot be read."""
    try:
        return read_regular(path, OWN_FILE_LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise ConfigError(f"merge: {path}: cannot be read: {error.strerror}") from None
