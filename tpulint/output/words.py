"""The wording that the formats for people share."""

from __future__ import annotations

from tpulint.finding import Applicability, Certainty, Finding
from tpulint.output.excerpt import shown


def one_line(message: str) -> str:
    return shown(" ".join(message.split()))


def flags(finding: Finding) -> str:
    """`[possible] ` for what is not sure, `[*] ` for what --fix fixes."""
    possible = "[possible] " if finding.certainty is Certainty.POSSIBLE else ""
    return possible + ("[*] " if is_safe(finding) else "")


def is_safe(finding: Finding) -> bool:
    """Return whether --fix repairs it."""
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE
