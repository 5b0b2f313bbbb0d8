"""The codes that selection asks for."""

from __future__ import annotations

import pytest

from tpulint.codes import CODES, performance_codes
from tpulint.diagnostics.resolve import RuleSelection, selected


def test_everything_but_performance_by_default() -> None:
    rest = frozenset(CODES) - performance_codes()
    assert performance_codes()
    assert selected([RuleSelection(), RuleSelection()]) == rest
    assert selected([RuleSelection(("ALL",)), RuleSelection(("TPU",))]) == rest


@pytest.mark.parametrize(
    "layer",
    [
        RuleSelection(performance=True),
        RuleSelection(None, ("TPU9",)),
        RuleSelection(("ALL", "TPU9")),
        RuleSelection(("ALL",), performance=True),
    ],
)
def test_rules_about_performance_are_asked_for(layer: RuleSelection) -> None:
    assert selected([layer]) == frozenset(CODES)
    assert "TPU101" not in selected([RuleSelection(("TPU9",))])
    assert "TPU901" not in selected([layer, RuleSelection(("ALL",))])


def test_a_rule_about_performance_has_a_name_and_can_be_ignored() -> None:
    assert "TPU901" in selected([RuleSelection(None, ("one-step-per-launch",))])
    codes = selected([RuleSelection(performance=True, ignore=("TPU901",))])
    assert "TPU901" not in codes
    assert performance_codes() - {"TPU901"} <= codes


@pytest.mark.parametrize(
    ("layer", "selected_codes", "not_asked"),
    [
        (RuleSelection(("TPU1",)), ["TPU101", "TPU105", "TPU001"], ["TPU201"]),
        (RuleSelection(("TPU1",), ignore=("TPU001",)), ["TPU101"], ["TPU001"]),
        (RuleSelection(("TPU1",), ignore=("TPU101",)), ["TPU102"], ["TPU101"]),
        (RuleSelection(("TPU101",), ignore=("TPU1",)), ["TPU101"], ["TPU102"]),
        (RuleSelection(("TPU101",), ignore=("TPU101",)), [], ["TPU101"]),
        (RuleSelection(("TPU1",), ("TPU20",)), ["TPU101", "TPU201"], ["TPU301"]),
        (RuleSelection(ignore=("ALL",)), [], ["TPU101"]),
        (RuleSelection(("ALL",), ignore=("TPU2",)), ["TPU001", "TPU101"], ["TPU201"]),
        (RuleSelection(("TPU1",), ignore=("ALL",)), ["TPU101"], ["TPU201"]),
    ],
)
def test_the_longer_selector_wins(
    layer: RuleSelection, selected_codes: list[str], not_asked: list[str]
) -> None:
    codes = selected([layer])
    assert codes.issuperset(selected_codes)
    assert codes.isdisjoint(not_asked)


def test_a_later_select_starts_anew() -> None:
    configured = RuleSelection(("TPU1",), ignore=("TPU101",))
    assert "TPU101" in selected([configured, RuleSelection(("TPU101",))])
    assert "TPU102" not in selected([configured, RuleSelection(("TPU101",))])


def test_a_later_extend_and_ignore_go_on_from_there() -> None:
    codes = selected([RuleSelection(("TPU1",)), RuleSelection(None, ("TPU201",), ("TPU105",))])
    assert {"TPU101", "TPU201"} <= codes
    assert "TPU105" not in codes
