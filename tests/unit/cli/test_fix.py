"""The command line changes files only where it is asked to, and knows what it lived with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.conftest import Terminal

Give = Callable[[bytes], None]


def rows(output: str) -> list[tuple[str, str]]:
    return [(os.path.basename(item["filename"]), item["code"]) for item in json.loads(output)]


def test_suppressions(tpulint: Terminal, here: Path) -> None:
    (here / "a.py").write_text(
        "bad(1)  # noqa: TPU201\n# tpulint: ignore[TPU201] -- why\nbad(2)\nok()  # noqa: TPU201\n"
    )
    assert tpulint("check", "--output-format", "json", "--ignore", "TPU405") == 1
    (item,) = json.loads(tpulint.out)
    assert (item["code"], item["location"]["row"]) == ("TPU002", 4)
    assert tpulint("check", "a.py") == 0, "a file alone shows no more than a possible TPU002"
    assert tpulint("check", "a.py", "--certainty", "possible") == 1
    assert tpulint("check", ".", "--select", "TPU002,TPU405", "--ignore", "TPU405") == 0


def test_a_suppression_of_a_hidden_finding_is_in_use(tpulint: Terminal, here: Path) -> None:
    (here / "a.py").write_text("maybe(1)  # noqa: TPU103\n")
    assert tpulint("check", "--select", "TPU0,TPU1") == 0
    assert "hidden" not in tpulint.out


def test_unused_suppressions_in_files_without_findings(tpulint: Terminal, here: Path) -> None:
    (here / "c.py").write_text("x = 1  # tpulint: ignore[TPU201]\n")
    assert tpulint("check", "--select", "TPU002,TPU201", "--ignore", "TPU201") == 0
    assert tpulint("check", "--output-format", "json") == 1
    assert ("c.py", "TPU002") in rows(tpulint.out)


def test_fix_writes_and_counts(tpulint: Terminal, here: Path) -> None:
    (here / "b.py").write_bytes(b"\xef\xbb\xbff(1, name)\r\nf(2, name, name)\r\n")
    (here / "b.py").chmod(0o750)
    assert tpulint("check", "--fix") == 1
    assert (here / "b.py").read_bytes() == b"\xef\xbb\xbff(1)\r\nf(2)\r\n"
    assert (here / "b.py").stat().st_mode & 0o777 == 0o750
    assert "Found 4 errors (3 fixed, 1 remaining).\n" in tpulint.out
    assert sorted(path.name for path in here.iterdir()) == ["a.py", "b.py"]
    assert tpulint("check", "--fix", "b.py") == 0


def test_fix_removes_unused_suppressions(tpulint: Terminal, here: Path) -> None:
    (here / "b.py").write_text("x = 1  # noqa: TPU201, F401\n")
    tpulint("check", "--fix")
    assert (here / "b.py").read_text() == "x = 1  # noqa: F401\n"


def test_fix_through_a_symbolic_link(tpulint: Terminal, here: Path) -> None:
    (here / "c").mkdir()
    (here / "c/link.py").symlink_to("../b.py")
    assert tpulint("check", "--fix", "c/link.py") == 0
    assert (here / "c/link.py").is_symlink()
    assert (here / "b.py").read_text() == "f(1)\n"


def test_fix_of_a_file_that_cannot_be_written(
    tpulint: Terminal, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    assert tpulint("check", "--fix") == 2
    assert "tpulint: b.py: cannot write the file: Permission denied" in tpulint.err
    assert (here / "b.py").read_text() == "f(1, name)\n"
    assert "fixed" not in tpulint.out


def test_diff_shows_and_writes_nothing(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "--diff") == 1
    assert tpulint.out == "--- b.py\n+++ b.py\n@@ -1 +1 @@\n-f(1, name)\n+f(1)\n"
    assert (here / "b.py").read_text() == "f(1, name)\n"
    assert tpulint("check", "--diff", "a.py") == 0


def test_standard_input_gives_what_the_file_gives(
    tpulint: Terminal, here: Path, give: Give
) -> None:
    tpulint("check", "a.py", "--output-format", "json")
    expected = tpulint.out
    give((here / "a.py").read_bytes())
    assert tpulint("check", "-", "--stdin-filename", "a.py", "--output-format", "json") == 1
    assert tpulint.out == expected


def test_standard_input_without_a_name(tpulint: Terminal, give: Give) -> None:
    give(b"bad()\n")
    assert tpulint("check", "-", "--output-format", "concise") == 1
    assert tpulint.out.startswith("-:1:1: TPU201 bad\n")


def test_standard_input_counts_not_the_file(tpulint: Terminal, give: Give) -> None:
    give(b"ok()\n")
    assert tpulint("check", "-", "--stdin-filename", "a.py") == 0


def test_standard_input_is_excluded_by_its_name(tpulint: Terminal, give: Give) -> None:
    give(b"bad()\n")
    assert tpulint("check", "-", "--stdin-filename", "venv/a.py", "--force-exclude") == 0


def test_standard_input_is_fixed_to_standard_output(tpulint: Terminal, give: Give) -> None:
    give(b"bad(1, name)\r\n")
    assert tpulint("check", "-", "--fix", "--output-format", "concise") == 1
    assert tpulint.out == "bad(1)\r\n"
    assert "-:1:1: TPU201 bad\n" in tpulint.err


def test_baseline_written_used_and_stale(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "--write-baseline", "known.json") == 0
    assert tpulint.out == "Wrote 2 findings to known.json.\n"
    (here / "a.py").write_text("\n\nbad(1)\nbad(9)\n")
    assert tpulint("check", "--baseline", "known.json", "--output-format", "json") == 1
    assert [item["location"]["row"] for item in json.loads(tpulint.out)] == [4]
    (here / "b.py").write_text("f(1)\n")
    (here / "a.py").write_text("bad(1)\n")
    assert tpulint("check", "--baseline", "known.json") == 0
    assert "known.json: stale: b.py: 1 TPU405 of the baseline is no longer there" in tpulint.err
    assert "known.json: `--write-baseline` writes it without the stale entries" in tpulint.err


def test_a_configured_baseline_is_not_in_the_way_of_a_new_one(
    tpulint: Terminal, here: Path
) -> None:
    (here / "pyproject.toml").write_text('[tool.tpulint]\nbaseline = "known.json"\n')
    assert tpulint("check", "--write-baseline", "known.json") == 0
    assert tpulint("check") == 0
    assert tpulint("check", "--write-baseline", "known.json") == 0
    assert tpulint.out == "Wrote 2 findings to known.json.\n"


def test_add_suppressions(tpulint: Terminal, here: Path) -> None:
    assert tpulint("check", "--add-suppressions", "known since 2020") == 0
    assert tpulint.out == "Added 2 suppressions.\n"
    first = (here / "a.py").read_text().splitlines()[0]
    assert first == "bad(1)  # tpulint: ignore[TPU201] -- known since 2020"
    assert tpulint("check") == 0


def test_a_suppression_joins_the_comment_that_is_there(tpulint: Terminal, here: Path) -> None:
    """A second comment in one line would not be read."""
    line = "bad(1, name=2)  # tpulint: ignore[TPU405] -- on purpose\n"
    (here / "a.py").write_text(line)
    assert tpulint("check", "--add-suppressions", "known", "a.py") == 0
    joined = "bad(1, name=2)  # tpulint: ignore[TPU405, TPU201] -- on purpose\n"
    assert (here / "a.py").read_text() == joined
    assert tpulint("check", "a.py") == 0
