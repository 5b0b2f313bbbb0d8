"""Every format against its golden file, and what the goldens cannot show."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tpulint
from tests.unit.sample import (
    CONTEXT,
    DEADLOCK,
    FINDINGS,
    IN_LONG_NOTEBOOK,
    IN_NOTEBOOK,
    LONG_NOTEBOOK_ROW,
    NAME,
    ODD_ONE,
)
from tpulint import rules
from tpulint.finding import (
    LIMIT,
    OUTSIDE,
    UNKNOWN_FUNCTION,
    UNREAD,
    Certainty,
    Finding,
    Location,
    Span,
    Step,
    UnfollowedCall,
)
from tpulint.output import FORMATS, load
from tpulint.output.context import Coverage, RenderContext, Unchecked
from tpulint.output.summary import hidden_lines, statistics, summary
from tpulint.output.text import columns, flags, wanted
from tpulint.source import read_source

GOLDENS = Path(__file__).parent / "goldens"


NOTHING = "\n=== no findings ===\n"


@pytest.mark.parametrize("name", FORMATS)
def test_golden(name: str, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """The golden file holds the output for some findings, and the output for none."""
    monkeypatch.setattr(rules, "page", lambda code: f"# {code}\n\nIts page.\n")
    render = load(name)
    clean = RenderContext("/project", files=57, coverage=Coverage(3, 41, 57))
    output = render(FINDINGS, CONTEXT) + NOTHING + render((), clean)
    output = output.replace(tpulint.__version__, "VERSION")
    golden = GOLDENS / f"{name}.txt"
    if pytestconfig.getoption("--update", default=False):
        golden.write_text(output, encoding="utf-8")
    assert golden.exists(), "no golden file: run this test with --update, and read what it writes"
    assert output == golden.read_text(encoding="utf-8")


def test_every_format_has_its_golden_file_and_no_other_is_there() -> None:
    assert sorted(path.stem for path in GOLDENS.iterdir()) == sorted(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_cannot_be_read_can_still_be_named(name: str) -> None:
    lost = Finding("TPU001", "cannot read", Span("gone.py", Location(1, 1), Location(1, 1)))
    assert "gone.py" in load(name)([lost], RenderContext("/project"))


@pytest.mark.parametrize("name", ["concise", "full", "junit", "html"])
def test_no_control_character_reaches_the_terminal(name: str) -> None:
    assert "\x1b" not in load(name)([ODD_ONE], CONTEXT)


def test_full_keeps_to_its_width() -> None:
    for width in (80, 100, 140):
        context = CONTEXT._replace(width=width)
        lines = load("full")([DEADLOCK, NAME], context._replace(hidden={})).splitlines()
        assert max(map(columns, lines)) <= width
        assert sum(line.endswith("does nothing") for line in lines) == 1


def test_full_puts_lanes_in_columns_and_in_order_of_time() -> None:
    lines = load("full")([DEADLOCK], CONTEXT).splitlines()
    head = next(line for line in lines if line.startswith("  device"))
    column = head.index("| host")
    places = [line for line in lines if "trainer.py:" in line][1:]
    assert [line.index("trainer.py") > column for line in places] == [False] * 3 + [True] * 2
    assert [line.strip(" |")[0] for line in places] == ["1", "2", "3", "4", "5"]


def test_full_underlines_what_is_reported() -> None:
    lines = load("full")([DEADLOCK], CONTEXT).splitlines()
    marks = next(index for index, line in enumerate(lines) if "^" in line)
    underlined = lines[marks - 1][lines[marks].index("^") : lines[marks].rindex("^") + 1]
    assert underlined == "tf.tpu.outside_compilation(self.log, loss)"


def test_long_lines_are_cut_around_what_is_reported() -> None:
    text = "x = [" + "1, " * 200 + "bad()" + ", 1" * 200 + "]\n"
    source = read_source("a.py", text.encode())
    start = text.index("bad()") + 1
    finding = Finding("TPU405", "m", Span("a.py", Location(1, start), Location(1, start + 5)))
    lines = load("full")([finding], RenderContext("/p", {"a.py": source})).splitlines()
    marks = next(index for index, line in enumerate(lines) if "^" in line)
    first = lines[marks].index("^")
    assert lines[marks - 1][first : lines[marks].rindex("^") + 1] == "bad()"
    assert len(lines[marks - 1]) <= 100


def test_more_than_two_lanes_become_blocks_where_columns_get_narrow() -> None:
    span = DEADLOCK.span
    trace = tuple(Step(f"replica {number}", span, f"step {number}") for number in range(4))
    text = load("full")([DEADLOCK._replace(trace=trace)], CONTEXT)
    assert "\n  replica 3\n  ---------\n  4 trainer.py:15\n" in text


def test_colour_changes_no_word() -> None:
    import re

    coloured = CONTEXT._replace(color=True)
    for name in ("concise", "full"):
        text = load(name)(FINDINGS, coloured)
        assert "\x1b[" in text
        assert re.sub(r"\x1b\[[\d;]*m", "", text) == load(name)(FINDINGS, CONTEXT)


class Terminal:
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    assert wanted(terminal)  # type: ignore[arg-type]
    monkeypatch.setenv("TERM", "dumb")
    assert not wanted(terminal)  # type: ignore[arg-type]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wanted(terminal)  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wanted(terminal)  # type: ignore[arg-type]


def test_json_has_ruffs_keys_and_ours() -> None:
    (item,) = json.loads(load("json")([IN_NOTEBOOK], CONTEXT))
    assert (item["cell"], item["location"]) == (3, {"row": 2, "column": 14})
    assert item["end_location"] == {"row": 2, "column": 20}
    assert item["filename"] == "/project/note.ipynb"
    assert item["fix"]["edits"][0]["location"] == {"row": 2, "column": 14}
    assert item["trace"][0]["location"] == {"row": 1, "column": 1}
    ours = {"certainty", "trace"}
    ruffs = {"cell", "code", "end_location", "filename", "fix", "location", "message", "name"}
    assert set(item) == ours | ruffs | {"noqa_row", "severity", "url"}


def test_noqa_row_is_where_a_comment_can_stand() -> None:
    source = read_source("a.py", b'f("""\n""")\ng(x, \\\n  y)\n')
    actual = [
        Finding("TPU405", "m", Span("a.py", Location(row, 1), Location(row, 2))) for row in (1, 3)
    ]
    items = json.loads(load("json")(actual, RenderContext("/p", {"a.py": source})))
    assert [item["noqa_row"] for item in items] == [2, 4]


def test_jsonl_is_json_line_by_line() -> None:
    lines = load("jsonl")(FINDINGS, CONTEXT).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(load("json")(FINDINGS, CONTEXT))


def test_github_fields_and_messages_are_escaped() -> None:
    text = load("github")([ODD_ONE], CONTEXT)
    assert text.count("\n") == 1
    assert "100%25 <sure>" in text
    odd = ODD_ONE._replace(span=Span("a,b:c.py", Location(1, 1), Location(1, 2)))
    assert ",file=a%2Cb%3Ac.py,line=1," in load("github")([odd], CONTEXT)


def test_azure_fields_and_messages_are_escaped() -> None:
    odd = ODD_ONE._replace(
        span=Span("a;b].py", Location(1, 1), Location(1, 2)), message="100% [sure]; or\nnot"
    )
    text = load("azure")([odd], CONTEXT)
    assert text.startswith("##vso[task.logissue type=")
    assert ";sourcepath=a%3Bb%5D.py;linenumber=1;" in text
    assert text.count("\n") == text.count("]") == 1
    assert "100%AZP25 [sure%5D%3B or" in text


def test_gitlab_fingerprints_differ() -> None:
    items = json.loads(load("gitlab")([DEADLOCK, DEADLOCK, NAME], CONTEXT))
    assert len({item["fingerprint"] for item in items}) == 3


def test_html_is_well_formed() -> None:
    class Balance(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open_tags: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag != "meta":
                self.open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open_tags.pop() == tag

    page = Balance()
    page.feed(load("html")(FINDINGS, CONTEXT))
    assert page.open_tags == []


def test_summary_counts() -> None:
    assert summary([NAME], RenderContext("/p", fixed=2)).startswith(
        "Found 3 errors (2 fixed, 1 remaining)."
    )
    assert "[*] 1 fixable with `--fix` (1 more with `--unsafe-fixes`)." in summary(
        [NAME, DEADLOCK], CONTEXT
    )
    assert summary([NAME], RenderContext("/p", quiet=True)) == ""


def test_without_findings_the_summary_says_what_was_checked() -> None:
    context = RenderContext("/p", files=57, coverage=Coverage(3, 41, 57))
    assert summary([], context) == "Checked 3 TPU programs in 41 of 57 files.\n"
    single = context._replace(coverage=Coverage(1, 1, 1))
    assert summary([], single) == "Checked 1 TPU program in 1 of 1 file.\n"
    none = context._replace(coverage=Coverage(0, 0, 57, using={"t": 9}))
    assert summary([], none) == "No TPU program found in 57 files.\n"
    others = context._replace(coverage=Coverage(0, 0, 57, using={"j": 2, "x": 1}))
    assert summary([], others) == (
        "No TPU program found in 57 files."
        " Not checked: 2 files with JAX, 1 file with PyTorch/XLA.\n"
    )
    for other in (
        context._replace(files=0),
        context._replace(unchecked=[Unchecked("gone.py: no such file", "gone.py")]),
        context._replace(unparsed=1),
    ):
        assert "Checked" not in summary([], other)


def test_only_a_clean_result_is_green() -> None:
    context = RenderContext("/p", files=57, coverage=Coverage(3, 41, 57), color=True)
    assert "\x1b[" in summary([], context)
    assert "\x1b[" not in summary(
        [], context._replace(unchecked=[Unchecked("gone.py: no such file", "gone.py")])
    )


def test_the_summary_counts_what_was_left_out_by_its_kind() -> None:
    kinds = (LIMIT, LIMIT, OUTSIDE, UNREAD, UNKNOWN_FUNCTION)
    calls = [UnfollowedCall("a.py", row, 1, "f", "why", kind) for row, kind in enumerate(kinds, 1)]
    assert summary([], RenderContext("/p", files=1, unfollowed=calls)).splitlines()[1] == (
        "5 calls were not analyzed: 2 beyond a limit of the analysis, 1 of unknown functions,"
        " 1 of modules that were not read, 1 of other packages. See `--statistics`."
    )


def test_summaries_with_findings() -> None:
    assert summary(
        [NAME, NAME],
        RenderContext("/p", unchecked=[Unchecked("gone.py: no such file", "gone.py")]),
    ).startswith("Found 2 errors; not everything was checked.")


@pytest.mark.parametrize("certainty", Certainty)
def test_a_finding_shows_its_doubt(certainty: Certainty) -> None:
    doubt = {"definite": "", "possible": "[possible] ", "unlikely": "[unlikely] "}
    assert flags(NAME._replace(certainty=certainty, fix=None)) == doubt[certainty.value]


def test_hidden_findings_are_counted_by_code_with_what_to_set() -> None:
    hidden = {"TPU103": 2, "TPU802": 140, "TPU801": 1, "TPU501": 1, "TPU502": 1}
    assert hidden_lines(hidden, ["target-tensorflow"]) == [
        "145 possible findings hidden (140 TPU802, 2 TPU103, 1 TPU501, 2 of other codes). "
        "Use `--certainty possible` to show them.",
        "Set `target-tensorflow` so that TPU801 and TPU802 can be confirmed or ruled out.",
    ]
    assert hidden_lines({"TPU103": 1}, ["target-tensorflow"]) == [
        "1 possible finding hidden (TPU103). Use `--certainty possible` to show it."
    ]
    assert len(hidden_lines({"TPU802": 1})) == 1, "the target is set"


def test_statistics() -> None:
    unsure = NAME._replace(fix=None)
    assert statistics([DEADLOCK, NAME, unsure], {"TPU405": 0.0012, "TPU101": 0.1}, "full") == (
        "2\tTPU405\t[-] deprecated-name\t1.2 ms\n1\tTPU101\t[ ] host-variable-deadlock\t100.0 ms\n"
    )
    assert statistics([], {}, "full") == ""
    (row,) = json.loads(statistics([NAME], {}, "json"))
    assert row == {
        "code": "TPU405",
        "name": "deprecated-name",
        "count": 1,
        "fixable": True,
        "fixable_count": 1,
        "seconds": None,
    }


def test_rows_of_a_notebook_are_those_of_its_file() -> None:
    for name in ("github", "azure", "gitlab", "pylint", "rdjson", "sarif", "junit"):
        text = load(name)([IN_LONG_NOTEBOOK], CONTEXT)
        assert str(LONG_NOTEBOOK_ROW) in text, name
        assert "column" not in text.replace("columnKind", "").lower(), name


def test_rdjson_counts_the_bytes_of_utf_8() -> None:
    source = read_source("a.py", "x = '\u00e9\U0001f600'; f(a)\n".encode())
    finding = Finding("TPU405", "m", Span("a.py", Location(1, 10), Location(1, 14)))
    (item,) = json.loads(load("rdjson")([finding], RenderContext("/p", {"a.py": source})))[
        "diagnostics"
    ]
    assert item["location"]["range"]["start"] == {"line": 1, "column": 14}


def test_other_names_of_formats() -> None:
    assert load("text") is load("concise")
    assert load("json-lines") is load("jsonl")
