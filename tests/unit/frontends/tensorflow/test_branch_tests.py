"""The words of the tests on the way to a place, and whether a test asks that they hold."""

from __future__ import annotations

import pytest

from tpulint.absint.domain.context import PLACE, BaseContext, ConditionKey
from tpulint.absint.domain.site import Module, Site
from tpulint.frontends.tensorflow.branch_tests import asks_about, is_for, words
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.syntax.lazy_module import summarize
from tpulint.syntax.nodes import If

WORDS = {
    "FLAGS.use_gpu": [("FLAGS.use_gpu", True)],
    "not use_gpu": [("use_gpu", False)],
    "not (a and not b)": [("a", False), ("b", True)],
    "kind != 'gpu'": [("kind", False), ("'gpu'", False)],
    "kind not in ('a', B.c)": [("kind", False), ("'a'", False), ("B.c", False)],
    "gpus == 0": [("gpus", False)],
    "gpus != 0": [("gpus", True)],
    "gpus is not None": [("gpus", True)],
    "gpus is None": [("gpus", False)],
    "gpus < 1": [("gpus", False)],
    "gpus > 1": [("gpus", True)],
    "devices(kind='GPU').names": [
        ("devices", True),
        ("kind", True),
        ("'GPU'", True),
        ("names", True),
    ],
}


def context_of(test: str, branch: bool) -> BaseContext:
    """Return the context behind a branch of `if test:`."""
    text = f"if {test}:\n    pass\n"
    module = Module("m.py", "/m.py", text, summarize(text))
    (statement,) = module.facts.body
    assert isinstance(statement, If)
    key = ConditionKey(PLACE, Site(module, statement.place), test=statement.test)
    return BaseContext(conditions=frozenset([(key, branch)]))


@pytest.mark.parametrize("test", WORDS)
def test_the_words_of_a_test(test: str) -> None:
    (statement,) = summarize(f"if {test}:\n    pass\n").body
    assert isinstance(statement, If)
    assert [tuple(word) for word in words(statement.test)] == WORDS[test]


def test_a_test_over_several_lines_is_one() -> None:
    test = "(\n    kind(\n        a, b,\n    )\n    and\n    c\n    and use_gpu\n)"
    assert is_for(context_of(test, True), naming.GPU)


def test_a_comment_in_a_test_says_nothing() -> None:
    assert not asks_about(context_of("(flag  # not for a gpu\n)", True), naming.GPU)


def test_the_branch_decides() -> None:
    assert not is_for(context_of("use_gpu", False), naming.GPU)
    assert is_for(context_of("ready and not use_gpu", False), naming.GPU)


def test_keys_of_one_place_are_equal_whatever_their_expression() -> None:
    context = context_of("flag", True)
    ((key, _),) = context.conditions
    assert key == ConditionKey(PLACE, key.identity)
    assert hash(key) == hash(ConditionKey(PLACE, key.identity))
