"""Fixes as edits of bytes: encoding, byte-order mark and newlines stay as they are.

Of overlapping fixes the first in the file wins; the rest wait for the next round. A
round whose text no longer parses is taken back fix by fix.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tpulint.finding import Applicability, Change, Edit, Finding, Fix, Location, Span
from tpulint.source import Source

if TYPE_CHECKING:
    from tpulint.diagnostics.source_tree import SourceTree

ROUNDS = 20
WORD = "{}"  # in the message of a fix: the word that its change finds in the file
Check = Callable[[Mapping[str, bytes]], tuple[Sequence[Finding], Mapping[str, Source]]]


def with_edits(fix: Fix, text: str) -> Fix | None:
    """Return the fix with the edits that its changes make in the file's `text`.

    None where the file has no tree, or its text is too unusual for one of the changes.
    """
    if not fix.changes:
        return fix
    from tpulint.diagnostics.source_tree import CHANGES, NamedEdits

    importlib.import_module("tpulint.diagnostics.tree_changes")  # it fills the table
    message, edits = fix.message, dict.fromkeys(fix.edits)
    for change in fix.changes:
        # Each is made of the file as it is, not of what the one before it makes.
        span = Span("", change.start, change.end)
        tree = _tree_for(change, span, text)
        if tree is None:
            return None
        changed = CHANGES[change.function](tree, span, *change.arguments)
        if changed is None:
            return None
        if isinstance(changed, NamedEdits):
            message = message.replace(WORD, changed.word)
            changed = changed.edits
        edits.update(dict.fromkeys(changed))
    return Fix(fix.applicability, message, tuple(edits))


def _tree_for(change: Change, span: Span, text: str) -> SourceTree | None:
    """Return the tree that a change needs: that of the statement around it may do."""
    from tpulint.diagnostics.source_tree import WITHIN_STATEMENTS, statement_around, tree_of

    statement = statement_around(text, span) if change.function in WITHIN_STATEMENTS else None
    tree = None if statement is None else tree_of(statement)
    return tree_of(text) if tree is None else tree


class Fixed:
    """`files` are the new bytes by name, `counts` the fixes in them, `codes` also by code.

    `findings` is what is left.
    """

    def __init__(self) -> None:
        self.findings: Sequence[Finding] = ()
        self.files: dict[str, bytes] = {}
        self.originals: dict[str, Source] = {}
        self.counts: Counter[str] = Counter()
        self.codes: dict[str, Counter[str]] = {}
        self.messages: list[str] = []

    def forget(self, filename: str) -> None:
        """Take back the fixes of a file that could not be written."""
        del self.files[filename], self.counts[filename], self.codes[filename]


def fix_all(check: Check, unsafe: bool) -> Fixed:
    """Fix and check again until nothing more can be fixed, at most ROUNDS times.

    `check` gives the remaining findings when some files hold other bytes than on disk.
    """
    fixed = Fixed()
    for _ in range(ROUNDS):
        fixed.findings, sources = check(fixed.files)
        changed = False
        for filename, chosen in by_file(fixed.findings, unsafe).items():
            source = sources.get(filename)
            if source is None:
                continue
            data, applied = apply(source, list(chosen))
            if not applied:
                fixed.messages.append(f"{filename}: a fix was left out: its result would not parse")
                continue
            fixed.originals.setdefault(filename, source)
            fixed.files[filename] = data
            fixed.counts[filename] += len(applied)
            fixed.codes.setdefault(filename, Counter()).update(chosen[fix] for fix in applied)
            changed = True
        if not changed:
            return fixed
    fixed.findings, _ = check(fixed.files)
    fixed.messages.append(f"fixes did not converge after {ROUNDS} rounds")
    return fixed


def by_file(findings: Iterable[Finding], unsafe: bool) -> dict[str, dict[Fix, str]]:
    """Return the fixes to apply with their codes, by file and in the order of their first edit.

    Of overlapping ones all but the first are left out.
    """
    codes_by_file: dict[str, dict[Fix, str]] = {}
    for finding in findings:
        fix = finding.fix
        if fix and fix.edits and (unsafe or fix.applicability is Applicability.SAFE):
            codes_by_file.setdefault(finding.span.filename, {})[fix] = finding.code
    return {
        filename: {fix: codes[fix] for fix in non_overlapping(codes)}
        for filename, codes in codes_by_file.items()
    }


def non_overlapping(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the fixes that touch nothing that an earlier one touches."""
    taken: list[Edit] = []
    chosen = []
    for fix in sorted(fixes, key=lambda candidate: min(edit.start for edit in candidate.edits)):
        if not any(overlap(edit, other) for edit in fix.edits for other in taken):
            chosen.append(fix)
            taken += fix.edits
    return chosen


