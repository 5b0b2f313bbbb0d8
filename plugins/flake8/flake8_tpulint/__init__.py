"""tpulint as a flake8 plugin: what `tpulint check` says of a file, seen within its project.

flake8 keeps its own word in selection and `# noqa`; the plugin never raises.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tpulint import __version__
from tpulint.check import per_file
from tpulint.config import ConfigError
from tpulint.source import declared_encoding

Row = tuple[int, int, str, type]


class Plugin:
    """The checker that flake8 makes for every file; `lines` are the file as flake8 read it."""

    name = "flake8-tpulint"
    version = __version__

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str = "stdin") -> None:
        self.lines = lines
        self.filename = filename

    def run(self) -> Iterator[Row]:
        """Yield the findings as flake8 wants them: rows from 1, columns from 0."""
        try:
            yield from self.rows()
        except ConfigError as error:
            yield 1, 0, f"TPU000 configuration: {error}", type(self)
        except Exception as error:  # one file's trouble must not end flake8's run
            from tpulint.incremental.model import describe

            yield 1, 0, f"TPU000 internal error: {describe(error)}", type(self)

    def rows(self) -> Iterator[Row]:
        answer = per_file.check(self.filename, self.data())
        for finding in answer.findings:
            start = finding.span.start
            yield start.row, start.column - 1, f"{finding.code} {finding.message}", type(self)
        if answer.failures:
            yield 1, 0, f"TPU000 {'; '.join(map(str, answer.failures))}", type(self)

    def data(self) -> bytes:
        """Return the lines as bytes again, in the encoding that they declare."""
        text = "".join(self.lines)
        return text.encode(declared_encoding(text.encode("utf-8", "surrogateescape")))
