"""tpulint as a flake8 plugin: one file at a time, seen with the modules that it imports.

flake8 keeps its own word in selection and `# noqa`; the plugin never raises.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tpulint import __version__, app
from tpulint.analyse import describe
from tpulint.cache import tag
from tpulint.config import ConfigError, find_config
from tpulint.discover import shown
from tpulint.source import declared_encoding
from tpulint.verdict.select import Layer, selected

Row = tuple[int, int, str, type]


class Plugin:
    """What flake8 makes for every file; `lines` are the file as flake8 has read it."""

    name = "flake8-tpulint"
    version = __version__

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str = "stdin") -> None:
        self.lines = lines
        self.filename = filename

    def run(self) -> Iterator[Row]:
        """The findings as flake8 wants them: rows from 1, columns from 0."""
        try:
            yield from self.rows()
        except ConfigError as error:
            yield 1, 0, f"TPU000 configuration: {error}", type(self)
        except Exception as error:  # one file's trouble must not end flake8's run
            yield 1, 0, f"TPU000 internal error: {describe(error)}", type(self)

    def rows(self) -> Iterator[Row]:
        name = shown(self.filename)
        config = find_config(os.path.dirname(os.path.abspath(name)))
        layer = Layer(config.select, config.extend_select, config.ignore)
        data = self.data()
        request = app.Request(
            replace(config, jobs=1),
            selected([layer]),
            paths=(name,),
            stdin=None if on_disk(name) == data else data,
            stdin_filename=name,
            baseline=config.baseline_path,
            cache=config.cache_path,
            noqa=False,
        )
        run = app.check(*app.prepare(request), {})
        tag(config.cache_path)
        for finding in run.findings:
            start = finding.span.start
            yield start.row, start.column - 1, f"{finding.code} {finding.message}", type(self)
        if run.failed:
            yield 1, 0, f"TPU000 {'; '.join(run.messages)}", type(self)

    def data(self) -> bytes:
        """The lines as bytes again, in the encoding that they declare."""
        text = "".join(self.lines)
        return text.encode(declared_encoding(text.encode("utf-8", "surrogateescape")))


def on_disk(filename: str) -> bytes | None:
    """What the file holds there; flake8 may have read something else, from standard input."""
    try:
        with open(filename, "rb") as file:
            return file.read()
    except OSError:
        return None
