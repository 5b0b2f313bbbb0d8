"""The terms of docs/glossary.md name classes, functions and files of the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"
TERM = re.compile(r"\| ([^|]+) \| ([^|]+) \| \[([^]]+)\]\(([^)]+)\) \|")
MOST = 50


class Term(NamedTuple):
    """One line of a table: the word, and the name and path that it links to."""

    word: str
    named: str
    path: Path


def rows() -> list[str]:
    """Return the lines of the tables, their headings left out."""
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    return [line for line in table if not line.startswith(("| word |", "|---"))]


def terms() -> list[Term]:
    """Return the terms of all tables, in their order."""
    actual = filter(None, map(TERM.fullmatch, rows()))
    return [Term(item[1], item[3], GLOSSARY.parent / item[4]) for item in actual]


def test_every_row_has_a_word_a_meaning_and_a_link() -> None:
    assert len(terms()) == len(rows())


def test_the_glossary_is_short_and_names_each_word_once() -> None:
    words = [term.word for term in terms()]
    assert 0 < len(words) <= MOST
    assert len(words) == len(set(words))


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.word)
def test_each_word_names_a_class_a_function_or_a_file(term: Term) -> None:
    if not term.named.startswith("`"):
        assert term.path.is_file()
        assert term.named == term.path.name
        return
    tree = ast.parse(term.path.read_text(encoding="utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    assert term.named.strip("`") in {node.name for node in tree.body if isinstance(node, kinds)}
