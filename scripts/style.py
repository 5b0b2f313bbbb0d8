"""Count what the project's style rules out, and fail where the count is not zero.

    python scripts/style.py [--show]

Three counts: docstrings and comments whose first word puts the sentence the wrong way round,
words in prose that have a plainer one, and metaphors in the documentation for users. `--show` lists
each place.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CODE = ("tpulint", "plugins", "scripts", "benchmarks", "tests", "examples")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs", "tpulint/rules", "changelog.d")

# A docstring says what a thing is or does; these begin a clause that depends on another.
OPENERS = frozenset(
    ["Whether", "What", "Whose", "Who", "Those", "How", "Which", "Where", "Why", "If", "That"]
)
WORDS = re.compile(
    r"\b(stands (?:in|on|at|for itself|there|above|below|beside|behind|under)|stand (?:in|on|there)"
    r"|mends?|mended|surely|tells? of|is told|are told|hangs on(?! a TPU)|takes none)\b"
)
METAPHORS = re.compile(r"\b(houses?|rooms?|walls?(?! time)|floors?|roof)\b", re.IGNORECASE)
EXEMPT = frozenset([Path(__file__).name])


class Place(NamedTuple):
    """One place that the style rules out: the rule, and the words there."""

    rule: str
    path: Path
    row: int
    words: str


def main() -> int:
    """Print the counts; exit status 1 where one is not zero."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--show", action="store_true", help="list each place")
    options = parser.parse_args()
    places = list(found())
    if options.show:
        for place in places:
            print(f"{place.path.relative_to(ROOT)}:{place.row}: {place.rule}: {place.words}")
    for rule in ("opener", "word", "metaphor"):
        print(f"style: {rule}: {sum(place.rule == rule for place in places)}")
    return int(bool(places))


def found() -> Iterator[Place]:
    """Yield every place that the style rules out."""
    for path in _files(CODE, "*.py"):
        text = path.read_text(encoding="utf-8")
        yield from openers(path, text)
        yield from words(path, text)
    for path in _files(DOCUMENTS, "*.md"):
        yield from metaphors(path, path.read_text(encoding="utf-8"))


def openers(path: Path, text: str) -> Iterator[Place]:
    """Yield the docstrings, those of attributes too, and the comments that begin with OPENERS."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(prose))) if _opens(prose):
                yield Place("opener", path, node.lineno, prose.strip().partition("\n")[0])
    for row, prose in _comments(text):
        if _opens(prose):
            yield Place("opener", path, row, prose)


def _opens(prose: str) -> bool:
    """Return whether the first word is one of OPENERS, and the sentence is no question."""
    first = re.split(r"\W", prose.strip(), maxsplit=1)[0]
    return first in OPENERS and not re.match(r"[^.]*\?", prose.strip())


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text of each comment with its row; of a block, that of the first line."""
    rows: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            if not (alone and token.start[0] - 1 in rows):
                yield token.start[0], token.string.lstrip("#: ")
            if alone:
                rows.add(token.start[0])


def words(path: Path, text: str) -> Iterator[Place]:
    """Yield the comments and docstrings of `text` that hold one of WORDS."""
    for row, prose in _prose(text):
        hit = WORDS.search(prose)
        if hit is not None:
            yield Place("word", path, row, hit[0])


def metaphors(path: Path, text: str) -> Iterator[Place]:
    """Yield the lines of a document, its code left out, that hold one of METAPHORS or WORDS."""
    in_code = False
    for row, line in enumerate(text.splitlines(), 1):
        in_code ^= line.startswith("```")
        if in_code or line.startswith("    "):
            continue
        hit = METAPHORS.search(line)
        if hit is not None:
            yield Place("metaphor", path, row, hit[0])
        hit = WORDS.search(line)
        if hit is not None:
            yield Place("word", path, row, hit[0])


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and the docstrings of `text`, each with its row."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(prose))):
                yield node.lineno, prose


def _files(places: tuple[str, ...], pattern: str) -> Iterator[Path]:
    for place in places:
        path = ROOT / place
        for each in [path] if path.is_file() else sorted(path.rglob(pattern)):
            if each.name not in EXEMPT:
                yield each


if __name__ == "__main__":
    sys.exit(main())
