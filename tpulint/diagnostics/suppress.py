"""Suppression comments: which findings they silence, and which of them silence nothing.

`# noqa: TPU101` and `# tpulint: ignore[TPU101] -- reason` count at the first or the
last line of what is reported, or alone on the line above; `# tpulint: ignore-file[...]`
counts for the file. tpulint's own comments take rules' names too. Comments are nodes of libcst's
tree, which is made only for files that may hold one.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from tpulint.codes import CODES, codes_of
from tpulint.diagnostics.fix import edited
from tpulint.finding import Applicability, Certainty, Edit, Finding, Fix, Location, Span
from tpulint.source import Source

if TYPE_CHECKING:
    from tpulint.diagnostics.source_tree import SourceTree

# Most files have neither, so their comments need not be looked at.
MARK = re.compile(r"noqa|tpulint:", re.IGNORECASE)
CODE = r"[A-Za-z]+[0-9]+"
NOQA = rf"(?i)#\s*noqa(?!\w)(?:\s*:\s*(?P<codes>{CODE}(?:[,\s]\s*{CODE})*))?"
IGNORE = (
    r"#\s*tpulint:\s*(?P<scope>ignore-file|ignore)(?![\w-])\s*(?:\[(?P<codes>[^\]]*)\])?"
    r"(?:\s*--[^#]*)?"
)
OWN = re.compile(r"TPU\d*", re.IGNORECASE)


class Suppression(NamedTuple):
    """A suppression in a comment.

    `codes` is None where it means all, `rows` where it means the file. `list_span` is the place of
    the codes, `line` the row's text.
    """

    span: Span
    codes: tuple[str, ...] | None
    rows: frozenset[int] | None
    own: bool
    list_span: Span
    line: str
    used: set[str]

    def suppresses(self, code: str, rows: Collection[int]) -> bool:
        """Return whether it suppresses `code` at one of `rows`, and note which of its codes did."""
        if self.rows is not None and self.rows.isdisjoint(rows):
            return False
        if self.codes is None:
            self.used.add("")
            return True
        fitting = [listed for listed in self.codes if code in codes_of(listed)]
        self.used.update(fitting)
        return bool(fitting)


class CommentFacts(NamedTuple):
    """The facts of a tree that suppressions need, which depend on the text of the file alone.

    comments: those that may be suppressions, with their places. last_rows: each row that a
    backslash or a string continues, with the last row of these.
    """

    comments: tuple[tuple[Location, str], ...]
    last_rows: Mapping[int, int]


def comment_facts(source: Source) -> CommentFacts | None:
    """Return the facts of a file; None where it cannot be parsed."""
    tree = _tree_of(source)
    if tree is None:
        return None
    comments = ((place, text) for place, text in tree.comments if MARK.search(text))
    return CommentFacts(tuple(comments), tree.last_rows)


CommentReader = Callable[[Source], CommentFacts | None]


class Comments:
    """The suppressions of one file; `read` gives the facts of its tree."""

    def __init__(
        self,
        source: Source,
        suppressions: tuple[Suppression, ...],
        read: CommentReader = comment_facts,
    ) -> None:
        self.source = source
        self.suppressions = suppressions
        self.read = read

    def suppress(self, finding: Finding) -> bool:
        """Return whether a comment suppresses `finding`."""
        if not self.suppressions:
            return False
        first, last = finding.span.start.row, finding.span.end.row
        rows = {first, last, *(comment_row(self.source, row, self.read) for row in (first, last))}
        # Each of them is asked: what suppresses a finding a second time is in use too.
        near = chain.from_iterable(self._by_row.get(row, ()) for row in {None, *rows})
        answers = [suppression.suppresses(finding.code, rows) for suppression in near]
        return any(answers)

    @functools.cached_property
    def _by_row(self) -> dict[int | None, list[Suppression]]:
        """Return the suppressions by each of their rows; those for the whole file by None."""
        by_row: dict[int | None, list[Suppression]] = {}
        for suppression in self.suppressions:
            for row in suppression.rows if suppression.rows is not None else [None]:
                by_row.setdefault(row, []).append(suppression)
        return by_row


def read_comments(
    source: Source, noqa: bool = True, read: CommentReader = comment_facts
) -> Comments:
    """Return the suppressions of `source`, without the `# noqa` where another tool applies those.

    A file that cannot be parsed has no tree, but its error may be suppressed all the same: there
    everything after a `#` is taken for a comment.
    """
    if not may_concern_rules(source.text, noqa):
        return Comments(source, ())
    facts = read(source)
    comments = facts.comments if facts is not None else text_after_marks(source)
    # The rows that hold more than blanks and a comment.
    code_rows = [
        row
        for row, line in enumerate(source.lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    suppressions = (
        suppression
        for start, text in comments
        for suppression in parse_suppressions(source, start, text, noqa, code_rows)
    )
    return Comments(source, tuple(suppressions), read)


def may_concern_rules(text: str, noqa: bool) -> bool:
    """Return whether a comment of `text` may suppress a finding, or be reported as unused.

    The tree tells comments from strings, but takes long to make, and `# noqa: E501` is another
    tool's.
    """
    if not MARK.search(text):
        return False
    if re.search(IGNORE, text) is not None:
        return True
    return noqa and any(
        match["codes"] is None
        or any(is_own_noqa(code) or codes_of(code) for code in split_codes(match["codes"]))
        for match in re.finditer(NOQA, text)
    )


def text_after_marks(source: Source) -> Iterator[tuple[Location, str]]:
    """Yield what follows the first `#` of each row, with its place."""
    for row, line in enumerate(source.lines, 1):
        code, mark, text = line.partition("#")
        if mark:
            yield Location(row, len(code) + 1), mark + text


def _tree_of(source: Source) -> SourceTree | None:
    from tpulint.diagnostics.source_tree import tree_of

    return tree_of(source.text)


def parse_suppressions(
    source: Source, start: Location, comment: str, noqa: bool, code_rows: Sequence[int]
) -> Iterator[Suppression]:
    """Yield the suppressions that the comment at `start` holds."""
    line = source.lines[start.row - 1]
    for pattern in (NOQA, IGNORE) if noqa else (IGNORE,):
        match = re.search(pattern, comment)
        if match is None:
            continue
        span, list_span = (
            Span(
                source.filename,
                Location(start.row, start.column + first),
                Location(start.row, start.column + last),
            )
            for first, last in (match.span(), match.span("codes"))
        )
        codes = None if match["codes"] is None else tuple(split_codes(match["codes"]))
        is_own = pattern is IGNORE
        rows: frozenset[int] | None = frozenset((start.row,))
        if is_own and match["scope"] == "ignore-file":
            rows = None
        elif (is_own or codes) and not line[: start.column - 1].strip():
            # It has its row to itself, and is for the first row with code below.
            below = bisect.bisect_right(code_rows, start.row)
            rows = frozenset((start.row, *code_rows[below : below + 1]))
        yield Suppression(span, codes, rows, is_own, list_span, line, set())


def split_codes(codes: str) -> list[str]:
    return re.split(r"[,\s]+", codes.strip(", \t"))


def comment_row(source: Source, row: int, read: CommentReader = comment_facts) -> int:
    """Return the row whose end has room for a comment on what begins in `row`.

    It is a later one where a backslash or a string of several rows continues `row`.
    """
    # The tree is made only if one of these may be there.
    if row not in _rows_of_strings(source) and not source.line(row).endswith("\\"):
        return row
    facts = read(source)
    return row if facts is None else facts.last_rows.get(row, row)


@functools.lru_cache(maxsize=8)  # files
def _rows_of_strings(source: Source) -> frozenset[int]:
    """Return the rows that may be in strings of several rows: these are counted from the top."""
    rows: set[int] = set()
    for quotes in ('"""', "'''"):
        is_open = False
        for row, line in enumerate(source.lines, 1):
            if is_open or quotes in line:
                rows.add(row)
            is_open ^= line.count(quotes) % 2 == 1
    return frozenset(rows)


