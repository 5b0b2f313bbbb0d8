"""A scan of the text gives the same answers as the parser."""

from __future__ import annotations

import io
import sysconfig
import tokenize
from pathlib import Path

import pytest

from tpulint.syntax.lazy_module import summarize
from tpulint.syntax.parse import code_of, has_name, may_set_attribute

SAMPLES = ("asyncio/tasks.py", "contextlib.py", "functools.py", "queue.py", "typing.py")


def sample(name: str) -> str:
    return (Path(sysconfig.get_path("stdlib")) / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAMPLES)
def test_no_name_and_no_setter_of_a_body_is_overlooked_in_its_text(name: str) -> None:
    text = sample(name)
    facts = summarize(text)
    pieces = facts.pieces
    assert pieces is not None
    cut = {
        function.index: pieces.text(function)
        for function in facts.functions
        if function.rows is not None
    }
    for index, body in cut.items():
        mentions = facts.functions[index].mentions
        assert [mention for mention in mentions if not has_name(mention, body)] == []
    for owner in facts.classes:
        for attribute, methods in owner.setters.items():
            bodies = [cut[method] for method in methods if method in cut]
            assert all(may_set_attribute(attribute, text) for text in bodies)


@pytest.mark.parametrize("name", SAMPLES)
def test_only_comments_and_strings_are_no_code(name: str) -> None:
    text = sample(name)
    assert len(code_of(text)) < len(text)
    assert code_tokens(code_of(text)) == code_tokens(text)


def code_tokens(text: str) -> list[str]:
    """The tokens of a text, strings and comments left out, and the blanks around these."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    blank = (tokenize.STRING, tokenize.COMMENT, tokenize.NL)
    return [token.string for token in tokens if token.type not in blank]


STRINGS = {
    "a = 'b'  # c": "a = ''  ",
    '"""It\'s a.\n\nb"""': "''",
    r"r'\\' + 'b'": "r'' + ''",
    r"'\'a' # '": "'' ",
    "'''\"'''; a": "''; a",
    'f\'{a}\' + rF"""{b}"""': 'f\'{a}\' + rF"""{b}"""',
    "'#', a": "'', a",
}


@pytest.mark.parametrize("text", STRINGS)
def test_what_is_left_without_strings(text: str) -> None:
    assert code_of(text) == STRINGS[text]


@pytest.mark.parametrize("text", ["refit()", "fit_all = 1", "# a benefit"])
def test_a_part_of_a_name_is_not_the_name(text: str) -> None:
    assert not has_name("fit", text)


@pytest.mark.parametrize("text", ["self.a = 1", "self.a: int = 1", "(self.a, b) = c", "del x.a"])
def test_what_sets_an_attribute(text: str) -> None:
    assert may_set_attribute("a", text)


@pytest.mark.parametrize("text", ["self.a()", "self.a [0] = 1", "self.a.b = 1", "self.ab = 1"])
def test_what_does_not_set_it(text: str) -> None:
    assert not may_set_attribute("a", text)
