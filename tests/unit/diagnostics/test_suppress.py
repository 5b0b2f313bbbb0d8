"""Suppression comments: what they silence, and those that silence nothing."""

from __future__ import annotations

import libcst as cst
import pytest

from tpulint.diagnostics import source_tree
from tpulint.diagnostics.fix import edited
from tpulint.diagnostics.suppress import read_comments, unused
from tpulint.finding import Certainty, Finding, Location, Span
from tpulint.source import Source, read_source


def source_of(text: str) -> Source:
    return read_source("a.py", text.encode())


def finding(first: int, last: int | None = None, code: str = "TPU101") -> Finding:
    span = Span("a.py", Location(first, 1), Location(last or first, 2))
    return Finding(code, "message", span)


def silenced(text: str, *findings: Finding) -> list[bool]:
    comments = read_comments(source_of(text))
    return [comments.suppress(item) for item in findings]


@pytest.mark.parametrize(
    ("text", "is_sure"),
    [
        ("x = y = 1  # noqa: TPU101\n", True),
        ("'text'  # noqa: TPU101\n", True),
        ("f()\n# tpulint: ignore[TPU101]\n", True),
        ("def f():\n    # tpulint: ignore[TPU101]\n    pass\n", True),
        ("x = y  # noqa: TPU101\n", False),
        ("x.y = 1  # noqa: TPU101\n", False),
        ("f(\n    1,  # noqa: TPU101\n)\n", False),
        ("import x  # noqa: TPU101\n", False),
        ("if x:  # noqa: TPU101\n    pass\n", False),
        ("if x:\n    f()\nelse:  # noqa: TPU101\n    f()\n", True),
        ("try:\n    f()\nexcept E:  # noqa: TPU101\n    f()\n", False),
        ("@f  # noqa: TPU101\ndef g(): pass\n", False),
        ("match x:\n    case y if f():  # noqa: TPU101\n        pass\n", False),
        ("match x:\n    case y if f():\n        pass  # noqa: TPU101\n", True),
        ("x = 1\ny = (  # noqa: TPU101\n", False),
        ("x = 1; f()  # noqa: TPU101\n", False),
        ("x = 1  # tpulint: ignore-file[TPU101]\n", False),
        ("f()  # noqa: TPU802\n", True),
        ("f()  # tpulint: ignore[removed-api]\n", True),
        ("f()  # noqa: TPU802, TPU101\n", False),
    ],
)
def test_unused_is_sure_where_the_file_alone_decides(text: str, is_sure: bool) -> None:
    (suppression,) = idle(text, active=("TPU101", "TPU802"))
    assert suppression.certainty is (Certainty.DEFINITE if is_sure else Certainty.POSSIBLE)


def test_names_are_codes() -> None:
    text = "f()  # tpulint: ignore[host-variable-deadlock, TPU102]\n"
    assert silenced(text, finding(1), finding(1, code="TPU103")) == [True, False]
    assert idle(text, finding(1), finding(1, code="TPU102")) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA: tpu101",
        "# noqa: TPU101",
        "# noqa:TPU101",
        "# noqa : TPU101",
        "# noqa: F401, TPU101",
        "# noqa: F401 TPU101",
        "# noqa: TPU1",
        "# noqa: TPU101 because",
        "# why # noqa: TPU101",
        "# tpulint: ignore[TPU101]",
        "# tpulint:ignore[TPU201, TPU101]",
        "# tpulint: ignore[TPU1] -- a reason",
        "# tpulint: ignore",
        "# type: ignore # tpulint: ignore[TPU101]",
        "# tpulint: ignore-file[TPU101] -- generated",
    ],
)
def test_comments_that_silence(comment: str) -> None:
    assert silenced(f"x = 1  {comment}\n", finding(1)) == [True]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: F401",
        "# noqa: TPU102",
        "# noqas",
        "# tpulint: ignore[TPU102]",
        "# tpulint: ignore[]",
        "# tpulint: ignored[TPU101]",
        "# type: ignore",
        "'# noqa: TPU101'",
        '"""# tpulint: ignore[TPU101]"""',
    ],
)
def test_what_silences_nothing(comment: str) -> None:
    assert silenced(f"x = 1  ;{comment}\n", finding(1)) == [False]


def test_only_its_own_line() -> None:
    text = "a = 1\nb = 2  # noqa: TPU101\nc = 3\n"
    assert silenced(text, finding(1), finding(2), finding(3)) == [False, True, False]


def test_first_and_last_line_of_what_is_reported() -> None:
    text = "f(  # noqa: TPU101\n  x,\n)\ng(\n  x,\n)  # noqa: TPU101\nh(\n  x, # noqa: TPU101\n)\n"
    assert silenced(text, finding(1, 3), finding(4, 6), finding(7, 9)) == [True, True, False]


@pytest.mark.parametrize("comment", ["# tpulint: ignore[TPU101]", "# noqa: TPU101"])
def test_alone_above(comment: str) -> None:
    text = f"if x:\n    {comment}\n\n    # another word\n    a = 1\n    b = 2\n"
    assert silenced(text, finding(1), finding(5), finding(6)) == [False, True, False]


def test_a_bare_noqa_alone_means_its_own_line_only() -> None:
    assert silenced("# noqa\na = 1\n", finding(2)) == [False]


