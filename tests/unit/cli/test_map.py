"""`tpulint map`: its options, its errors and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from tests.unit.map.programs import DEADLOCK
from tpulint.cli.commands import FUNCTION, split_place
from tpulint.cli.main import main


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(dedent(DEADLOCK))
    return "program.py"


def test_text_is_the_default_and_red_is_for_terminals(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "--no-cache", program]) == 0
    plain = capsys.readouterr().out
    assert "deadlock: each of these waits for the next" in plain
    assert "\x1b[" not in plain
    assert main(["map", "--no-cache", "--color", "always", program]) == 0
    assert "\x1b[31;1mdeadlock" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("style", "begins"),
    [("mermaid", "flowchart TB\n"), ("svg", "<svg "), ("html", "<!DOCTYPE html>\n")],
)
def test_a_picture_goes_where_it_is_wanted(
    style: str, begins: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "--no-cache", program, "--output-format", style]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(begins)
    assert main(["map", "--no-cache", program, "--output-format", style, "-o", "here"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("here").read_text(encoding="utf-8") == shown


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("gone.py", "gone.py: no such file or directory"),
        (".", "map: . is a directory: give one file"),
        ("program.py:step2", "there is no function 'step2'; did you mean 'step'?; functions with"),
        ("plain.py", "plain.py: nothing to map"),
        ("broken.py", "broken.py: cannot be parsed"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_and_exit_2(
    place: str, words: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("plain.py").write_text("print(1)\n")
    Path("broken.py").write_text("def f(:\n")
    assert main(["map", "--no-cache", place]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert words in error


def test_a_path_may_hold_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert split_place("a.py:f", FUNCTION) == ("a.py", "f")
    assert split_place("a.py:Meter.update", FUNCTION) == ("a.py", "Meter.update")
    Path("a.py:f").touch()
    assert split_place("a.py:f", FUNCTION) == ("a.py:f", None)
    assert split_place("a.py:f:g", FUNCTION) == ("a.py:f", "g")


def test_a_notebook_is_shown_by_its_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [{"cell_type": "code", "source": cell} for cell in ("x = 1", dedent(DEADLOCK))]
    Path("note.ipynb").write_text(json.dumps({"cells": cells}))
    assert main(["map", "--no-cache", "note.ipynb"]) == 0
    assert "outside_compilation(note) :cell 2:11" in capsys.readouterr().out
