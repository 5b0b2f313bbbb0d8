"""The pinned corpus is checked without a crash, and what is said about it is known."""

from __future__ import annotations

import pytest

from tests.ecosystem.corpus import CorpusResult, bring, check, expected

pytestmark = pytest.mark.ecosystem


@pytest.fixture(scope="module")
def result() -> CorpusResult:
    return check(bring())


def test_no_file_breaks_the_run(result: CorpusResult) -> None:
    assert not result.failed, result.messages


def test_the_counts_are_those_written_down(result: CorpusResult) -> None:
    assert result.counts() == expected()["counts"]


def test_every_definite_finding_was_read_and_none_is_a_false_alarm(result: CorpusResult) -> None:
    verdicts = expected()["definite"]
    assert result.definite() == set(verdicts)
    for place, (verdict, reason) in verdicts.items():
        assert verdict in {"true", "harmless"}, place
        assert reason, place


def test_the_possible_findings_were_read_and_few_are_false_alarms(result: CorpusResult) -> None:
    verdicts = expected()["possible"]
    assert result.possible() == set(verdicts)
    for place, (verdict, reason) in verdicts.items():
        assert verdict in {"true", "harmless", "false"}, place
        assert reason, place
    false = [place for place, (verdict, _) in verdicts.items() if verdict == "false"]
    assert len(false) <= 0.1 * len(verdicts)