def overlap(edit: Edit, other: Edit) -> bool:
    return edit.start == other.start or (edit.start < other.end and other.start < edit.end)


def apply(source: Source, fixes: Sequence[Fix]) -> tuple[bytes, Sequence[Fix]]:
    """Return the file's bytes after `fixes`, and those of them that could be applied."""
    data = edited(source, [edit for fix in fixes for edit in fix.edits])
    if data is not None and parses(source, data):
        return data, fixes
    good: list[Fix] = []
    best = source.data
    for fix in fixes:
        data = edited(source, [edit for accepted in (*good, fix) for edit in accepted.edits])
        if data is not None and parses(source, data):
            good.append(fix)
            best = data
    return best, good


def parses(source: Source, data: bytes) -> bool:
    """Return whether CPython and, if it could read the file before, libcst can parse `data`."""
    from tpulint.diagnostics.source_tree import tree_of
    from tpulint.source import UnreadableSource, read_source
    from tpulint.syntax.parse import try_parse

    try:
        text = read_source(source.filename, data).text
    except UnreadableSource:
        return False
    if tree_of(text) is None and tree_of(source.text) is not None:
        return False
    return try_parse(text) is not None


def edited(source: Source, edits: Sequence[Edit]) -> bytes | None:
    """Return the bytes after `edits`, which do not overlap.

    It is None where encoding or cells forbid them.
    """
    if source.cells:
        return edited_notebook(source, edits)
    text = source.written(edited_text(source.text, edits, source.newline))
    try:
        return text.encode(source.encoding)
    except UnicodeEncodeError:
        return None


def edited_text(text: str, edits: Iterable[Edit], newline: str = "\n", first_row: int = 1) -> str:
    """Return `text`, whose first row has the number `first_row`, after `edits`."""
    starts = row_starts(text)

    def offset(place: Location) -> int:
        index = place.row - first_row
        return starts[index] + place.column - 1 if index < len(starts) else len(text)

    for edit in sorted(edits, key=lambda candidate: candidate.start, reverse=True):
        content = edit.content.replace("\r\n", "\n").replace("\n", newline)
        text = text[: offset(edit.start)] + content + text[offset(edit.end) :]
    return text


def row_starts(text: str) -> list[int]:
    from tpulint.source import LINE_END

    return [0, *(end.end() for end in LINE_END.finditer(text))]


def edited_notebook(source: Source, edits: Sequence[Edit]) -> bytes | None:
    from tpulint.notebook import write_notebook

    cells: dict[int, str] = {}
    starts = row_starts(source.text)
    left = list(edits)
    for number, first, last in source.cells:
        text = source.text[starts[first - 1] : starts[last]]
        # An edit may end where the next cell starts: it deletes its own cell's last row.
        start, end = Location(first, 1), Location(last + 1, 1)
        inside = [edit for edit in left if start <= edit.start < end and edit.end <= end]
        if inside:
            cells[number] = edited_text(text, inside, "\n", first)
            left = [edit for edit in left if edit not in inside]
    return None if left else write_notebook(source.data, cells)


def difference(source: Source, data: bytes) -> str:
    """Return the change as a unified diff: of the Python text, or of each cell of a notebook."""
    import difflib
    import itertools

    from tpulint.source import LINE_END, read_source

    def rows(text: str) -> list[str]:
        places = itertools.pairwise([*row_starts(text), len(text)])
        return [text[start:end] for start, end in places if start < end]

    after = read_source(source.filename, data)
    if source.cells:
        return "".join(difference_of_cells(source, after))
    old, new = rows(source.written(source.text)), rows(after.written(after.text))
    return "".join(
        line if LINE_END.search(line) else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, source.filename, source.filename)
    )


def difference_of_cells(before: Source, after: Source) -> Iterator[str]:
    """Yield the rows of a diff for each cell that changes, as its author wrote it."""
    import difflib

    changed = {number: (first, last) for number, first, last in after.cells}
    for number, first, last in before.cells:
        start, end = changed[number]
        old = [f"{before.line(row)}\n" for row in range(first, last + 1)]
        new = [f"{after.line(row)}\n" for row in range(start, end + 1)]
        name = f"{before.filename}:cell {number}"
        yield from difflib.unified_diff(old, new, name, name)
