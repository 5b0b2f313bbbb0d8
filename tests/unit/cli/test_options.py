"""The options that ruff has too, with its meaning."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.unit.conftest import Terminal
from tpulint.output.text import paint


def rows(output: str) -> list[tuple[str, str]]:
    return [(os.path.basename(item["filename"]), item["code"]) for item in json.loads(output)]


def found(tpulint: Terminal, *arguments: str) -> list[tuple[str, str]]:
    tpulint("check", "--output-format", "json", *arguments)
    return rows(tpulint.out)


BOTH = [("a.py", "TPU201"), ("b.py", "TPU405")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--select", "TPU2", "--select", "TPU4"), BOTH),
        (("--select", "nested-outside-compilation,Deprecated-Name"), BOTH),
        (("--ignore", "TPU2", "--ignore", "deprecated-name"), []),
        (("--exclude", "a.py"), BOTH[1:]),
        (("--extend-exclude", "a.py,b.py"), []),
        (("--extend-exclude", "./a.py"), BOTH[1:]),
        (("--per-file-ignores", "a.py:TPU2,b.py:TPU2"), BOTH[1:]),
        (("--per-file-ignores", "!a.py:deprecated-name"), BOTH[:1]),
        (("--config", "ignore = ['TPU2']"), BOTH[1:]),
        (("--config", "ignore = ['TPU2']", "--config", "certainty = 'possible'"), None),
    ],
)
def test_what_is_selected(
    tpulint: Terminal, arguments: tuple[str, ...], expected: list[tuple[str, str]] | None
) -> None:
    wanted = [("a.py", "TPU103"), BOTH[1]] if expected is None else expected
    assert found(tpulint, *arguments) == wanted


def test_exclude_replaces_and_extend_exclude_adds(tpulint: Terminal, here: Path) -> None:
    (here / "venv").mkdir()
    (here / "venv/c.py").write_text("bad\n")
    (here / "tpulint.toml").write_text('extend-exclude = ["a.py"]\n')
    assert found(tpulint) == BOTH[1:]
    assert found(tpulint, "--extend-exclude", "b.py") == []
    assert found(tpulint, "--exclude", "b.py") == [("c.py", "TPU201")]


def test_each_file_is_judged_by_its_closest_configuration(tpulint: Terminal, here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub/c.py").write_text("bad\nmaybe\n")
    (here / "tpulint.toml").write_text('ignore = ["TPU201"]\n')
    (here / "sub/tpulint.toml").write_text('certainty = "possible"\nignore = ["TPU405"]\n')
    assert found(tpulint) == [("b.py", "TPU405"), ("c.py", "TPU201"), ("c.py", "TPU103")]
    assert found(tpulint, "--select", "TPU103") == [("c.py", "TPU103")]
    (here / "sub/tpulint.toml").write_text('target-tensorflow = "2.12"\n')
    assert found(tpulint) == [("b.py", "TPU405"), ("c.py", "TPU201")]
    (here / "sub/tpulint.toml").write_text("nonsense = 1\n")
    assert tpulint("check") == 2
    assert "sub/tpulint.toml: unknown key 'nonsense'" in tpulint.err


def test_each_baseline_is_for_its_files(tpulint: Terminal, here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub/c.py").write_text("bad\n")
    assert tpulint("check", "sub", "--write-baseline", "sub/known.json") == 0
    (here / "sub/tpulint.toml").write_text('baseline = "known.json"\n')
    assert found(tpulint) == BOTH
    assert found(tpulint, "sub") == []


def test_a_file_that_moved_stays_in_the_baseline(tpulint: Terminal, here: Path) -> None:
    tpulint("check", "--write-baseline", "known.json")
    (here / "sub").mkdir()
    (here / "a.py").rename(here / "sub/moved.py")
    assert found(tpulint, "--baseline", "known.json") == []
    assert "stale" not in tpulint.err
    (here / "a.py").write_text("bad(1)\n")
    assert found(tpulint, "--baseline", "known.json") == [("moved.py", "TPU201")]


def test_ignore_noqa(tpulint: Terminal, here: Path) -> None:
    (here / "a.py").write_text("bad(1)  # tpulint: ignore[Nested-Outside-Compilation]\n")
    assert found(tpulint) == BOTH[1:]
    assert found(tpulint, "--ignore-noqa") == BOTH


def test_names_in_suppressions(tpulint: Terminal, here: Path) -> None:
    (here / "b.py").write_text("bad(1)  # tpulint: ignore[deprecated-name, no-such-name]\n")
    (here / "a.py").unlink()
    assert found(tpulint) == [("b.py", "TPU201"), *[("b.py", "TPU002")] * 2]
    messages = [item["message"] for item in json.loads(tpulint.out)[1:]]
    assert messages == [
        "no rule has the code 'no-such-name'",
        "unused suppression of 'deprecated-name'",
    ]


def test_levels(tpulint: Terminal) -> None:
    assert tpulint("check", "-q", "--output-format", "concise") == 1
    assert tpulint.out == "a.py:1:1: TPU201 bad\nb.py:1:4: TPU405 [*] , name\n"
    assert tpulint("check", "-s") == 1
    assert tpulint.out + tpulint.err == ""
    assert tpulint("check", "-s", "gone.py") == 2
    assert tpulint.out + tpulint.err == ""
    assert tpulint("check", "-v") == 1
    assert "tpulint: 2 files to check\n" in tpulint.err
    assert "tpulint: configuration: none, the defaults apply\n" in tpulint.err


def test_color(tpulint: Terminal) -> None:
    tpulint("check", "--color", "always")
    assert paint("TPU201", "31", "1") in tpulint.out
    tpulint("check", "--color", "always", "--output-format", "json")
    assert "\x1b[" not in tpulint.out


def test_never_color(tpulint: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    tpulint("check", "--color", "never")
    assert "\x1b[" not in tpulint.out


def test_show_files(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "--show-files", "--exclude", "a.py") == 0
    assert tpulint.out == f"{here / 'b.py'}\n"
    assert tpulint("check", "--show-files", "b.py", "gone.py") == 2


def test_short_forms(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "-n", "-e", "-o", "out.txt") == 0
    assert "TPU201" in (here / "out.txt").read_text()
    assert not (here / ".tpulint_cache").exists()


def test_fix_only_reports_nothing_that_is_left(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "--fix-only") == 0
    assert (tpulint.out, tpulint.err) == ("", "Fixed 1 error.\n")
    assert (here / "b.py").read_text() == "f(1)\n"


def test_fix_only_with_diff_writes_nothing(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "--fix-only", "--diff") == 1
    assert "-f(1, name)\n+f(1)\n" in tpulint.out
    assert tpulint.err == "Would fix 1 error.\n"
    assert (here / "b.py").read_text() == "f(1, name)\n"


def test_show_fixes_and_exit_non_zero_on_fix(tpulint: Terminal, here: Path) -> None:
    (here / "b.py").write_text("f(1, name, name)\ng(2, name)\n")
    assert tpulint("check", "b.py", "--fix", "--show-fixes", "--exit-non-zero-on-fix") == 1
    assert (
        tpulint.err
        == "Fixed 3 errors:\n- b.py:\n    3 \N{MULTIPLICATION SIGN} TPU405 (deprecated-name)\n\n"
    )
    assert tpulint.out == "Found 3 errors (3 fixed, 0 remaining).\n"
    assert tpulint("check", "b.py", "--fix", "--show-fixes", "--exit-non-zero-on-fix") == 0


def test_a_fix_that_cannot_be_written_leaves_its_finding(
    tpulint: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert tpulint("check", "b.py", "--fix") == 2
    assert "b.py: cannot write the file: Permission denied" in tpulint.err
    assert "TPU405" in tpulint.out
    assert "passed" not in tpulint.out


def test_a_file_that_is_no_python_is_never_passed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(here)
    (here / "a.py").write_text("print 'outside_compilation'\n")
    tpulint = Terminal(capsys)
    assert tpulint("check", "--select", "TPU2") == 1
    assert "TPU001" in tpulint.out
    assert tpulint("check", "--ignore", "TPU001") == 0
    assert tpulint.out == (
        "Found no errors, but did not check 1 file that cannot be parsed (TPU001).\n"
    )


def test_a_folder_that_cannot_be_read_is_exit_2_beside_findings(
    tpulint: Terminal, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    (here / "locked").mkdir()
    monkeypatch.setattr(os, "scandir", scandir)
    assert tpulint("check", ".", "a.py") == 2
    assert "TPU201" in tpulint.out
    assert tpulint.err == "tpulint: locked: cannot read the directory: Permission denied\n"


def test_statistics_come_with_times_in_columns_and_as_json(tpulint: Terminal) -> None:
    assert tpulint("check", "--statistics", "--output-format", "json") == 1
    assert [row["code"] for row in json.loads(tpulint.out)] == ["TPU201", "TPU405"]
