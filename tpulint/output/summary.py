"""The last lines of the formats for people, and `--statistics`: what was found, by number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tpulint.codes import CODES
from tpulint.finding import Applicability, Finding, UnfollowedCall
from tpulint.output.context import RenderContext
from tpulint.output.text import GREEN, is_safe, paint

# The last lines of the formats for people: findings found, fixed, hidden and not checked.

MOST_CODES = 3
# Configuration keys, and the codes whose possible findings they decide.
DECIDE = {"target-tensorflow": ("TPU801", "TPU802")}


def summary(findings: Sequence[Finding], context: RenderContext) -> str:
    """Count the findings that were found, fixed, are fixable or hidden; say nothing if quiet."""
    if context.quiet:
        return ""
    lines = [count_line(len(findings), context)]
    if lines == [PASSED] and context.color:
        lines = [paint(PASSED, GREEN)]
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


def unfollowed_lines(calls: Sequence[UnfollowedCall]) -> list[str]:
    """Return a line that counts the calls that were not analyzed, if there are any."""
    if not calls:
        return []
    functions = len({call.function for call in calls})
    of = f"{count(len(calls), 'call')} of {count(functions, 'function')}"
    were = "was" if len(calls) == 1 else "were"
    return [f"{of} {were} not analyzed, because a limit was reached. See `--statistics`."]


def count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


PASSED = "All checks passed!"


def count_line(left: int, context: RenderContext) -> str:
    """Return the number of findings; that all is well only where everything was checked."""
    unread = "; not everything was checked" if context.incomplete else ""
    if context.fixed:
        done = f"({context.fixed} fixed, {left} remaining)"
        return f"Found {errors(left + context.fixed)} {done}{unread}."
    if left:
        return f"Found {errors(left)}{unread}."
    if context.incomplete:
        return "Found no errors, but not everything was checked."
    if context.unparsed:
        files = "1 file that cannot" if context.unparsed == 1 else f"{context.unparsed} that cannot"
        return f"Found no errors, but did not check {files} be parsed (TPU001)."
    return PASSED if context.files != 0 else "No files were checked."


def errors(number: int) -> str:
    return f"{number} error" if number == 1 else f"{number} errors"


def hidden_lines(hidden: Mapping[str, int], unset: Collection[str] = ()) -> list[str]:
    """Count the hidden possible findings by code, and say what shows or decides them."""
    number = sum(hidden.values())
    what = "possible finding" if number == 1 else "possible findings"
    pronoun = "it" if number == 1 else "them"
    rows = sorted(hidden.items(), key=lambda row: (-row[1], row[0]))
    listed = [f"{count} {code}" for code, count in rows[:MOST_CODES]]
    if len(rows) == 1:
        listed = [rows[0][0]]
    others = sum(count for _, count in rows[MOST_CODES:])
    listed += [f"{others} of other codes"] if others else []
    names = ", ".join(listed)
    lines = [f"{number} {what} hidden ({names}). Use `--certainty possible` to show {pronoun}."]
    for key, codes in DECIDE.items():
        decided = [code for code in codes if code in hidden]
        if key in unset and decided:
            codes_decided = " and ".join(decided)
            lines.append(f"Set `{key}` so that {codes_decided} can be confirmed or ruled out.")
    return lines


# `--statistics`: the findings by rule, and the time that each rule took.


def statistics(findings: Sequence[Finding], times: Mapping[str, float], style: str) -> str:
    """Return a row per rule with findings, frequent ones first; JSON where `style` is json."""
    counts = Counter(finding.code for finding in findings)
    safe = Counter(finding.code for finding in findings if is_safe(finding))
    rows = [
        row(code, number, safe[code], times.get(code))
        for code, number in sorted(counts.items(), key=lambda count: (-count[1], count[0]))
    ]
    if style in ("json", "jsonl"):
        return json.dumps(rows, indent=2) + "\n"
    width = len(str(max(counts.values(), default=0)))
    return "".join(line(row, width) for row in rows)


def skipped_lines(skipped: Mapping[str, int]) -> list[str]:
    """Lines that say how many functions were reached and not followed, and why."""
    rows = sorted(skipped.items(), key=lambda row: (-row[1], row[0]))
    return [f"{number:,} reached functions were not followed: {why}" for why, number in rows]


def limit_lines(calls: Sequence[UnfollowedCall]) -> list[str]:
    """Return lines that count the calls that were not analyzed, by function and limit."""
    counts = Counter((call.limit, call.function) for call in calls)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [
        f"{number:,} calls of `{function}` were not analyzed: {limit}"
        for (limit, function), number in rows
    ]


def row(code: str, number: int, safe: int, seconds: float | None) -> dict[str, Any]:
    """One rule; `seconds` is None where no rule of its own finds it (TPU001, TPU002)."""
    return {
        "code": code,
        "name": CODES[code].name,
        "count": number,
        "fixable": safe > 0,
        "fixable_count": safe,
        "seconds": None if seconds is None else round(seconds, 6),
    }


def line(item: Mapping[str, Any], width: int) -> str:
    mark = "[*]" if item["fixable_count"] == item["count"] else "[-]" if item["fixable"] else "[ ]"
    seconds = item["seconds"]
    took = "" if seconds is None else f"\t{seconds * 1000:.1f} ms"
    return f"{item['count']:>{width}}\t{item['code']}\t{mark} {item['name']}{took}\n"
