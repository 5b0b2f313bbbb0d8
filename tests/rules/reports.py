"""Reports from the field, and the programs that show what each of them ran into.

A file of `field/` holds a group of reports, each under `## NUMBER REFERENCE, REFERENCE`:
what TensorFlow said, the pattern behind it, and one ```diff block with two programs. The
program at fault is made of the lines that begin with a blank or `-`, its corrected twin of
those that begin with a blank or `+`. Marks as in the rules' pages; the twin is silent. A
report that no rule can see has the line `- silent:` with the reason, and no program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tpulint.testing import Block, split

FIELD = Path(__file__).with_name("field")

_HEAD = re.compile(r"## (\d+) (\S.*)")
_NOTE = re.compile(r"- (said|pattern|silent): (\S.*)")
_MARKS = re.compile(r"\s*# (?:error|possible|unlikely): TPU\d{3}(?:\s*,\s*TPU\d{3})*")


@dataclass(frozen=True)
class Report:
    """One report. `faulty` and `twin` are None where `silent` says why no rule sees it."""

    number: int
    references: tuple[str, ...]
    group: str
    said: str
    pattern: str
    silent: str
    faulty: Block | None
    twin: Block | None

    @property
    def codes(self) -> tuple[str, ...]:
        """The rules that the marks name."""
        marks = self.faulty.expected if self.faulty else set()
        return tuple(sorted({mark.code for mark in marks}))


def reports(folder: Path = FIELD) -> list[Report]:
    """All reports, by number."""
    actual = [report for path in folder.glob("r*.md") for report in read(path)]
    return sorted(actual, key=lambda report: report.number)


def read(path: Path) -> Iterator[Report]:
    """The reports of one group; a malformed one is a `ValueError` that names its line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    group = lines[0].removeprefix("# ").partition(" ")[2]
    heads = [row for row, line in enumerate(lines) if line.startswith("## ")]
    for start, end in zip(heads, [*heads[1:], len(lines)]):
        yield _report(path, group, start, lines[start:end])


def _report(path: Path, group: str, start: int, lines: list[str]) -> Report:
    head = _HEAD.fullmatch(lines[0])
    notes = {note.group(1): note.group(2) for line in lines if (note := _NOTE.fullmatch(line))}
    opened = next((row for row, line in enumerate(lines) if line == "```diff"), None)
    if head is None or not {"said", "pattern"} <= set(notes):
        raise ValueError(f"{path.name}:{start + 1}: the report has no number, said or pattern")
    if (opened is None) != ("silent" in notes):
        raise ValueError(f"{path.name}:{start + 1}: neither a program nor a reason, or both")
    faulty = twin = None
    if opened is not None:
        body = lines[opened + 1 : lines.index("```", opened)]
        name, line = path.name, start + opened + 1
        faulty = Block(name, line, "", "", "", split(_side(body, "-")))
        corrected = [_MARKS.sub("", block) for block in _side(body, "+")]
        twin = Block(name, line, "", "", "", split(corrected))
    references = tuple(head.group(2).split(", "))
    output, pattern, silent = notes["said"], notes["pattern"], notes.get("silent", "")
    return Report(int(head.group(1)), references, group, output, pattern, silent, faulty, twin)


def _side(body: list[str], sign: str) -> list[str]:
    """The lines of one side of the difference."""
    return [line[1:] for line in body if line[:1] in ("", " ", sign)]
