"""Bad input gets a clear word, and the findings of the other files are all there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Answer, run, tpulint
from tests.integration.programs import NESTED
from tpulint.cache_dir import DATABASE
from tpulint.output import FORMATS

WORD = "# outside_compilation\n"  # lets a file through the screening of bytes
# Names that some releases lack, so that they are looked for in the code.
KERAS = b"from tensorflow import keras\n# https://keras.io/api/keras_cv/bounding_box/\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one good file, whose finding must never be lost."""
    (tmp_path / "good.py").write_text(NESTED)
    return tmp_path


def check(folder: Path, *arguments: str) -> tuple[list[dict[str, Any]], Answer]:
    """The findings beside the good file's, which must be there."""
    output = tpulint(folder, "check", "--output-format", "json", *arguments)
    actual = json.loads(output.out)
    good = [item for item in actual if item["filename"] == str(folder / "good.py")]
    assert [item["code"] for item in good] == ["TPU201"]
    return [item for item in actual if item not in good], output


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("latin.py", b"# outside_compilation\nx = '\xe9'\n", "not utf-8: byte 0xe9"),
        ("cookie.py", b"# coding: klingon\n# outside_compilation\n", "encoding cannot be used"),
        ("undefined.py", b"# coding: undefined\n# outside_compilation\n", "cannot be used"),
        ("named.py", b"# coding: undefined\n" + KERAS, "encoding cannot be used"),
        ("binary.py", b"outside_compilation\0\1\2", "binary"),
        ("old.py", b"print 'outside_compilation'\n", ""),
        ("half.py", b"tpu.outside_compilation(\n", ""),
        ("tabs.py", b"if outside_compilation:\n\tx\n        y\n", ""),
        ("broken.ipynb", b'{"cells": [outside_compilation', "not JSON"),
        ("list.ipynb", b'["outside_compilation"]', "no list of cells"),
    ],
)
def test_what_cannot_be_parsed_is_one_finding(
    folder: Path, name: str, data: bytes, words: str
) -> None:
    (folder / name).write_bytes(data)
    (finding,), answer = check(folder)
    assert finding["code"] == "TPU001"
    assert finding["filename"] == str(folder / name)
    assert words in finding["message"]
    assert finding["location"]["row"] >= 1
    assert (answer.status, answer.err) == (1, "")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.py", b""),
        ("mark.py", b"\xef\xbb\xbf# outside_compilation\r\n"),
        ("no_end.py", b"# outside_compilation\nx = 1"),
        ("returns.py", b"# outside_compilation\rx = 1\r"),
        ("feed.py", b"# outside_compilation\n\x0cx = 1\n"),
        ("declared.py", b"# coding: latin-1\nx = '\xe9'  # outside_compilation\n"),
        ("empty.ipynb", b'{"cells": []}  '),
        ("magic.ipynb", b'{"cells": [{"cell_type": "code", "source": "!ls outside_compilation"}]}'),
    ],
)
def test_what_is_odd_but_sound(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)
    result, answer = check(folder)
    assert result == []
    assert (answer.status, answer.err) == (1, "")


NESTINGS: dict[str, Callable[[], str]] = {
    "parentheses": lambda: "x = " + "(" * 5_000 + "1" + ")" * 5_000,
    "sum": lambda: "x = " + "1 + " * 20_000 + "1",
    "attributes": lambda: "x = a" + ".b" * 20_000,
    "calls": lambda: "x = f" + "()" * 5_000,
    "lists": lambda: "x = " + "[" * 150 + "]" * 150,
    "blocks": lambda: "".join(" " * depth + "if x:\n" for depth in range(99)) + " " * 99 + "y",
    "elifs": lambda: "if x:\n    y\n" + "elif x:\n    y\n" * 3_000,
    "f-strings": lambda: "x = " + "f'{" * 2 + "1" + "}'" * 2,
}


@pytest.mark.parametrize("name", NESTINGS)
def test_deep_nesting_ends_neither_the_process_nor_the_run(folder: Path, name: str) -> None:
    (folder / "deep.py").write_text(WORD + NESTINGS[name]() + "\n")
    result, answer = check(folder)
    assert {item["code"] for item in result} <= {"TPU001"}
    assert answer.status == 1


def test_classes_that_hold_themselves_or_each_other(folder: Path) -> None:
    classes = "class A:\n    pass\n\nclass B:\n    a = A\n\nA.a = A\nA.b = B\n\n"
    (folder / "circle.py").write_text(classes + NESTED)
    (finding,), answer = check(folder)
    assert (finding["code"], answer.status, answer.err) == ("TPU201", 1, "")


def test_a_generated_file_of_two_megabytes(folder: Path) -> None:
    row = "VALUE_{0} = [{0}, 'text', f(x={0}, y='" + "\\x00" * 50 + "')]\n"
    rows = "".join(row.format(number) for number in range(9_000))
    assert len(rows) > 2_000_000
    (folder / "generated.py").write_text(WORD + rows)
    result, answer = check(folder)
    assert (result, answer.err) == ([], "")


@pytest.mark.parametrize("text", ["x = 1\n" * 60_000, "x = 1; " * 500_000])
def test_a_file_of_more_than_can_be_read_says_so(folder: Path, text: str) -> None:
    (folder / "long.py").write_text(WORD + text)
    (finding,), answer = check(folder)
    assert (finding["code"], answer.status) == ("TPU001", 1)
    assert "longer than" in finding["message"]


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": [{"cell_type": "code", **cell} for cell in cells]})