def unused(
    comments: Comments, active: Collection[str], partial: Source | None
) -> Iterator[Finding]:
    """TPU002 for codes that are unknown, or that silenced nothing although they are `active`.

    `partial` is the file where it was looked at without the program around it: what a comment is
    for may then lie outside, and only what the file itself decides is definite.
    """
    for suppression in comments.suppressions:
        if suppression.codes is None:
            if suppression.own and not suppression.used:
                certainty = sureness(suppression, None, partial)
                yield report(suppression, (), "unused suppression comment", certainty)
            continue
        own = [code for code in suppression.codes if suppression.own or is_own_noqa(code)]
        unknown = [code for code in own if not codes_of(code)]
        idle = [code for code in own if is_idle(suppression, code, active)]
        if unknown:
            message = f"no rule has the code {listing(unknown)}"
            yield report(suppression, unknown, message, Certainty.DEFINITE)
        if idle:
            message = f"unused suppression of {listing(idle)}"
            yield report(suppression, idle, message, sureness(suppression, idle, partial))


# Judged by the file alone, whoever calls what is in it.
LOCAL = frozenset(("TPU001", "TPU002", "TPU802"))


def sureness(
    suppression: Suppression, idle: Sequence[str] | None, partial: Source | None
) -> Certainty:
    """Return the certainty that the comment has no effect; `idle` is None for no code."""
    if partial is None or (idle is not None and all(codes_of(code) <= LOCAL for code in idle)):
        return Certainty.DEFINITE
    tree = _tree_of(partial)
    rows = suppression.rows
    is_sure = tree is not None and rows is not None and tree.is_bare(rows)
    return Certainty.DEFINITE if is_sure else Certainty.POSSIBLE


