"""The tests on the way to a place, as they are written."""

from __future__ import annotations

from tpulint.analysis.domain import written_tests
from tpulint.analysis.domain.context import PLACE, BaseContext, ConditionKey
from tpulint.analysis.domain.site import Module, Site
from tpulint.syntax.lazy_module import summarize
from tpulint.syntax.statement_nodes import If

TEXT = "if one(\n    1):\n    a\nif other: b\n"


def test_each_test_has_its_own_words() -> None:
    module = Module("m.py", "/m.py", TEXT, summarize(TEXT))
    first, second = (each for each in module.facts.body if isinstance(each, If))
    written = []
    for each in (first, second, first):  # the words of the first are known the second time
        key = ConditionKey(PLACE, Site(module, each.place))
        written += written_tests.tests(BaseContext(conditions=frozenset([(key, True)])))
    assert written == [("if one( 1):", True), ("if other: b", True), ("if one( 1):", True)]
