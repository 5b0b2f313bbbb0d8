"""The last lines of the formats for people: findings found, fixed, hidden and not checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tpulint.finding import Applicability, Finding, UnfollowedCall
from tpulint.output.color import GREEN, paint
from tpulint.output.context import RenderContext

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
    return [f"{of} {were} not analyzed, because a limit was reached: see `--statistics`."]


def count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


PASSED = "All checks passed!"


def count_line(left: int, context: RenderContext) -> str:
    """The number of findings; that all is well only where everything was checked."""
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
    what = "possible finding is" if number == 1 else "possible findings are"
    rows = sorted(hidden.items(), key=lambda row: (-row[1], row[0]))
    listed = [f"{count} {code}" for code, count in rows[:MOST_CODES]]
    others = sum(count for _, count in rows[MOST_CODES:])
    listed += [f"{others} of other codes"] if others else []
    lines = [f"{number} {what} hidden ({', '.join(listed)}): see with `--certainty possible`."]
    for key, codes in DECIDE.items():
        decided = [code for code in codes if code in hidden]
        if key in unset and decided:
            lines.append(f"Set `{key}` to decide {' and '.join(decided)}.")
    return lines
