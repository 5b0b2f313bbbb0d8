"""The command line: options, exit status, streams, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.conftest import Terminal, report_words
from tpulint.check import driver
from tpulint.finding import Finding, Location, Span, Step
from tpulint.incremental.model import Analysis
from tpulint.output.text import paint


def rows(output: str) -> list[tuple[str, str]]:
    return [(os.path.basename(item["filename"]), item["code"]) for item in json.loads(output)]


def test_findings_and_their_summary(tpulint: Terminal) -> None:
    assert tpulint("check", "--output-format", "concise") == 1
    assert tpulint.out == (
        "a.py:1:1: TPU201 bad\nb.py:1:4: TPU405 [*] , name\nFound 2 errors.\n"
        "[*] 1 fixable with `--fix`.\n"
        "1 possible finding hidden (TPU103). Use `--certainty possible` to show it.\n"
    )
    assert tpulint.err == ""


def test_nothing_found(tpulint: Terminal, here: Path) -> None:
    (here / "c.py").write_text("ok\n")
    assert tpulint("check", "c.py") == 0
    assert tpulint.out == "No TPU program found in 1 file.\n"


def test_nothing_to_check_is_a_warning_and_no_pass(tpulint: Terminal, here: Path) -> None:
    (here / "c").mkdir()
    assert tpulint("check", "c") == 0
    assert tpulint.out == "No files were checked.\n"
    assert tpulint.err == "tpulint: warning: no Python files found under the given path(s)\n"
    assert tpulint("check", "c", "-q") == 0
    assert tpulint.out == tpulint.err == ""


def test_full_is_the_default(tpulint: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tpulint("check") == 1
    assert tpulint.out.startswith(
        "TPU201 nested-outside-compilation: bad\n --> a.py:1:1\n1 | bad(1)\n  | ^^^\n"
    )
    output = tpulint.out
    tpulint("check", "--output-format", "full")
    assert tpulint.out == output
    monkeypatch.setenv("TPULINT_OUTPUT_FORMAT", "concise")
    tpulint("check")
    concise = tpulint.out
    tpulint("check", "--output-format", "text")
    assert tpulint.out == concise != output


def test_hidden_findings_are_counted_on_standard_error_by_other_formats(tpulint: Terminal) -> None:
    assert tpulint("check", "--output-format", "json", "a.py") == 1
    assert rows(tpulint.out) == [("a.py", "TPU201")]
    hidden = "tpulint: 1 possible finding hidden (TPU103). Use `--certainty possible` to show it.\n"
    assert tpulint.err == hidden
    assert tpulint("check", "--output-format", "json", "-q", "a.py") == 1
    assert tpulint.err == ""


def test_hidden_ones_alone_are_exit_0(tpulint: Terminal, here: Path) -> None:
    (here / "a.py").write_text("maybe\n")
    assert tpulint("check", "a.py") == 0
    assert tpulint("check", "a.py", "--certainty", "possible", "--output-format", "concise") == 1
    assert "a.py:1:1: TPU103 [possible] maybe\n" in tpulint.out


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ((), ["TPU201", "TPU405"]),
        (("--select", "TPU4"), ["TPU405"]),
        (("--select", "tpu201,TPU4"), ["TPU201", "TPU405"]),
        (("--ignore", "TPU2"), ["TPU405"]),
        (("--select", "TPU2", "--extend-select", "TPU405"), ["TPU201", "TPU405"]),
        (("--select", "ALL", "--ignore", "TPU405"), ["TPU201"]),
        (("--certainty", "possible"), ["TPU201", "TPU103", "TPU405"]),
    ],
)
def test_selection(tpulint: Terminal, arguments: tuple[str, ...], codes: list[str]) -> None:
    assert tpulint("check", "--output-format", "json", *arguments) == 1
    assert [code for _, code in rows(tpulint.out)] == codes


def test_exit_zero(tpulint: Terminal) -> None:
    assert tpulint("check", "--exit-zero") == 0
    assert "TPU201" in tpulint.out


def test_statistics(tpulint: Terminal) -> None:
    assert tpulint("check", "--statistics") == 1
    assert (
        tpulint.out == "1\tTPU201\t[ ] nested-outside-compilation\n1\tTPU405\t[*] deprecated-name\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chek",), "invalid choice: 'chek'"),
        (("check", "--selct", "TPU1"), "unrecognized arguments: --selct; did you mean '--select'?"),
        (("check", "--output-format", "sarf"), "did you mean 'sarif'?"),
        (("check", "--select", "TPU20x"), "--select: unknown code 'TPU20x'; did you mean 'TPU20"),
        (("check", "--ignore", "E501"), "--ignore: unknown code 'E501'"),
        (("check", "--select", "nested-outside"), "did you mean 'nested-outside-compilation'?"),
        (("check", "--certainty", "sure"), "invalid choice: 'sure'"),
        (
            ("check", "--target-tensorflow", "3"),
            "--target-tensorflow: '3' is not a TensorFlow version",
        ),
        (("check", "--jobs", "0"), "--jobs: must be a whole number from 1"),
        (("check", "--fix", "--statistics"), "not allowed with argument --statistics"),
        (("check", "--sel", "TPU1"), "unrecognized arguments: --sel; did you mean '--select'?"),
        (("check", "--topology", "2x2"), "unrecognized arguments: --topology\n"),
        (("rule", "--selct", "x"), "unrecognized arguments: --selct\n"),
        (("check", "--per-file-ignores", "TPU1"), "'TPU1' is not PATTERN:CODE"),
        (("check", "--per-file-ignores", "a.py:X1"), "--per-file-ignores: unknown code 'X1'"),
        (("check", "--config", "certanty = 'possible'"), "did you mean 'certainty'?"),
        (("check", "--config", "jobs = 0"), "--config: jobs: must be a whole number from 1"),
        (("check", "--config", "jobs = "), "--config jobs = : not TOML"),
        (("check", "-v", "-q"), "not allowed with argument"),
        (("config", "gone.py"), "gone.py: no such file"),
        (("check", "--config", "gone.toml"), "gone.toml: cannot read"),
        (("check", "--config", "x", "--isolated"), "not allowed with argument"),
        (("check", "--baseline", "gone.json"), "tpulint: gone.json: cannot read"),
        (("check", "--stdin-filename", "x.py"), "needs - (standard input)"),
        (("check", "-", "a.py"), "cannot be combined with other paths"),
        (("check", "-", "--scheduler", "x"), "cannot be combined with --scheduler"),
        (("check", "--fix", "--scheduler", "x"), "--scheduler: not allowed with --watch"),
        (("check", "--add-suppressions", " "), "give a reason"),
        (("check", "--output-file", "a.py/x"), "a.py/x: cannot write: "),
        (("rule", "TPU201", "--all"), "give one CODE, or --all"),
        (("profile",), "invalid choice: 'profile'"),
        (("config", "certanty"), "and no key; did you mean 'certainty'?"),
        (("rule", "TPU999"), "unknown code 'TPU999'; did you mean 'TPU"),
        (("rule", "nested-outside-compilatio"), "did you mean 'nested-outside-compilation'?"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    tpulint: Terminal, arguments: tuple[str, ...], message: str
) -> None:
    assert tpulint(*arguments) == 2
    assert message in tpulint.err
    assert tpulint.err.startswith("tpulint: ")
    assert "internal error" not in tpulint.err
    assert tpulint.err.count("\n") == 1


def test_a_missing_path_is_exit_2_and_loses_no_finding(tpulint: Terminal) -> None:
    assert tpulint("check", "gone.py", "a.py", "--output-format", "concise") == 2
    assert "a.py:1:1: TPU201 bad\n" in tpulint.out
    assert tpulint.err == "tpulint: gone.py: no such file or directory\n"


def test_an_error_of_our_own_is_exit_2_and_loses_no_finding(tpulint: Terminal, here: Path) -> None:
    (here / "c.py").write_text("crash\n")
    assert tpulint("check", "--exit-zero", "--output-format", "concise") == 2
    assert "not everything was checked" in tpulint.out
    assert "a.py:1:1: TPU201" in tpulint.out
    assert tpulint.err == "tpulint: c.py: internal error: crash\n"


def test_whatever_breaks_is_one_line(tpulint: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(driver, "resolve", broken)
    assert tpulint("check") == 2
    assert re.fullmatch(
        r"tpulint: internal error: RuntimeError: first second at test_check\.py:\d+\n", tpulint.err
    )


def test_output_file(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "--output-format", "json", "--output-file", "new/out.json") == 1
    assert tpulint.out == ""
    assert len(rows((here / "new/out.json").read_text())) == 2
    assert (here / "new/out.json").stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


@pytest.mark.parametrize("option", ["--config", "project"])
def test_configuration_and_the_command_line_over_it(
    tpulint: Terminal, here: Path, option: str
) -> None:
    table = 'ignore = ["TPU2"]\ncertainty = "possible"\n'
    where = ()
    if option == "--config":
        (here / "other.toml").write_text(table)
        where = ("--config", "other.toml")
    else:
        (here / "pyproject.toml").write_text(f"[tool.tpulint]\n{table}")
    tpulint("check", "--output-format", "json", *where)
    assert [code for _, code in rows(tpulint.out)] == ["TPU103", "TPU405"]
    tpulint(
        "check", "--output-format", "json", "--certainty", "definite", "--select", "TPU2", *where
    )
    assert [code for _, code in rows(tpulint.out)] == ["TPU201"]


def test_isolated(tpulint: Terminal, here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.tpulint]\nnonsense = 1\n")
    assert tpulint("check") == 2
    assert "unknown key 'nonsense'" in tpulint.err
    assert tpulint("check", "--isolated") == 1


def test_per_file_ignores(tpulint: Terminal, here: Path) -> None:
    (here / "pyproject.toml").write_text('[tool.tpulint.per-file-ignores]\n"a.py" = ["TPU2"]\n')
    assert tpulint("check", "--output-format", "json") == 1
    assert rows(tpulint.out) == [("b.py", "TPU405")]
    (here / "pyproject.toml").write_text('[tool.tpulint.per-file-ignores]\n"!a.py" = ["ALL"]\n')
    tpulint("check", "--output-format", "json")
    assert rows(tpulint.out) == [("a.py", "TPU201")]


def test_exclude_and_force_exclude(tpulint: Terminal, here: Path) -> None:
    (here / "pyproject.toml").write_text('[tool.tpulint]\nexclude = ["a.py"]\n')
    tpulint("check", "--output-format", "json", ".", "b.py")
    assert rows(tpulint.out) == [("b.py", "TPU405")]
    assert tpulint("check", "a.py") == 1
    assert tpulint("check", "a.py", "--force-exclude") == 0


def test_files_beyond_the_asked_ones_are_not_reported(
    tpulint: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everywhere(*_: object) -> Analysis:
        spans = [Span(name, Location(1, 1), Location(1, 2)) for name in ("a.py", "b.py")]
        return Analysis(tuple(Finding("TPU201", "m", span) for span in spans))

    monkeypatch.setattr(driver, "analyze", everywhere)
    tpulint("check", "a.py", "--output-format", "json")
    assert rows(tpulint.out) == [("a.py", "TPU201")]


def test_named_files_come_with_the_project_around_them(
    tpulint: Terminal, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def look(task: driver.Task, unsaved: Mapping[str, bytes], *others: object) -> Analysis:
        seen.append(sorted((*task.filenames, *task.context)))
        return report_words(task, unsaved)

    monkeypatch.setattr(driver, "analyze", look)
    (here / "c.py").write_text("x = f()  # noqa: TPU201\n")
    tpulint("check", "a.py", "c.py")
    assert tpulint("check", "c.py") == 0
    (here / "setup.py").write_text("bad()\n")
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    assert tpulint("check", "../c.py", "--output-format", "json") == 1
    assert rows(tpulint.out) == [("c.py", "TPU002")], "seen with its callers, it is sure"
    whole = [str(here / name) for name in ("a.py", "b.py", "c.py", "setup.py")]
    assert seen == [["a.py", "c.py"], ["c.py"], whole]


def test_at_most_twelve_steps_a_lane(tpulint: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    span = Span("a.py", Location(1, 1), Location(1, 2))
    trace = tuple(
        Step(lane, span, str(number))
        for number in range(20)
        for lane in ("device", "host")[: 1 + (number < 3)]
    )
    monkeypatch.setattr(
        driver, "analyze", lambda *_: Analysis((Finding("TPU101", "m", span, trace=trace),))
    )
    tpulint("check", "a.py", "--output-format", "json")
    steps = json.loads(tpulint.out)[0]["trace"]
    device = [step["message"] for step in steps if step["lane"] == "device"]
    assert device == [str(number) for number in (*range(6), *range(14, 20))]
    assert [step["message"] for step in steps if step["lane"] == "host"] == ["0", "1", "2"]


def test_colour_only_where_it_is_wanted(tpulint: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    tpulint("check")
    assert "\x1b[" not in tpulint.out
    monkeypatch.setenv("FORCE_COLOR", "1")
    tpulint("check")
    assert paint("TPU201", "31", "1") in tpulint.out
    tpulint("check", "--output-format", "json")
    assert "\x1b[" not in tpulint.out


def test_a_reader_that_goes_away_is_no_traceback(here: Path) -> None:
    command = [sys.executable, "-m", "tpulint", "rule", "--all"]
    root = Path(driver.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 2