def test_beside_code_it_does_not_reach_the_next_line() -> None:
    assert silenced("a = 1  # noqa: TPU101\nb = 2\n", finding(2)) == [False]


def test_after_a_backslash_and_after_a_long_string() -> None:
    text = 'a = 1 + \\\n  2 + \\\n  3  # noqa: TPU101\nb = """\n"""  # noqa: TPU101\n'
    assert silenced(text, finding(1), finding(4)) == [True, True]


def test_a_file_that_is_not_quite_python() -> None:
    text = "x = 1  # noqa: TPU001\nprint 'a'\n) ` $\n"
    assert silenced(text, finding(1, code="TPU001")) == [True]


def test_noqa_can_be_left_to_another_tool() -> None:
    source = source_of("a  # noqa: TPU101\nb  # tpulint: ignore[TPU101]\n")
    comments = read_comments(source, noqa=False)
    assert [comments.suppress(finding(row)) for row in (1, 2)] == [False, True]


def idle(
    text: str, *findings: Finding, active: tuple[str, ...] = ("TPU101", "TPU102", "TPU2")
) -> list[Finding]:
    comments = read_comments(source_of(text))
    for item in findings:
        comments.suppress(item)
    return list(unused(comments, active, source_of(text)))


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: F401",
        "# noqa: T201",
        "# noqa: TPU301",
        "# noqa: TPU1",
        "# tpulint: ignore[TPU301]",
        "# noqa: TPU002",
    ],
)
def test_never_unused(comment: str) -> None:
    assert idle(f"x = 1  {comment}\n") == []


def test_used_is_not_unused() -> None:
    assert (
        idle(
            "x = 1  # noqa: TPU101\n# tpulint: ignore-file[TPU102]\n",
            finding(1),
            finding(1, code="TPU102"),
        )
        == []
    )


def test_unused_is_as_sure_as_the_view_is_wide_and_unknown_is_sure() -> None:
    (suppression,) = idle("x = f()  # noqa: TPU101\n")
    assert (suppression.code, suppression.certainty) == ("TPU002", Certainty.POSSIBLE)
    assert suppression.message == "unused suppression of 'TPU101'"
    assert suppression.span == Span("a.py", Location(1, 10), Location(1, 24))
    (other,) = idle("x = 1  # noqa: TPU999\n")
    assert (other.message, other.certainty) == ("no rule has the code 'TPU999'", Certainty.DEFINITE)
    (foreign,) = idle("x = 1  # tpulint: ignore[F401]\n")
    assert foreign.message == "no rule has the code 'F401'"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TPU101\n", "x = 1\n"),
        ("x = 1  # noqa: F401, TPU101\n", "x = 1  # noqa: F401\n"),
        ("x = 1  # noqa: TPU101 F401 why\n", "x = 1  # noqa: F401 why\n"),
        ("x = 1  # noqa: TPU101 # type: ignore\n", "x = 1  # type: ignore\n"),
        ("x = 1  # noqa: TPU101 why\n", "x = 1  # why\n"),
        ("x = 1  # why # noqa: TPU101\n", "x = 1  # why\n"),
        ("x = 1  # tpulint: ignore[TPU101] -- why\n", "x = 1\n"),
        (
            "x = 1  # tpulint: ignore[TPU101, TPU301] -- why\n",
            "x = 1  # tpulint: ignore[TPU301] -- why\n",
        ),
        ("x = 1  # tpulint: ignore\n", "x = 1\n"),
        ("if y:\n    # tpulint: ignore[TPU101]\n    x = 1\n", "if y:\n    x = 1\n"),
        ("# tpulint: ignore-file[TPU101]\r\nx = 1\r\n", "x = 1\r\n"),
    ],
)
def test_the_fix_takes_the_comment_away(before: str, after: str) -> None:
    (actual,) = idle(before)
    assert actual.fix is not None
    assert edited(source_of(before), actual.fix.edits) == after.encode()


def test_a_comment_may_follow_strings_that_continue_each_other() -> None:
    text = 'f("""\n""", """\n""")  # noqa: TPU101\n'
    assert silenced(text, finding(1)) == [True]


@pytest.mark.parametrize("text", ["f(x)\n", "f('''x''')  # type: ignore\n", "f(x)  # noqa\n"])
def test_the_tree_is_made_only_if_a_comment_counts(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_texts: list[str] = []
    monkeypatch.setattr(source_tree, "tree_of", read_texts.append)
    silenced(text, finding(1))
    assert read_texts == ([text] if "noqa" in text else [])


def test_a_file_is_searched_once_for_what_can_be_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """40,000 unused suppressions took 80 seconds: the tree was searched for each of them."""
    visited: list[cst.CSTNode] = []
    gives_constant = source_tree.gives_constant

    def noted(node: cst.CSTNode) -> bool:
        visited.append(node)
        return gives_constant(node)

    monkeypatch.setattr(source_tree, "gives_constant", noted)
    source = source_of("x = 1  # noqa: TPU101\n" * 20 + "f(x)  # noqa: TPU101\n")
    findings = list(unused(read_comments(source), {"TPU101"}, source))
    assert [finding.certainty for finding in findings] == [Certainty.DEFINITE] * 20 + [
        Certainty.POSSIBLE
    ]
    assert sum(isinstance(node, cst.Module) for node in visited) == 1
