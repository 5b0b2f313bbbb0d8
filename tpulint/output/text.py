"""One line a finding, `path:row:column: CODE message`, and a summary."""

from __future__ import annotations

from collections.abc import Sequence

from tpulint.finding import Applicability, Certainty, Finding
from tpulint.output.color import BOLD, CYAN, GREEN, RED, paint
from tpulint.output.context import Context


def text(findings: Sequence[Finding], context: Context) -> str:
    lines = []
    for finding in findings:
        place = one_line(context.short(finding.span))
        if context.color:
            path, _, rest = place.partition(":")
            place = f"{paint(path, BOLD)}{paint(':', CYAN)}{rest}"
        code = paint(finding.code, RED, BOLD) if context.color else finding.code
        lines.append(f"{place}: {code} {flags(finding)}{one_line(finding.message)}\n")
    return "".join(lines) + summary(findings, context)


def one_line(message: str) -> str:
    from tpulint.output.excerpt import shown

    return shown(" ".join(message.split()))


def flags(finding: Finding) -> str:
    """`[possible] ` for what is not sure, `[*] ` for what --fix fixes."""
    possible = "[possible] " if finding.certainty is Certainty.POSSIBLE else ""
    safe = finding.fix is not None and finding.fix.applicability is Applicability.SAFE
    return possible + ("[*] " if safe else "")


def summary(findings: Sequence[Finding], context: Context) -> str:
    """Return the summary line: findings found, fixed, fixable and hidden."""
    lines = [count_line(len(findings), context.fixed)]
    if not findings and context.color:
        lines = [paint(lines[0], GREEN)]
    fixes = [finding.fix.applicability for finding in findings if finding.fix is not None]
    safe, unsafe = fixes.count(Applicability.SAFE), fixes.count(Applicability.UNSAFE)
    if safe:
        more = f" ({unsafe} more with `--unsafe-fixes`)" if unsafe else ""
        lines.append(f"[*] {safe} fixable with `--fix`{more}.")
    elif unsafe:
        lines.append(f"{unsafe} fixable with `--unsafe-fixes`.")
    if context.hidden:
        lines.append(hidden_line(context.hidden))
    return "\n".join(lines) + "\n"


def count_line(left: int, fixed: int) -> str:
    if fixed:
        return f"Found {errors(left + fixed)} ({fixed} fixed, {left} remaining)."
    return f"Found {errors(left)}." if left else "All checks passed!"


def errors(number: int) -> str:
    return f"{number} error" if number == 1 else f"{number} errors"


def hidden_line(hidden: int) -> str:
    what = "possible finding is" if hidden == 1 else "possible findings are"
    return f"{hidden} {what} hidden: see with `--certainty possible`."


def statistics(findings: Sequence[Finding]) -> str:
    """A line a code, the frequent ones first: count, code, what --fix fixes, name."""
    from collections import Counter

    from tpulint.codes import CODES

    counts = Counter(finding.code for finding in findings)
    fixable = {finding.code for finding in findings if "[*]" in flags(finding)}
    width = len(str(max(counts.values(), default=0)))
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return "".join(
        f"{number:>{width}}\t{code}\t{'[*]' if code in fixable else '[ ]'} {CODES[code].name}\n"
        for code, number in rows
    )
