"""The concrete syntax tree of a file that gets fixes, and the edits that it gives."""

from __future__ import annotations

import re
from pathlib import Path

import libcst as cst
import pytest

from tests.rules.analysis import findings, program
from tpulint.diagnostics.fix import edited_text, with_edits
from tpulint.diagnostics.source_tree import CHANGES, changes, statement_around, tree_of
from tpulint.finding import Applicability, Change, Edit, Fix, Location, Span

PATTERN = "match x:\n    case {}:\n        f(x)\n"


@pytest.mark.parametrize(
    "text",
    [
        PATTERN.format("(" * 32 + "a" + ")" * 32),
        PATTERN.format("{'k': " * 32 + "a" + "}" * 32),
        PATTERN.format("[" * 32 + "a" + "]" * 32),
        "x = " + "a + " * 3000 + "a\n",
        "x = a" + ".b()" * 3000 + "\n",
        "x = " + "f(" * 150 + "a" + ")" * 150 + "\n",
        "if x:\n    pass\n" + "elif x:\n    pass\n" * 900,
        "x = (\n",
    ],
)
def test_what_libcst_cannot_read_at_once_has_no_tree(text: str) -> None:
    """Its time doubles with each level of a pattern, and a chain can overflow its stack."""
    assert tree_of(text) is None


def test_patterns_that_are_not_deep_are_read() -> None:
    assert tree_of(PATTERN.format("Point(x=0) | [a, (b, *c)]")) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f(x)", "g(f(x), [1])"),
        ("    a\n    b\n", "    with c:\n        a\n        b\n"),
        ("\tx = 'é'\n", "x = 'é'\n"),
        ("f(a, b)" * 200, "f(a)" * 200),
        ("    pass\n" * 5000, "@f\n" + "    pass\n" * 5000),
        ("(a)" * 330, "(b)" * 400),
    ],
)
def test_the_changes_of_a_text_give_the_new_one(old: str, new: str) -> None:
    def place(offset: int) -> Location:
        before = old[:offset].split("\n")
        return Location(len(before), len(before[-1]) + 1)

    edits = [Edit(place(start), place(end), content) for start, end, content in changes(old, new)]
    assert edited_text(old, edits) == new


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_only_the_argument_goes_whatever_the_rows_end_with(newline: str, tmp_path: Path) -> None:
    text = (
        "import tensorflow.compat.v1 as tf\n\nclass A:\n\tdef build(self, f, é):\n"
        "\t\ty = 'ä'; return tf.tpu.rewrite(  # step\n\t\t\tf, [é]{}\n\t\t)\n"
    ).replace("\n", newline)
    path = tmp_path / "example.py"
    block = program("pass")
    block.files.clear()
    path.write_bytes(text.format(", name='a'").encode())
    (actual,) = [finding for finding in findings(block, tmp_path) if finding.code == "TPU405"]
    assert actual.fix is not None
    assert edited_text(text.format(", name='a'"), actual.fix.edits, newline) == text.format("")


def test_of_a_file_with_many_findings_each_statement_is_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    parse = cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda text: parsed.append(text) or parse(text))
    row = "tf.tpu.rewrite(f, [1.0], name='{}')\n"
    rows = "".join(row.format(number) for number in range(9))
    reported = findings(
        program(f"import tensorflow.compat.v1 as tf\ndef f(x):\n    return x\n{rows}"), tmp_path
    )
    assert sum(finding.fix is not None for finding in reported) == 9
    assert [text.count("tf.tpu.rewrite") for text in parsed] == [1] * 9


MANY_STATEMENTS = """
import a
@a.b
def f(x):
    return g(x,
             y)
class C:
    z = g(1)

    @property
    def h(self):
        if self:
            return g(
                'é', 2)
i = 1; j = g(3)
text = '''
''' + g(4)
k = g(5)
"""


def called_at(text: str, start: int) -> Span:
    """The place of a call of `g` at an offset."""
    end = text.index(")", start) + 1
    places = []
    for offset in (start, end):
        before = text[:offset].split("\n")
        places.append(Location(len(before), len(before[-1]) + 1))
    return Span("", *places)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_statement_alone_gives_the_edits_of_the_whole_file(newline: str) -> None:
    starts = [match.start() for match in re.finditer(r"g\(", MANY_STATEMENTS)]
    text = MANY_STATEMENTS.replace("\n", newline)
    alone = 0
    for start in starts:
        span = called_at(MANY_STATEMENTS, start)
        statement = statement_around(text, span)
        alone += statement is not None
        change = Change("with_keyword", span.start, span.end, ("name", "1"))
        fix = with_edits(Fix(Applicability.SAFE, "", (), (change,)), text)
        tree = tree_of(text)
        assert tree is not None
        assert fix is not None
        assert fix.edits == CHANGES["with_keyword"](tree, span, "name", "1")
    assert alone == len(starts) - 1


def test_no_more_than_the_statement_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda text: parsed.append(text) or parse(text))
    text = "a = 1\n" * 50 + "class C:\n    def f(self):\n        return g(1)\n" + "b = 2\n" * 50
    place = called_at(text, text.index("g("))
    change = Change("with_keyword", place.start, place.end, ("name", "1"))
    assert with_edits(Fix(Applicability.SAFE, "", (), (change,)), text) is not None
    (part,) = parsed
    assert "b = 2" not in part
    assert "a = 1" not in part
