"""Rules and queries know programs by their trees: no source text, no patterns of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.imports import MODULES, PACKAGE, ROOT
from tpulint.frontends.tensorflow.knowledge import naming

READERS = sorted(
    path for path in MODULES if {"rules", "queries"} & set(path.relative_to(PACKAGE).parts)
)
PATTERNS = [name for name, row in vars(naming).items() if isinstance(row, naming.NamePattern)]


def readings_of_text(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what reads a text, or matches one: `module.text`, `re`, `.lower()`, `"tpu" in name`."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="text" | "lower" | "upper" | "casefold" | "splitlines"):
                yield node
            case ast.Import(names=names) if any(alias.name == "re" for alias in names):
                yield node


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_rule_and_no_query_reads_a_text(path: object) -> None:
    source = (ROOT / str(path)).read_text("utf-8")
    assert [ast.unparse(node) for node in readings_of_text(ast.parse(source))] == []


@pytest.mark.parametrize(
    "source", ["site.module.text", "import re", "name.lower()", "import os, re as matching"]
)
def test_a_reading_of_a_text_is_seen(source: str) -> None:
    assert list(readings_of_text(ast.parse(source)))


def test_each_pattern_of_names_says_why_it_is_needed_and_is_used() -> None:
    sources = [path.read_text("utf-8") for path in MODULES if path.name != "naming.py"]
    lines = Path(naming.__file__).read_text("utf-8").split("\n")
    for name in PATTERNS:
        (start,) = (at for at, line in enumerate(lines) if line.startswith(f"{name} = "))
        assert lines[start - 1].startswith("# "), name
        assert any(f"naming.{name}" in source for source in sources), name
