"""The pinned corpus is checked without a crash, and what is said about it is known."""

from __future__ import annotations

import pytest

from tests.ecosystem.corpus import Said, bring, check, expected

pytestmark = pytest.mark.ecosystem


@pytest.fixture(scope="module")
def said() -> Said:
    return check(bring())


def test_no_file_breaks_the_run(said: Said) -> None:
    assert not said.failed, said.messages


def test_the_counts_are_those_written_down(said: Said) -> None:
    assert said.counts() == expected()["counts"]


def test_every_definite_finding_was_read_and_none_is_a_false_alarm(said: Said) -> None:
    verdicts = expected()["definite"]
    assert said.definite() == set(verdicts)
    for place, (verdict, reason) in verdicts.items():
        assert verdict in {"true", "harmless"}, place
        assert reason, place


def test_the_possible_findings_were_read_and_few_are_false_alarms(said: Said) -> None:
    verdicts = expected()["possible"]
    assert said.possible() == set(verdicts)
    for place, (verdict, reason) in verdicts.items():
        assert verdict in {"true", "harmless", "false"}, place
        assert reason, place
    false = [place for place, (verdict, _) in verdicts.items() if verdict == "false"]
    assert len(false) <= 0.1 * len(verdicts)
