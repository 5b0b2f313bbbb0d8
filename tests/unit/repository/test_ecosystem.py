"""The harness that compares two revisions tells what each of them says, and what differs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import ecosystem

# A tool of one rule: every line that holds `word` is a finding.
TOOL = """\
import json, pathlib, sys
for package in sys.argv[sys.argv.index("--output-format=jsonl") + 1:]:
    for path in sorted(pathlib.Path(package).rglob("*.py")):
        for row, line in enumerate(path.read_text().splitlines(), 1):
            if "{word}" in line:
                print(json.dumps({{
                    "filename": str(path), "location": {{"row": row, "column": 1}},
                    "code": "TPU101", "certainty": "{certainty}", "message": "no {word}",
                }}))
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A project with two tagged revisions, and two packages to check."""
    project = tmp_path / "project"
    (project / "tpulint").mkdir(parents=True)
    # A whole package: one without this file would give way to an installed tpulint.
    (project / "tpulint" / "__init__.py").touch()
    git(project, "init", "--quiet")
    for tag, word, certainty in (("old", "red", "definite"), ("new", "blue", "possible")):
        text = TOOL.format(word=word, certainty=certainty)
        (project / "tpulint" / "__main__.py").write_text(text, encoding="utf-8")
        git(project, "add", ".")
        git(project, "commit", "--quiet", "--message", tag)
        git(project, "tag", tag)
    actual = []
    for name, text in (("one", "red\nblue\n"), ("two", "\nblue\n")):
        actual.append(tmp_path / name)
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(ecosystem, "ROOT", project)
    monkeypatch.setattr(ecosystem, "corpus_packages", lambda: actual[:1])
    return actual


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def printed(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["ecosystem.py", *words])
    assert ecosystem.main() == 0
    return capsys.readouterr().out.splitlines()


def test_differences_are_listed_by_package_rule_and_place(
    packages: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(["old", "new", "--folder", str(packages[1])], monkeypatch, capsys)
    assert lines[:3] == ["# Ecosystem: `old` → `new`", "", "2 findings added, 1 gone, 0 unchanged."]
    assert lines[lines.index("|---|---|---|---|") + 1 :] == [
        "| one | TPU101 | +0 -1 | +1 -0 |",
        "| two | TPU101 | +0 -0 | +1 -0 |",
        "",
        "## one",
        "",
        "- added: `code.py:2:1 TPU101 (possible)` no blue",
        "- gone: `code.py:1:1 TPU101 (definite)` no red",
        "",
        "## two",
        "",
        "- added: `code.py:2:1 TPU101 (possible)` no blue",
    ]


def test_without_a_second_revision_the_checkout_is_taken(
    packages: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(["new"], monkeypatch, capsys)
    assert lines == [
        "# Ecosystem: `new` → `checkout`",
        "",
        "0 findings added, 0 gone, 1 unchanged.",
    ]


def test_an_unknown_revision_is_an_error(
    packages: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ecosystem.py", "no-such-revision"])
    assert ecosystem.main() == 2
    assert "no-such-revision" in capsys.readouterr().err
