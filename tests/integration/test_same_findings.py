"""One program, one answer: by whatever way and in whatever format it is asked for."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import ROOT, flake8, tpulint
from tests.integration.programs import EXPECTED, PROGRAMS
from tpulint.cli.main import main

EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
Row = tuple[str, int, int, str]


@pytest.fixture(scope="module", params=[*PROGRAMS, "examples"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds one program, or all of the examples."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "pyproject.toml").write_text("")
    for name, text in PROGRAMS.get(request.param, {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    if request.param == "examples":
        for path in EXAMPLES:
            target = folder / path.relative_to(ROOT / "examples")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return folder


@functools.cache
def check(folder: Path, style: str, *arguments: str) -> str:
    """Return tpulint's output in the format, run in this process once for all tests."""
    before = os.getcwd()
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out):
            main(["check", "--no-cache", "--jobs", "1", "--output-format", style, *arguments])
    finally:
        os.chdir(before)
    out.seek(0)
    return out.read()


def items(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = json.loads(check(folder, "json", *arguments))
    return data


def row_of(item: dict[str, Any], folder: Path) -> Row:
    name = Path(item["filename"]).relative_to(folder).as_posix()
    return name, item["location"]["row"], item["location"]["column"], item["code"]


def rows(folder: Path, *arguments: str) -> list[Row]:
    return sorted(row_of(item, folder) for item in items(folder, *arguments))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_hold_what_they_are_here_for(name: str, tmp_path: Path) -> None:
    for filename, text in PROGRAMS[name].items():
        (tmp_path / filename).write_text(text, encoding="utf-8")
    assert [item["code"] for item in items(tmp_path)] == EXPECTED[name]


def in_lines(pattern: str, output: str) -> list[Row]:
    matches = re.findall(pattern, output, re.MULTILINE)
    return sorted((name, int(row), int(column), code) for name, row, column, code in matches)


def test_text_and_github(folder: Path) -> None:
    expected = rows(folder)
    assert in_lines(r"^(.+?):(\d+):(\d+): (TPU\d+) ", check(folder, "concise")) == expected
    pattern = r"^::.*?::(.+?):(\d+):(\d+): (TPU\d+) "
    assert in_lines(pattern, check(folder, "github")) == expected


def test_full(folder: Path) -> None:
    output = check(folder, "full")
    actual = [
        (name, int(row), int(column), code)
        for code, name, row, column in re.findall(
            r"^(TPU\d+) .*\n(?:       .*\n)*? *--> (.+?):(\d+):(\d+)$", output, re.MULTILINE
        )
    ]
    assert sorted(actual) == rows(folder)


def test_jsonl(folder: Path) -> None:
    lines = check(folder, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == items(folder)


def test_sarif(folder: Path) -> None:
    log = json.loads(check(folder, "sarif"))
    actual = []
    for result in log["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        uri = place["artifactLocation"]["uri"]
        actual.append((uri, region["startLine"], region["startColumn"], result["ruleId"]))
    assert sorted(actual) == rows(folder)
    traces = {tuple(row_of(item, folder)): item["trace"] for item in items(folder)}
    for row, result in zip(actual, log["runs"][0]["results"], strict=True):
        flows = result.get("codeFlows", [{"threadFlows": []}])[0]["threadFlows"]
        assert sum(len(flow["locations"]) for flow in flows) == len(traces[row])


def test_gitlab_and_junit(folder: Path) -> None:
    expected = rows(folder)
    actual = []
    for item in json.loads(check(folder, "gitlab")):
        begin = item["location"]["positions"]["begin"]
        name = item["location"]["path"]
        actual.append((name, begin["line"], begin["column"], item["check_name"]))
    assert sorted(actual) == expected
    cases = ElementTree.fromstring(check(folder, "junit")).iter("testcase")
    assert (
        sorted(
            (case.get("file"), int(case.get("line", 0)), int(case.get("column", 0)), code)
            for case in cases
            for code in [case.get("name", "").split()[0]]
        )
        == expected
    )


def test_standard_input_and_single_files(folder: Path) -> None:
    expected = items(folder)
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        mine = [item for item in expected if item["filename"] == str(path)]
        assert items(folder, name) == mine
        arguments = ("--no-cache", "--output-format", "json", "-", "--stdin-filename", name)
        output = tpulint(folder, "check", *arguments, data=path.read_bytes())
        assert json.loads(output.out) == mine
        assert output.status == (1 if mine else 0)


def test_flake8(folder: Path, plugin: Path) -> None:
    output = flake8(plugin, folder, *(path.name for path in sorted(folder.glob("*")))).out
    unparsable = {row[0] for row in rows(folder) if row[3] == "TPU001"}
    expected = [row for row in rows(folder) if row[0] not in unparsable]
    assert in_lines(r"^(?:\./)?(.+?):(\d+):(\d+): (TPU\d+) ", output) == expected


def test_cold_and_warm_cache_and_any_number_of_jobs(folder: Path) -> None:
    expected = items(folder)
    arguments = ("--output-format", "json", "--cache-dir", "the_cache")
    for jobs in ("1", "1", "2"):
        output = tpulint(folder, "check", *arguments, "--jobs", jobs)
        assert json.loads(output.out) == expected
        assert output.err.count("internal error") == 0
