"""`--statistics`: the findings by rule, and the time that each rule took."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tpulint.codes import CODES
from tpulint.finding import Finding, UnfollowedCall
from tpulint.output.words import is_safe


def statistics(findings: Sequence[Finding], times: Mapping[str, float], style: str) -> str:
    """A row a rule with findings, the frequent ones first; as JSON where `style` is json."""
    counts = Counter(finding.code for finding in findings)
    safe = Counter(finding.code for finding in findings if is_safe(finding))
    rows = [
        row(code, number, safe[code], times.get(code))
        for code, number in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]
    if style in ("json", "jsonl"):
        return json.dumps(rows, indent=2) + "\n"
    width = len(str(max(counts.values(), default=0)))
    return "".join(line(each, width) for each in rows)


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


def line(each: Mapping[str, Any], width: int) -> str:
    mark = "[*]" if each["fixable_count"] == each["count"] else "[-]" if each["fixable"] else "[ ]"
    seconds = each["seconds"]
    took = "" if seconds is None else f"\t{seconds * 1000:.1f} ms"
    return f"{each['count']:>{width}}\t{each['code']}\t{mark} {each['name']}{took}\n"
