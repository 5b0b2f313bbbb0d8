"""Errors of our own: named, exit 2, and nobody else's findings are lost."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

import pytest

from tpulint import rules
from tpulint.check import analysis as rule_run
from tpulint.check import driver
from tpulint.check.driver import BuiltProgram
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Finding, Location, Span
from tpulint.frontends.tensorflow.target_release import Targets
from tpulint.incremental.model import Analysis, Batch, Job


@dataclass(frozen=True)
class Module:
    filename: str
    path: str = "somewhere"


@dataclass
class Program:
    modules: list[Module] = field(default_factory=list)
    targets: Targets = field(default_factory=Targets)
    skipped: dict[str, int] = field(default_factory=dict)
    unfollowed: dict[object, int] = field(default_factory=dict)
    failures: tuple[object, ...] = ()
    is_for_tpu: bool = False


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report TPU001 in every file, and break where one of them is called `crash.py`."""

    def read(batch: Batch, job: Job, *_: object) -> Any:
        if "crash.py" in job.seeds:
            raise BrokenProcessPool("a worker\nwas killed")
        actual = tuple(finding(name) for name in job.seeds)
        program = Program([Module(name) for name in job.seeds])
        return BuiltProgram(program, actual)  # type: ignore[arg-type]

    monkeypatch.setattr(driver, "read_program", read)
    monkeypatch.setattr(rule_run, "RULES", ["TPU101", "TPU201"])


def finding(filename: str, code: str = "TPU001") -> Finding:
    return Finding(code, "m", Span(filename, Location(1, 1), Location(1, 2)))


def analyze(*filenames: str) -> Analysis:
    """Read files that are one program, for all import one module."""
    contents = dict.fromkeys(filenames, b"import hub\nstrategy = TPUStrategy()\n")
    contents["hub.py"] = b"import tensorflow as tf\n"
    request = driver.Request(Config(jobs=1), frozenset(CODES))
    return driver.analyze(driver.Task(request, tuple(contents)), contents)


def test_a_file_that_breaks_the_analysis_is_left_out_alone(
    stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "run", lambda program, codes: [])
    names = [f"{number}.py" for number in range(9)]
    run = analyze(*names[:6], "crash.py", *names[6:])
    assert [finding.span.filename for finding in run.findings] == names
    (failure,) = run.failures
    assert str(failure).startswith(
        "crash.py: internal error: BrokenProcessPool: a worker was killed at "
    )


def test_a_rule_that_breaks_is_left_out_alone(
    stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rule(program: Program, codes: set[str]) -> list[Finding]:
        if codes == {"TPU101"}:
            raise KeyError("x")
        return [finding("a.py", code) for code in codes]

    monkeypatch.setattr(rules, "run", rule)
    run = analyze("a.py")
    assert [reported.code for reported in run.findings] == ["TPU001", "TPU201"]
    (failure,) = run.failures
    assert str(failure).startswith("internal error in rule TPU101: KeyError: 'x' at ")
