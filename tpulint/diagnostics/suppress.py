"""Suppression comments: which findings they silence, and which of them silence nothing.

`# noqa: TPU101` and `# tpulint: ignore[TPU101] -- reason` count at the first or the
last line of what is reported, or alone on the line above; `# tpulint: ignore-file[...]`
counts for the file. tpulint's own comments take rules' names too. Comments are found by
tokenizing, so strings hold none.
"""

from __future__ import annotations

import bisect
import functools
import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from tpulint.codes import codes_of
from tpulint.diagnostics.bare_rows import are_bare
from tpulint.diagnostics.fix import edited
from tpulint.finding import Applicability, Certainty, Edit, Finding, Fix, Location, Span
from tpulint.source import Source

CODE = r"[A-Za-z]+[0-9]+"
NOQA = re.compile(rf"#\s*noqa(?!\w)(?:\s*:\s*(?P<codes>{CODE}(?:[,\s]\s*{CODE})*))?", re.IGNORECASE)
IGNORE = re.compile(
    r"#\s*tpulint:\s*(?P<scope>ignore-file|ignore)(?![\w-])\s*(?:\[(?P<codes>[^\]]*)\])?(?:\s*--[^#]*)?"
)
OWN = re.compile(r"TPU\d*", re.IGNORECASE)


@dataclass
class Suppression:
    """One comment's wish. `codes` is None where it means all, `rows` where it means the file.

    `list_span` is where the codes stand; `line` is the row's text.
    """

    span: Span
    codes: tuple[str, ...] | None
    rows: frozenset[int] | None
    own: bool
    list_span: Span
    line: str
    used: set[str] = field(default_factory=set)

    def covers(self, code: str, rows: Collection[int]) -> bool:
        """Return whether it silences `code` at one of `rows`; says which of its codes did."""
        if self.rows is not None and self.rows.isdisjoint(rows):
            return False
        if self.codes is None:
            self.used.add("")
            return True
        fitting = [each for each in self.codes if code in codes_of(each)]
        self.used.update(fitting)
        return bool(fitting)


@dataclass(frozen=True)
class Comments:
    """The suppressions of one file, and the row where a comment for each row has its place."""

    suppressions: tuple[Suppression, ...]
    joined: dict[int, int]

    def place(self, row: int) -> int:
        """`row`, or where a backslash or a string of many lines goes on, the row it ends in."""
        return self.joined.get(row, row)

    def covers(self, finding: Finding) -> bool:
        first, last = finding.span.start.row, finding.span.end.row
        rows = {first, last, self.place(first), self.place(last)}
        # Each of them is asked: what silences a finding a second time is in use too.
        near = chain.from_iterable(self._by_row.get(row, ()) for row in {None, *rows})
        said = [each.covers(finding.code, rows) for each in near]
        return any(said)

    @functools.cached_property
    def _by_row(self) -> dict[int | None, list[Suppression]]:
        """The suppressions by each of their rows; those for the whole file by None."""
        found: dict[int | None, list[Suppression]] = {}
        for each in self.suppressions:
            for row in each.rows if each.rows is not None else [None]:
                found.setdefault(row, []).append(each)
        return found


def read_comments(source: Source, noqa: bool = True) -> Comments:
    """Return the suppressions of `source`, without the `# noqa` where another tool applies those.

    What cannot be tokenized ends the reading, not the run.
    """
    suppressions: list[Suppression] = []
    joined: dict[int, int] = {}
    code_rows: list[int] = []
    alone: list[tuple[Suppression, int]] = []
    for token in tokens(source.text):
        first, last = token.start[0], token.end[0]
        if token.type == tokenize.COMMENT:
            is_alone = not token.line[: token.start[1]].strip()
            for found in wishes(source.filename, token, noqa):
                suppressions.append(found)
                if is_alone and found.rows is not None and (found.own or found.codes):
                    alone.append((found, first))
        elif token.type not in LAYOUT:
            code_rows += [first] if not code_rows or code_rows[-1] != first else []
            if last > first:
                joined.update(dict.fromkeys(range(first, last), last))
    for suppression, row in alone:
        below = bisect.bisect_right(code_rows, row)
        if below < len(code_rows):
            suppression.rows = frozenset((row, code_rows[below]))
    continue_backslashes(source, joined, code_rows)
    return Comments(tuple(suppressions), joined)


LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    # SyntaxError and its kin end the reading: the rest of such a file is not Python.
    try:
        yield from tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def wishes(filename: str, token: tokenize.TokenInfo, noqa: bool) -> Iterator[Suppression]:
    """Yield the suppressions that one comment holds."""
    row, column = token.start[0], token.start[1] + 1
    for pattern in (NOQA, IGNORE) if noqa else (IGNORE,):
        found = pattern.search(token.string)
        if found is None:
            continue
        listed = found["codes"]
        span, list_span = (
            Span(filename, Location(row, column + start), Location(row, column + end))
            for start, end in (found.span(), found.span("codes"))
        )
        whole_file = pattern is IGNORE and found["scope"] == "ignore-file"
        yield Suppression(
            span,
            None if listed is None else tuple(re.split(r"[,\s]+", listed.strip(", \t"))),
            None if whole_file else frozenset((row,)),
            pattern is IGNORE,
            list_span,
            token.line.split("\n")[0],
        )


