"""The findings on the pinned corpus, and the verdicts written down about them.

    python -m tests.ecosystem.corpus      writes expected.toml anew, known verdicts kept

A finding that is new gets the verdict "unread", which no test lets pass: read the code, then
write "true" (the fault is there), "harmless" (it is there, and does no harm where it stands)
or "false", with a reason. A definite false alarm is fixed, not listed; of the possible ones
a tenth may be false. Of a rule that says very much, a sample of its possible findings is read:
those whose places come first by their hash, so that a new finding changes little in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpulint.check import driver
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Certainty, Finding, Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
EXPECTED = Path(__file__).with_name("expected.toml")
UNREAD = "unread"
SAMPLE = 30  # possible findings of one rule that are read
SEED = "tpulint"


@dataclass(frozen=True)
class CorpusResult:
    """All findings, possible ones too, with the messages of the run."""

    folder: Path
    findings: Sequence[Finding]
    messages: list[str]
    failed: bool

    def counts(self) -> dict[str, dict[str, int]]:
        """Findings by package and then by "CODE certainty"."""
        table: dict[str, Counter[str]] = {}
        for finding in self.findings:
            row = table.setdefault(self.place(finding).split("/")[0], Counter())
            row[f"{finding.code} {finding.certainty.value}"] += 1
        return {package: dict(sorted(row.items())) for package, row in sorted(table.items())}

    def definite(self) -> set[str]:
        """The definite findings as "package/file.py:row CODE"; a syntax error needs no reader."""
        return {
            self.line(finding)
            for finding in self.findings
            if finding.certainty is Certainty.DEFINITE and finding.code != "TPU001"
        }

    def possible(self) -> set[str]:
        """The possible findings that are read: all of a rule, or its sample."""
        by_rule: dict[str, set[str]] = {}
        for finding in self.findings:
            if finding.certainty is Certainty.POSSIBLE:
                by_rule.setdefault(finding.code, set()).add(self.line(finding))
        return {line for lines in by_rule.values() for line in sorted(lines, key=drawn)[:SAMPLE]}

    def line(self, finding: Finding) -> str:
        return f"{self.place(finding)}:{finding.span.start.row} {finding.code}"

    def place(self, finding: Finding) -> str:
        return Path(finding.span.filename).resolve().relative_to(self.folder).as_posix()


def drawn(line: str) -> str:
    """Return the position of `line` in the draw of the sample."""
    return hashlib.sha256(f"{SEED} {line}".encode()).hexdigest()


def bring() -> Path:
    """The folder of the corpus, downloaded by scripts/corpus.py where it is not there yet."""
    folder = os.environ.get("TPULINT_CORPUS")
    named = [folder] if folder else []
    command = [sys.executable, str(ROOT / "scripts" / "corpus.py"), *named]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return Path(done.stdout.splitlines()[-1].partition(" packages in ")[2]).resolve()


def check(folder: Path) -> CorpusResult:
    """Return the findings on all packages of all rules but those about performance.

    What those find is off by default, and was read for docs/performance.md.
    """
    config = Config(root=str(folder), certainty=Certainty.POSSIBLE)
    packages = tuple(str(path) for path in sorted(folder.iterdir()) if path.is_dir())
    codes = {code for code, row in CODES.items() if row.severity is not Severity.PERFORMANCE}
    result = driver.check(driver.discover(driver.Request(config, frozenset(codes), packages)))
    messages = [*map(str, result.failures), *result.messages]
    return CorpusResult(folder, result.findings, messages, bool(result.failures))


def expected() -> dict[str, Any]:
    """`counts`, `definite` and `possible` as they were written down."""
    return tomllib.loads(EXPECTED.read_text(encoding="utf-8"))


def main() -> None:
    """Write expected.toml from what is said now."""
    output = check(bring())
    verdicts = expected() if EXPECTED.exists() else {}
    lines = ["# Written by tests/ecosystem/corpus.py; the verdicts by people.", ""]
    for package, row in output.counts().items():
        lines.append(f"[counts.{package}]")
        lines += [f'"{key}" = {count}' for key, count in row.items()]
        lines.append("")
    for certainty, places in (("definite", output.definite()), ("possible", output.possible())):
        lines.append(f"[{certainty}]")
        for place in sorted(places):
            verdict, reason = verdicts.get(certainty, {}).get(place, [UNREAD, ""])
            lines.append(f'"{place}" = ["{verdict}", {json.dumps(reason, ensure_ascii=False)}]')
        lines.append("")
    EXPECTED.write_text("\n".join(lines), encoding="utf-8")
    print(*output.messages, sep="\n")


if __name__ == "__main__":
    main()
