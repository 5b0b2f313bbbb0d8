"""The bytes of a file as Python text, with the way back to lines, cells and bytes.

A notebook's code cells are joined into one module; IPython's own lines become
`pass  # magic: ...`, so that every row of a cell stays a row of the text. So do those of a
script that was exported from a notebook.
"""

from __future__ import annotations

import functools
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tpulint.disk import UnreadableSource as UnreadableSource
from tpulint.disk import read_regular

COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
LINE_END = re.compile(r"\r\n|\r|\n")


class _File(NamedTuple):
    filename: str
    data: bytes
    text: str
    cells: tuple[tuple[int, int, int], ...] = ()
    encoding: str = "utf-8"
    problems: tuple[tuple[str, int, int], ...] = ()
    has_stand_ins: bool = False


class Source(_File):
    """One file: `data` as it lies on disk, `text` as Python reads it (newlines as they are).

    `cells` holds a notebook's (cell number, first row, last row), 1-based, over all
    cells of the notebook as ruff counts them; it is empty for a plain file. `problems` are
    (reason, row, column) of the cells that are no Python, and are passed over.
    `has_stand_ins`: rows stand in for IPython's own, as in each notebook.
    """

    @functools.cached_property
    def lines(self) -> list[str]:
        """The rows of the text without their line ends; row n is `lines[n - 1]`."""
        return LINE_END.split(self.text)

    def line(self, row: int) -> str:
        """Row `row` as its author wrote it; empty beyond the end."""
        shown = self.lines[row - 1] if 0 < row <= len(self.lines) else ""
        if not self.has_stand_ins:
            return shown
        from tpulint.notebook import restored

        return restored(shown)

    def place(self, row: int) -> tuple[int | None, int]:
        """Return the cell that holds `row` and the row within it; (None, row) in a plain file."""
        for number, first, last in self.cells:
            if first <= row <= last:
                return number, row - first + 1
        return None, row

    def written(self, text: str) -> str:
        """Return `text`, which may be this one with changes, as the author of a script wrote it."""
        if not self.has_stand_ins:
            return text
        from tpulint.notebook import restored_script

        return restored_script(text)

    @property
    def newline(self) -> str:
        r"""The line end that the text uses first; "\n" where it has none."""
        line_end = LINE_END.search(self.text)
        return line_end.group() if line_end else "\n"


def read_source(filename: str, data: bytes | None = None) -> Source:
    """Return the source of `filename`, from `data` where it is given (editors, standard input).

    Raises UnreadableSource for a file that cannot be opened, holds NUL bytes, is not
    in the encoding that it claims (UTF-8 unless a PEP 263 cookie says another), or is
    a notebook whose JSON is broken.
    """
    if data is None:
        try:
            data = read_regular(filename)
        except OSError as error:
            raise UnreadableSource(f"cannot read the file: {error.strerror or error}") from None
    try:
        return _source_of(filename, data)
    except UnreadableSource:
        raise
    except Exception as error:  # a codec may raise anything
        reason = f"{type(error).__name__}: {error}"
        raise UnreadableSource(f"the file cannot be read: {reason}") from None


def _source_of(filename: str, data: bytes) -> Source:
    if filename.endswith(".ipynb"):
        from tpulint.notebook import read_notebook

        text, cells, problems = read_notebook(data)
        return Source(filename, data, text, cells, problems=problems, has_stand_ins=bool(cells))
    if b"\0" in data:
        row = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise UnreadableSource("the file is binary: it holds NUL bytes", row)
    encoding = declared_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        name = encoding.removesuffix("-sig")
        raise UnreadableSource(
            f"the file is not {name}: byte 0x{data[error.start]:02x}", row, column
        ) from None
    from tpulint.notebook import python_script

    python = python_script(text)
    return Source(filename, data, python, (), encoding, has_stand_ins=python != text)


def declared_encoding(data: bytes) -> str:
    """Return the encoding that a byte-order mark or a PEP 263 cookie names, else UTF-8."""
    head = data[:1024].splitlines()[:2]
    if not any(COOKIE.match(line.removeprefix(BOM_UTF8)) for line in head):
        return "utf-8-sig" if data.startswith(BOM_UTF8) else "utf-8"
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        "".encode(encoding)
    except (SyntaxError, LookupError, UnicodeError) as error:
        raise UnreadableSource(f"the file's encoding cannot be used: {error}") from None
    return encoding


def read_all(filenames: Iterable[str], unsaved: Mapping[str, bytes]) -> dict[str, Source]:
    """Return the sources of `filenames` that can be read, each once."""
    sources: dict[str, Source] = {}
    for filename in dict.fromkeys(filenames):
        try:
            sources[filename] = read_source(filename, unsaved.get(filename))
        except UnreadableSource:
            continue
    return sources
