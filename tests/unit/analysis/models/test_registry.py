"""A call is answered by the same family of models, however few of them are asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reading import read_program
from tests.rules.pages import pages, write
from tpulint.analysis.domain.events import Variable
from tpulint.analysis.domain.values import Value
from tpulint.analysis.models import registry
from tpulint.analysis.models.call import Answer, Call


def test_the_families_that_go_by_names_are_families() -> None:
    assert registry.NAMED.keys() <= set(registry.FAMILIES)
    asked = registry.FAMILIES.asked("TPUEstimator", type(None))
    assert registry.estimators.answer in asked
    assert len(asked) < len(registry.FAMILIES) / 2


def test_the_families_that_go_by_receivers_are_families() -> None:
    families = {*registry.FAMILIES, *registry.UNSEEN}
    assert registry.OF_RECEIVERS.keys() <= families
    variables = registry.variables.answer
    assert variables in registry.FAMILIES.asked("any_method", Variable)
    assert variables in registry.FAMILIES.asked("get_variable", type(None))
    assert variables not in registry.FAMILIES.asked("any_method", type(None))
    assert registry.methods.answer not in registry.FAMILIES.asked("append", type(None))


def test_a_family_of_no_table_is_always_asked() -> None:
    assert registry.operations.answer in registry.FAMILIES.asked("anything", type(None))


def test_who_is_passed_by_has_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of all pages are read with every family asked about every call."""
    answered: set[tuple[int, str, type]] = set()

    def watched(number: int, family: Answer) -> Answer:
        def answer(this: Call) -> Value | None:
            found = family(this)
            if found is not None:
                answered.add((number, this.name, type(this.receiver)))
            return found

        return answer

    every = registry.Families(watched(*each) for each in enumerate(registry.FAMILIES))
    monkeypatch.setattr(registry, "FAMILIES", every)
    for page in pages():
        for block in page.blocks[:2]:
            folder = tmp_path / page.code / str(block.line)
            folder.mkdir(parents=True)
            read_program([str(folder / name) for name in write(block, folder)])
    monkeypatch.undo()
    assert len({number for number, _, _ in answered}) > len(registry.FAMILIES) / 2
    for number, name, receiver in answered:
        assert registry.FAMILIES[number] in registry.FAMILIES.asked(name, receiver)
