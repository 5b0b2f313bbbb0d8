"""Fixes: edits of bytes, to a fixpoint, never to something that does not parse."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest

from tpulint.diagnostics.fix import ROUNDS, apply, difference, edited, fix_all
from tpulint.diagnostics.suppress import annotate
from tpulint.finding import Applicability, Edit, Finding, Fix, Location, Span
from tpulint.source import Source, read_source

SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def edit(first: tuple[int, int], last: tuple[int, int], content: str) -> Edit:
    return Edit(Location(*first), Location(*last), content)


def fix(*edits: Edit, applicability: Applicability = SAFE) -> Fix:
    return Fix(applicability, "message", edits)


def finding(mend: Fix | None, filename: str = "a.py") -> Finding:
    start = mend.edits[0].start if mend else Location(1, 1)
    return Finding("TPU405", "message", Span(filename, start, start), fix=mend)


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"f(a, b)\n", b"f(x, b)\n"),
        (b"f(a,\r\n b)\r\n", b"f(x,\r\n b)\r\n"),
        (b"\xef\xbb\xbff(a)", b"\xef\xbb\xbff(x)"),
        ("f(a) # \U0001f600".encode(), "f(x) # \U0001f600".encode()),
    ],
)
def test_all_other_bytes_stay(data: bytes, after: bytes) -> None:
    assert edited(read_source("a.py", data), [edit((1, 3), (1, 4), "x")]) == after


def test_rows_and_columns_count_characters() -> None:
    source = read_source("a.py", "s = '\u00e9\U0001f600'\r\nt = '\u00e9'; f(a)\r\n".encode())
    assert (
        edited(source, [edit((2, 10), (2, 13), "g(\n)")])
        == "s = '\u00e9\U0001f600'\r\nt = '\u00e9'; g(\r\n))\r\n".encode()
    )


def test_a_declared_encoding_stays() -> None:
    source = read_source("a.py", b"# coding: latin-1\nf('\xe9', a)\n")
    assert edited(source, [edit((2, 3), (2, 6), "'\xe8'")]) == b"# coding: latin-1\nf('\xe8', a)\n"


def test_a_character_that_the_encoding_lacks() -> None:
    source = read_source("a.py", b"# coding: latin-1\nx = 1\n")
    assert edited(source, [edit((2, 1), (2, 2), "\u20ac")]) is None


def run(
    text: bytes, rule: Callable[[str], list[Fix]], unsafe: bool = False
) -> tuple[bytes, int, list[str]]:
    def check(unsaved: Mapping[str, bytes]) -> tuple[Sequence[Finding], Mapping[str, Source]]:
        source = read_source("a.py", unsaved.get("a.py", text))
        return [finding(row) for row in rule(source.text)], {"a.py": source}

    fixed = fix_all(check, unsafe)
    return fixed.files.get("a.py", text), fixed.counts.total(), fixed.messages


def drop_names(text: str) -> list[Fix]:
    """One fix for every `, n` of the first row."""
    places = [index for index in range(len(text)) if text.startswith(", n", index)]
    return [fix(edit((1, index + 1), (1, index + 4), "")) for index in places]


def test_to_a_fixpoint() -> None:
    assert run(b"f(a, n, n, b, n)\n", drop_names) == (b"f(a, b)\n", 3, [])


def test_of_overlapping_fixes_the_first_wins_and_the_rest_wait() -> None:
    def rule(text: str) -> list[Fix]:
        if text == "f(abc)\n":
            return [fix(edit((1, 4), (1, 6), "Y")), fix(edit((1, 3), (1, 5), "X"))]
        return [fix(edit((1, 1), (1, 2), "g"))] if text.startswith("f") else []

    assert run(b"f(abc)\n", rule) == (b"g(Xc)\n", 2, [])


def test_a_fix_is_applied_whole_or_not_at_all() -> None:
    def rule(text: str) -> list[Fix]:
        if text != "f(abc)\n":
            return []
        two = fix(edit((1, 1), (1, 2), "g"), edit((1, 4), (1, 5), "Y"))
        return [two, fix(edit((1, 4), (1, 5), "Z"))]

    assert run(b"f(abc)\n", rule)[0] == b"g(aYc)\n"


def test_unsafe_fixes_are_asked_for() -> None:
    def rule(text: str) -> list[Fix]:
        return [fix(edit((1, 1), (1, 2), "g"), applicability=UNSAFE)] if text[0] == "f" else []

    assert run(b"f()\n", rule)[:2] == (b"f()\n", 0)
    assert run(b"f()\n", rule, unsafe=True)[:2] == (b"g()\n", 1)


def test_a_fix_that_breaks_the_file_is_left_out_and_the_others_applied() -> None:
    def rule(text: str) -> list[Fix]:
        good = [fix(edit((2, 1), (2, 2), "g"))] if "\nf" in text else []
        return [fix(edit((1, 2), (1, 3), "")), *good]

    assert run(b"f()\nf()\n", rule) == (
        b"f()\ng()\n",
        1,
        ["a.py: a fix was left out: its result would not parse"],
    )


def test_fixes_without_an_end_stop() -> None:
    data, count, messages = run(b"f()\n", lambda text: [fix(edit((1, 1), (1, 1), "f"))])
    assert data == b"f" * (ROUNDS + 1) + b"()\n"
    assert count == ROUNDS
    assert messages == [f"fixes did not converge after {ROUNDS} rounds"]


def cells(*texts: str) -> Source:
    cells = [{"cell_type": "code", "source": text.splitlines(True)} for text in texts]
    return read_source("n.ipynb", json.dumps({"cells": cells}, indent=2).encode())


def test_notebooks_are_written_back_into_their_cells() -> None:
    source = cells("%magic\nf(a)", "g(b)\nh(c)", "k(d)")
    data, applied = apply(source, [fix(edit((4, 3), (4, 4), "x")), fix(edit((2, 1), (3, 1), ""))])
    assert len(applied) == 2
    assert data == cells("%magic", "g(b)\nh(x)", "k(d)").data


def test_no_edit_crosses_cells() -> None:
    source = cells("f(a)", "g(b)")
    assert edited(source, [edit((1, 1), (2, 2), "")]) is None


def test_difference_shows_lines_with_their_ends() -> None:
    source = read_source("a.py", b"a\r\nb")
    assert difference(source, b"a\r\nc") == (
        "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n"
        "+c\n\\ No newline at end of file\n"
    )


def at(row: int, code: str) -> Finding:
    return Finding(code, "message", Span("a.py", Location(row, 1), Location(row, 2)))


def test_annotate_puts_a_comment_where_one_can_stand() -> None:
    text = 'f(x)\ng(x)   # word\r\nh = """\n"""\nk = 1 + \\\n  2\n'
    source = read_source("a.py", text.encode())
    actual = [at(1, "TPU201"), at(1, "TPU101"), at(2, "TPU101"), at(3, "TPU101"), at(5, "TPU101")]
    data, number = annotate(actual, {"a.py": source}, "known # 7")["a.py"]
    comment = "  # tpulint: ignore[TPU101] -- known No. 7"
    assert number == 5
    assert (
        data
        == (
            "f(x)  # tpulint: ignore[TPU101, TPU201] -- known No. 7\n"
            f'g(x)   # word{comment}\r\nh = """\n"""{comment}\nk = 1 + \\\n  2{comment}\n'
        ).encode()
    )


def test_annotate_leaves_out_what_no_comment_mends() -> None:
    source = read_source("a.py", b"x = 1\n")
    assert annotate([at(1, "TPU002")], {"a.py": source}, "why")["a.py"] == (b"x = 1\n", 0)


def test_a_file_that_libcst_cannot_read_is_fixed_where_cpython_can() -> None:
    """A tab counts as eight blanks for Python, and as one more indent for libcst."""
    source = read_source("a.py", b"def f():\n    if a:\n\t    b = 1\n    return 2\n")
    data, applied = apply(
        source, [fix(edit((3, 10), (3, 11), "2")), fix(edit((4, 12), (4, 13), ")"))]
    )
    assert len(applied) == 1
    assert data == b"def f():\n    if a:\n\t    b = 2\n    return 2\n"