def continue_backslashes(source: Source, joined: dict[int, int], code_rows: Sequence[int]) -> None:
    """Add to `joined` the rows that a backslash joins to the next one."""
    known = set(code_rows)
    for row in range(len(source.lines), 0, -1):
        last = joined.get(row, row)
        if row in known and source.lines[last - 1].endswith("\\"):
            joined[row] = joined.get(last + 1, last + 1)


def unused(
    comments: Comments, active: Collection[str], partial: Source | None
) -> Iterator[Finding]:
    """TPU002 for codes that are unknown, or that silenced nothing although they are `active`.

    `partial` is the file where it was looked at without the program around it: what a comment is
    for may then lie outside, and only what the file itself decides is definite.
    """
    for each in comments.suppressions:
        if each.codes is None:
            if each.own and not each.used:
                certainty = sureness(each, None, partial)
                yield report(each, (), "unused suppression comment", certainty)
            continue
        unknown = [code for code in each.codes if is_own(each, code) and not codes_of(code)]
        idle = [code for code in each.codes if is_idle(each, code, active)]
        if unknown:
            message = f"no rule has the code {listing(unknown)}"
            yield report(each, unknown, message, Certainty.DEFINITE)
        if idle:
            message = f"unused suppression of {listing(idle)}"
            yield report(each, idle, message, sureness(each, idle, partial))


# Judged by the file alone, whoever calls what is in it.
LOCAL = frozenset(("TPU001", "TPU002", "TPU802"))


def sureness(
    suppression: Suppression, idle: Sequence[str] | None, partial: Source | None
) -> Certainty:
    """Return the certainty that the comment has no effect; `idle` is None for no code."""
    if partial is None or (idle is not None and all(codes_of(code) <= LOCAL for code in idle)):
        return Certainty.DEFINITE
    bare = suppression.rows is not None and are_bare(partial, suppression.rows)
    return Certainty.DEFINITE if bare else Certainty.POSSIBLE


def is_own(suppression: Suppression, code: str) -> bool:
    return suppression.own or OWN.fullmatch(code) is not None


def is_idle(suppression: Suppression, code: str, active: Collection[str]) -> bool:
    if code in suppression.used or not is_own(suppression, code):
        return False
    meant = codes_of(code) - {"TPU002"}
    return bool(meant) and all(each in active for each in meant)


def listing(codes: Iterable[str]) -> str:
    return ", ".join(f"'{code}'" for code in codes)


def report(
    suppression: Suppression, codes: Sequence[str], message: str, certainty: Certainty
) -> Finding:
    return Finding("TPU002", message, suppression.span, certainty, (), removal(suppression, codes))


def removal(suppression: Suppression, codes: Sequence[str]) -> Fix:
    """Remove `codes` from the comment, and the comment where it says nothing else."""
    kept = [code for code in suppression.codes or () if code not in codes]
    if kept:
        span = suppression.list_span
        edit = Edit(span.start, span.end, ", ".join(kept))
    else:
        edit = whole_removal(suppression)
    return Fix(Applicability.SAFE, "Remove the unused suppression", (edit,))


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


def may_name_own_codes(data: bytes) -> bool:
    """Return whether these bytes can hold a suppression that names tpulint or a code of its own."""
    if b"tpulint:" in data:
        return True
    return (b"noqa" in data or b"NOQA" in data) and OWN_NOQA.search(data) is not None


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
        filename: annotated(sources.get(filename), found, words)
        for filename, found in sorted(by_file.items())
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
            rows.setdefault(comments.place(finding.span.start.row), []).append(finding.code)
    edits = [comment(source, comments, row, codes, reason) for row, codes in rows.items()]
    return edited(source, edits), sum(map(len, rows.values()))


def comment(
    source: Source, comments: Comments, row: int, codes: Iterable[str], reason: str
) -> Edit:
    """Return the edit that suppresses `codes` at a row: in its comment, where it has one."""
    for each in comments.suppressions:
        if each.own and each.codes and each.rows and each.span.start.row == row:
            more = sorted({*codes} - {*each.codes})
            end = each.list_span.end
            return Edit(end, end, "".join(f", {code}" for code in more))
    line = source.lines[row - 1]
    listed = ", ".join(sorted({*codes}))
    place = Location(row, len(line.rstrip()) + 1)
    text = f"  # tpulint: ignore[{listed}] -- {reason}"
    return Edit(place, Location(row, len(line) + 1), text)