def is_own_noqa(code: str) -> bool:
    """Return whether a code in `# noqa` is one of tpulint's, or looks like one."""
    return OWN.fullmatch(code) is not None or code.upper() in CODES


def is_idle(suppression: Suppression, code: str, active: Collection[str]) -> bool:
    """Return whether the rules that a code means are all active, and none of them needed it."""
    if code in suppression.used:
        return False
    meant = codes_of(code) - {"TPU002"}
    return bool(meant) and all(selected in active for selected in meant)


def listing(codes: Iterable[str]) -> str:
    return ", ".join(f"'{code}'" for code in codes)


def report(
    suppression: Suppression, codes: Sequence[str], message: str, certainty: Certainty
) -> Finding:
    """Return the finding, with the fix that removes the codes, or all where nothing is left."""
    remaining = [code for code in suppression.codes or () if code not in codes]
    listed = suppression.list_span
    shorter = Edit(listed.start, listed.end, ", ".join(remaining))
    edit = shorter if remaining else whole_removal(suppression)
    fix = Fix(Applicability.SAFE, "Remove the unused suppression", (edit,))
    return Finding("TPU002", message, suppression.span, certainty, (), fix)


def whole_removal(suppression: Suppression) -> Edit:
    start, end = suppression.span.start, suppression.span.end
    before = suppression.line[: start.column - 1]
    after = suppression.line[end.column - 1 :].rstrip()
    if after:  # what follows must stay a comment
        mark = "" if after.lstrip().startswith("#") or "#" in before else "#"
        blanks = len(after) - len(after.lstrip()) if not mark else 0
        return Edit(start, Location(end.row, end.column + blanks), mark)
    if before.strip():
        return Edit(Location(start.row, len(before.rstrip()) + 1), end, "")
    return Edit(Location(start.row, 1), Location(start.row + 1, 1), "")


# Decide by bytes whether reading a file's suppressions can matter; for most it cannot.

OWN_NOQA = re.compile(rb"noqa\s*:[^\n]*TPU\d", re.IGNORECASE)


def may_name_own_codes(data: bytes, names_tpu: bool = True) -> bool:
    """Return whether these bytes can hold a suppression that names tpulint or a code of its own.

    `names_tpu`: they have the word TPU somewhere, as all codes but those of plug-ins do.
    """
    if names_tpu and b"tpulint:" in data:
        return True
    if b"noqa" not in data and b"NOQA" not in data:
        return False
    if names_tpu and OWN_NOQA.search(data) is not None:
        return True
    upper = data.upper()
    return any(row.code.encode() in upper for row in CODES.values() if row.plugin)


# `--add-suppressions`: a comment with its reason at every finding's line.

BEYOND = ("TPU001", "TPU002")  # a comment cannot fix these


def annotate(
    findings: Iterable[Finding], sources: Mapping[str, Source], reason: str
) -> dict[str, tuple[bytes | None, int]]:
    """Each file's new bytes, None where there is no way, and how many findings are covered."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.span.filename, []).append(finding)
    words = " ".join(reason.split()).replace("#", "No.")
    return {
        filename: annotated(sources.get(filename), by_file[filename], words)
        for filename in sorted(by_file)
    }


def annotated(
    source: Source | None, findings: Iterable[Finding], reason: str
) -> tuple[bytes | None, int]:
    if source is None:
        return None, 0
    comments = read_comments(source)
    rows: dict[int, list[str]] = {}
    for finding in findings:
        if finding.code not in BEYOND:
            rows.setdefault(comment_row(source, finding.span.start.row), []).append(finding.code)
    edits = [comment(source, comments, row, codes, reason) for row, codes in rows.items()]
    return edited(source, edits), sum(map(len, rows.values()))


def comment(
    source: Source, comments: Comments, row: int, codes: Iterable[str], reason: str
) -> Edit:
    """Return the edit that suppresses `codes` at a row: in its comment, where it has one."""
    for other in comments.suppressions:
        if other.own and other.codes and other.rows and other.span.start.row == row:
            more = sorted({*codes} - {*other.codes})
            end = other.list_span.end
            return Edit(end, end, "".join(f", {code}" for code in more))
    line = source.lines[row - 1]
    listed = ", ".join(sorted({*codes}))
    place = Location(row, len(line.rstrip()) + 1)
    text = f"  # tpulint: ignore[{listed}] -- {reason}"
    return Edit(place, Location(row, len(line) + 1), text)