@pytest.mark.parametrize("half", ["x = '\ud800'", ["x = 1\n", "# \udc00"]])
def test_a_lone_surrogate_costs_one_cell(folder: Path, half: str | list[str]) -> None:
    (folder / "half.ipynb").write_text(notebook({"source": NESTED}, {"source": half}))
    result, answer = check(folder)
    assert [(item["code"], item["cell"]) for item in result] == [("TPU201", 1), ("TPU001", 2)]
    assert "surrogate" in result[1]["message"]
    assert answer.err == ""


@pytest.mark.parametrize(
    "data", [{"text/plain": ["a line of text\n"] * 500_000}, {"json": list(range(1_000_000))}]
)
def test_what_cells_have_printed_is_not_searched(folder: Path, data: dict[str, Any]) -> None:
    """Numbers took minutes: they were taken for names that an import lists."""
    printed = {"source": NESTED, "outputs": [{"data": data}]}
    (folder / "printed.ipynb").write_text(notebook(printed))
    (finding,), answer = check(folder)
    assert (finding["code"], answer.status, answer.err) == ("TPU201", 1, "")


def test_many_suppressions_end(folder: Path) -> None:
    (folder / "many.py").write_text(NESTED + "# tpulint: ignore[TPU101]\n" * 40_000)
    result, _ = check(folder, "--ignore", "TPU002")
    assert [item["code"] for item in result] == ["TPU201"]


def test_a_file_that_cannot_be_opened(folder: Path) -> None:
    (folder / "locked.py").symlink_to("/proc/self/mem")
    result, answer = check(folder)
    assert answer.status in (1, 2)
    assert [item["code"] for item in result] == ["TPU001"] or "locked.py" in answer.err


def test_links_that_lead_nowhere_or_in_circles(folder: Path) -> None:
    (folder / "self.py").symlink_to("self.py")
    (folder / "gone.py").symlink_to("nowhere.py")
    (folder / "loop").symlink_to(".", target_is_directory=True)
    result, answer = check(folder)
    assert (result, answer.status) == ([], 1)
    result, answer = check(folder, "good.py", "self.py")
    assert [item["code"] for item in result] == ["TPU001"]


def test_a_name_that_is_no_unicode(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (folder / name).write_text("print 'outside_compilation'\n")
    for style in FORMATS:
        output = tpulint(folder, "check", "--output-format", style, "--output-file", "o")
        assert (output.status, output.err) == (1, "")
        assert b"TPU001" in (folder / "o").read_bytes()


def test_a_cache_that_cannot_be_written(folder: Path) -> None:
    (folder / "cache").write_text("a file where the directory should be")
    result, answer = check(folder, "--cache-dir", "cache")
    assert (result, answer.status) == ([], 1)
    result, answer = check(folder, "--cache-dir", "/proc/tpulint")
    assert (result, answer.status) == ([], 1)


def test_a_cache_full_of_rubbish(folder: Path) -> None:
    check(folder, "--cache-dir", "cache")
    entries = [path for path in (folder / "cache").rglob("*") if path.name == DATABASE]
    assert entries
    for path in entries:
        path.write_bytes(b"\x80rubbish")
    result, answer = check(folder, "--cache-dir", "cache")
    assert (result, answer.status) == ([], 1)


def test_the_checked_code_is_never_run(folder: Path) -> None:
    trap = "open('sprung', 'w')\n"
    for name in ("libcst.py", "json.py", "tpulint.py", "sitecustomize.py", "conftest.py"):
        (folder / name).write_text(WORD + trap)
    (folder / "setup.py").write_text(WORD + trap + NESTED)
    script = folder.parent / "script.py"  # what an installed `tpulint` command looks like
    script.write_text("import sys\nfrom tpulint.cli.main import main\nsys.exit(main())\n")
    command = [sys.executable, str(script), "check", "--output-format", "json", "--jobs", "2"]
    assert len(json.loads(run(command, folder).out)) == 2
    (folder / "tpulint.py").unlink()
    check(folder, "--jobs", "2")
    tpulint(folder, "check", "--fix", "--unsafe-fixes")
    assert not (folder / "sprung").exists()


KILLER = """\
import os
import sys

from tpulint.cli.main import main
from tpulint.syntax import lazy_module


def killing(summarize):
    def summarize_or_die(text):
        if "the poison" in text:
            os.kill(os.getpid(), 9)
        return summarize(text)

    return summarize_or_die


lazy_module.summarize = killing(lazy_module.summarize)
sys.exit(main())
"""


def test_a_killed_worker_costs_one_file(folder: Path) -> None:
    for number in range(20):
        (folder / f"more_{number}.py").write_text(f"{NESTED}\n# {number}\n")
    (folder / "more_7.py").write_text("# the poison: outside_compilation\n")
    script = folder.parent / "killer.py"
    script.write_text(KILLER)
    command = [sys.executable, str(script), "check", "--output-format", "json", "--no-cache"]
    answer = run([*command, "--jobs", "2", "."], folder)
    actual = [(Path(item["filename"]).name, item["code"]) for item in json.loads(answer.out)]
    assert "more_7.py: not analyzed: its process was killed" in answer.err
    assert len([code for _, code in actual if code == "TPU201"]) == 20
