"""The comments of a file with findings are read once, and its text is all that they depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpulint.diagnostics.source_tree import tree_of
from tpulint.diagnostics.suppress import comment_facts, read_comments
from tpulint.finding import Finding, Location, Span
from tpulint.incremental.memo import Database, Memo, Result
from tpulint.incremental.queries import COMMENTS, KnownComments
from tpulint.source import Source

TEXT = '''text = """
# noqa: TPU101"""
x = f(1, \\
      2)  # tpulint: ignore[TPU501]
y = """
"""  # noqa
z = 1  # a plain comment
'''
BROKEN = "x = (  # tpulint: ignore\n"


def source_of(text: str) -> Source:
    return Source("a.py", text.encode(), text)


@pytest.mark.parametrize("text", [TEXT, BROKEN, "x = 1  # noqa\n"])
def test_what_is_known_is_what_is_read(text: str, tmp_path: Path) -> None:
    source = source_of(text)
    memo = Database(str(tmp_path / "cache"))
    first = KnownComments(memo)
    assert first.read(source) == comment_facts(source)
    first.write()
    tree_of.cache_clear()
    assert KnownComments(memo).read(source) == comment_facts(source)
    tree_of.cache_clear()
    KnownComments(memo).read(source)
    assert tree_of.cache_info().misses == 0
    KnownComments(memo).read(source_of(text + "\n"))
    assert tree_of.cache_info().misses == 1


def test_a_suppression_with_known_comments_covers_what_it_does_without() -> None:
    source = source_of(TEXT)
    memo = Memo()
    known_comments = KnownComments(memo)
    known_comments.read(source)
    known_comments.write()
    tree_of.cache_clear()
    comments = read_comments(source, read=KnownComments(memo).read)
    assert suppressed_rows(comments.suppress) == suppressed_rows(read_comments(source).suppress)
    assert suppressed_rows(comments.suppress) == [3, 4, 5, 6]


def suppressed_rows(suppress: object) -> list[int]:
    """Return the rows on which a finding of TPU501 is suppressed."""
    assert callable(suppress)
    spans = [Span("a.py", Location(row, 1), Location(row, 2)) for row in range(1, 8)]
    return [span.start.row for span in spans if suppress(Finding("TPU501", "", span))]


def test_a_result_that_does_not_decode_is_read_again() -> None:
    source = source_of(TEXT)
    memo = Memo()
    known_comments = KnownComments(memo)
    known_comments.read(source)
    known_comments.write()
    ((query, head),) = memo._values
    (key,) = memo._values[query, head]
    memo.write([Result(COMMENTS, head, key, '[["no place"]]')], {})
    assert KnownComments(memo).read(source) == comment_facts(source)
