"""`--add-suppressions`: a comment with its reason at every finding's line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tpulint.diagnostics.fix import edited
from tpulint.diagnostics.suppress import Comments, read_comments
from tpulint.finding import Edit, Finding, Location
from tpulint.source import Source

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
