"""A baseline knows findings by what their lines say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tpulint.diagnostics import baseline
from tpulint.finding import Finding, Location, Span
from tpulint.source import read_source

CODES = ("TPU101", "TPU201")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("")
    return tmp_path


def finding(row: int, code: str = "TPU101", filename: str = "a.py") -> Finding:
    return Finding(code, "message", Span(filename, Location(row, 1), Location(row, 2)))


def write(text: str, *findings: Finding) -> str:
    sources = {"a.py": read_source("a.py", text.encode())}
    Path("known.json").write_text(baseline.write(findings, sources, "known.json"))
    return "known.json"


def compare(
    text: str, *findings: Finding, codes: tuple[str, ...] = CODES
) -> baseline.BaselineComparison:
    sources = {"a.py": read_source("a.py", text.encode())}
    return baseline.compare(findings, sources, "known.json", ["a.py"], codes)


def test_moved_lines_stay_known() -> None:
    write("f(x)\n", finding(1))
    assert compare("\n\nif y:\n    f(x)\n", finding(4)) == baseline.BaselineComparison((), ())


def test_changed_lines_codes_and_files_do_not() -> None:
    write("f(x)\n", finding(1))
    actual = (finding(1), finding(2, "TPU201"))
    assert compare("f(y)\nf(x)\n", *actual).new == actual
    (Path.cwd() / "b.py").write_text("f(x)\n")
    other = finding(1, filename="b.py")
    assert compare("f(x)\n", other).new == (other,)


def test_one_more_of_the_same_stands() -> None:
    write("f(x)\nf(x)\n", finding(1), finding(2))
    actual = [finding(row) for row in (1, 2, 3)]
    assert compare("f(x)\nf(x)\nf(x)\n", *actual).new == (actual[2],)


def test_stale_entries_are_named() -> None:
    write("f(x)\ng(x)\n", finding(1), finding(2), finding(2, "TPU201"))
    compared = compare("f(x)\n", finding(1))
    assert compared.stale == (
        "a.py: 1 TPU101 of the baseline is no longer there",
        "a.py: 1 TPU201 of the baseline is no longer there",
    )


def test_what_was_not_asked_for_is_not_stale() -> None:
    write("f(x)\n", finding(1), finding(1, "TPU201"), finding(1, filename="b.py"))
    Path("b.py").write_text("")
    assert compare("f(x)\n", finding(1), codes=("TPU101",)).stale == ()
    Path("b.py").unlink()
    assert compare("f(x)\n", finding(1), codes=("TPU101",)).stale == (
        "b.py: 1 TPU101 of the baseline is no longer there",
    )


def test_paths_start_at_the_baseline(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("f(x)\n", finding(1))
    assert list(json.loads(Path("known.json").read_text())["files"]) == ["a.py"]
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    sources = {"../a.py": read_source("../a.py", b"f(x)\n")}
    actual = finding(1, filename="../a.py")
    compared = baseline.compare([actual], sources, "../known.json", ["../a.py"], CODES)
    assert compared.new == ()


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"version": 1}', '{"version": 1, "files": []}', '{"version": 9}']
)
def test_what_is_no_baseline(text: str) -> None:
    Path("known.json").write_text(text)
    with pytest.raises(baseline.BaselineError, match=r"^known\.json: "):
        baseline.read("known.json")


def test_a_missing_baseline() -> None:
    with pytest.raises(baseline.BaselineError, match="cannot read: No such file"):
        baseline.read("gone.json")
