"""The last lines of the formats for people, and `--statistics`: what was found, by number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from tpulint.codes import CODES
from tpulint.config.keys import DECIDES
from tpulint.finding import (
    LIMIT,
    OUTSIDE,
    UNKNOWN_FUNCTION,
    UNREAD,
    Applicability,
    Finding,
    UnfollowedCall,
)
from tpulint.frontends import frameworks_not_read, frameworks_read
from tpulint.output.context import Coverage, RenderContext
from tpulint.output.text import GREEN, is_safe, styled

# The last lines of the formats for people: findings found, fixed, hidden and not checked.

MOST_CODES = 3


def summary(findings: Sequence[Finding], context: RenderContext) -> str:
    """Count the findings that were found, fixed, are fixable or hidden; say nothing if quiet."""
    if context.quiet:
        return ""
    line = count_line(len(findings), context)
    is_clean = context.coverage is not None and line == coverage_line(context.coverage)
    lines = [styled(context, line, GREEN) if is_clean else line]
    fixes = [finding.fix.applicability for finding in findings if finding.fix is not None]
    safe, unsafe = fixes.count(Applicability.SAFE), fixes.count(Applicability.UNSAFE)
    if safe:
        more = f" ({unsafe} more with `--unsafe-fixes`)" if unsafe else ""
        lines.append(f"[*] {safe} fixable with `--fix`{more}.")
    elif unsafe:
        lines.append(f"{unsafe} fixable with `--unsafe-fixes`.")
    if context.hidden:
        lines += hidden_lines(context.hidden, context.unset)
    lines += unfollowed_lines(context.unfollowed)
    return "\n".join(lines) + "\n"


KINDS = {
    LIMIT: "beyond a limit of the analysis",
    UNKNOWN_FUNCTION: "of unknown functions",
    UNREAD: "of modules that were not read",
    OUTSIDE: "of other packages",
}


def unfollowed_lines(calls: Sequence[UnfollowedCall]) -> list[str]:
    """Return a line that counts the calls that were not analyzed, if there are any."""
    if not calls:
        return []
    numbers = Counter(call.kind for call in calls)
    kinds = ", ".join(f"{numbers[kind]:,} {text}" for kind, text in KINDS.items() if numbers[kind])
    were = "was" if len(calls) == 1 else "were"
    return [f"{count(len(calls), 'call')} {were} not analyzed: {kinds}. See `--statistics`."]


def count(number: int, word: str) -> str:
    plural = "es" if word.endswith("ch") else "s"
    return f"{number:,} {word}{plural if number != 1 else ''}"


def count_line(left: int, context: RenderContext) -> str:
    """Return the number of findings; where there is none, what was checked."""
    unread = "; not everything was checked" if context.unchecked else ""
    if context.fixed:
        done = f"({context.fixed} fixed, {left} remaining)"
        return f"Found {errors(left + context.fixed)} {done}{unread}."
    if left:
        return f"Found {errors(left)}{unread}."
    if context.unchecked:
        return "Found no errors, but not everything was checked."
    if context.unparsed:
        files = "1 file that cannot" if context.unparsed == 1 else f"{context.unparsed} that cannot"
        return f"Found no errors, but did not check {files} be parsed (TPU001)."
    if context.files == 0:
        return "No files were checked."
    return coverage_line(context.coverage or Coverage(0, 0, context.files or 0))


def coverage_line(coverage: Coverage) -> str:
    """Return how many programs were checked, in how many of the files."""
    files = count(coverage.files, "file")
    if coverage.programs:
        return f"Checked {count(coverage.programs, 'TPU program')} in {coverage.read:,} of {files}."
    line = f"No TPU program found in {files}."
    using = {name: coverage.using.get(key, 0) for key, name in frameworks_not_read().items()}
    listed = [f"{count(number, 'file')} with {name}" for name, number in using.items() if number]
    return f"{line} Not checked: {', '.join(listed)}." if listed else line


def errors(number: int) -> str:
    return f"{number} error" if number == 1 else f"{number} errors"


def hidden_lines(hidden: Mapping[str, int], unset: Collection[str] = ()) -> list[str]:
    """Count the hidden possible findings by code, and say what shows or decides them."""
    number = sum(hidden.values())
    what, pronoun = ("finding", "it") if number == 1 else ("findings", "them")
    rows = frequent_first(hidden)
    listed = [f"{count} {code}" for code, count in rows[:MOST_CODES]]
    others = sum(count for _, count in rows[MOST_CODES:])
    listed += [f"{others} of other codes"] if others else []
    names = ", ".join(listed) if len(rows) > 1 else rows[0][0]
    how = f"Use `--certainty possible` to show {pronoun}."
    lines = [f"{number} possible {what} hidden ({names}). {how}"]
    for key, codes in DECIDES.items():
        decided = " and ".join(code for code in codes if code in hidden)
        if key in unset and decided:
            lines.append(f"Set `{key}` so that {decided} can be confirmed or ruled out.")
    return lines


# `--statistics`: the findings by rule, and the time that each rule took.


def statistics(findings: Sequence[Finding], times: Mapping[str, float], style: str) -> str:
    """Return a row per rule with findings, frequent ones first; JSON where `style` is json."""
    counts = Counter(finding.code for finding in findings)
    safe = Counter(finding.code for finding in findings if is_safe(finding))
    rows = [
        {
            "code": code,
            "name": CODES[code].name,
            "count": number,
            "fixable": safe[code] > 0,
            "fixable_count": safe[code],
            # No rule of its own finds TPU001 and TPU002.
            "seconds": round(times[code], 6) if code in times else None,
        }
        for code, number in frequent_first(counts)
    ]
    if style in ("json", "jsonl"):
        return json.dumps(rows, indent=2) + "\n"
    width = len(str(max(counts.values(), default=0)))
    lines = []
    for code, number in frequent_first(counts):
        mark = "[*]" if safe[code] == number else "[-]" if safe[code] else "[ ]"
        took = f"\t{round(times[code], 6) * 1000:.1f} ms" if code in times else ""
        lines.append(f"{number:>{width}}\t{code}\t{mark} {CODES[code].name}{took}\n")
    return "".join(lines)


Counted = TypeVar("Counted", str, tuple[str, str])


def frequent_first(counts: Mapping[Counted, int]) -> list[tuple[Counted, int]]:
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def coverage_lines(coverage: Coverage | None, skipped: Mapping[str, int]) -> list[str]:
    """Return lines that say what was checked, and which functions were not, with the reasons."""
    lines = []
    if coverage is not None:
        lines = [coverage_line(coverage)]
        if coverage.unreached:
            use, them = ("uses", "it") if coverage.unreached == 1 else ("use", "them")
            functions = count(coverage.unreached, "function")
            libraries = " or ".join(frameworks_read())
            lines.append(f"{functions} that {use} {libraries}: nothing that was read calls {them}")
    for why, number in frequent_first(skipped):
        were = "was" if number == 1 else "were"
        lines.append(f"{count(number, 'reached function')} {were} not followed: {why}")
    return lines


def unfollowed_rows(calls: Sequence[UnfollowedCall]) -> list[str]:
    """Return lines that count the calls that were not analyzed, by function and reason."""
    counts = Counter((call.limit, call.function) for call in calls)
    return [
        f"{count(number, 'call')} of `{function}` not analyzed: {limit}"
        for (limit, function), number in frequent_first(counts)
    ]
