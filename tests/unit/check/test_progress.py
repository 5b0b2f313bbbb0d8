"""The line that a long run shows."""

from __future__ import annotations

import io

import pytest

from tpulint.check import progress
from tpulint.check.progress import CLEAR, TerminalProgress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_nothing_is_shown_before_two_seconds(clock: list[float]) -> None:
    stream = io.StringIO()
    line = TerminalProgress(stream, 80)
    for _ in range(19):
        clock[0] += 0.1
        line.step("files read:", 1, 2)
    line.end()
    assert stream.getvalue() == ""


def test_the_line_counts_and_goes_away(clock: list[float]) -> None:
    stream = io.StringIO()
    line = TerminalProgress(stream, 40)
    clock[0] += 3
    line.step("files read:", 1, 2000)
    clock[0] += 0.01
    line.step("files read:", 2, 2000)  # too soon after the other to be shown
    line.step("rules run:", 1, 40)  # but another step is news
    clock[0] += 1
    line.step("a step with a name that is longer than any terminal")
    line.end()
    line.end()
    first, second, third, *rest = stream.getvalue().split(CLEAR)[1:]
    assert first == "tpulint: files read: 1 of 2,000 (3 s)"
    assert second == "tpulint: rules run: 1 of 40 (3 s)"
    assert len(third) == 39
    assert rest == [""]
