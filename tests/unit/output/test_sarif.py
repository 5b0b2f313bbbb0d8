"""The parts of SARIF that GitHub and others read; test_output_sarif_schema.py has the schema."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.sample import (
    CONTEXT,
    DEADLOCK,
    FINDINGS,
    IN_LONG_NOTEBOOK,
    LONG_NOTEBOOK_ROW,
    NAME,
    TRAINER,
)
from tpulint.finding import Finding, Location, Span
from tpulint.output.context import RenderContext
from tpulint.output.sarif import render_sarif
from tpulint.source import read_source


def log_of(*findings: Finding, context: RenderContext = CONTEXT) -> Any:
    return json.loads(render_sarif(findings, context))


def test_uris_are_relative_and_quoted_and_absolute_only_outside() -> None:
    outside = Finding("TPU001", "m", Span("/else where/x.py", Location(1, 1), Location(1, 1)))
    run = log_of(*FINDINGS, outside)["runs"][0]
    artifacts = [
        result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]
    ]
    assert [artifact["uri"] for artifact in artifacts] == [
        "note.ipynb",
        "sub%20dir/odd.py",
        "trainer.py",
        "trainer.py",
        "file:///else%20where/x.py",
    ]
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == "file:///project/"
    assert ["uriBaseId" in artifact for artifact in artifacts] == [True] * 4 + [False]


def test_one_thread_flow_a_lane_and_one_order() -> None:
    (result,) = log_of(DEADLOCK)["runs"][0]["results"]
    device, host = result["codeFlows"][0]["threadFlows"]
    assert (device["id"], host["id"]) == ("device", "host")
    assert [location["executionOrder"] for location in device["locations"]] == [1, 2, 3]
    assert [location["executionOrder"] for location in host["locations"]] == [4, 5]
    last = host["locations"][-1]["location"]
    assert last["physicalLocation"]["region"]["startLine"] == 9
    assert last["message"]["text"].startswith("waits for the lock")


def prints(*findings: Finding, context: RenderContext = CONTEXT) -> list[str]:
    results = log_of(*findings, context=context)["runs"][0]["results"]
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]


def test_fingerprints_survive_moved_and_reindented_lines() -> None:
    moved = "\n\n" + TRAINER.replace("        return tf.tpu.rewrite", "    return  tf.tpu.rewrite")
    context = RenderContext("/project", {"trainer.py": read_source("trainer.py", moved.encode())})
    span = Span("trainer.py", Location(20, 1), Location(20, 2))
    assert prints(NAME._replace(span=span), context=context) == prints(NAME)


def test_fingerprints_tell_equal_lines_apart() -> None:
    assert len(set(prints(NAME, NAME, DEADLOCK))) == 3


def test_rules_stand_once_with_their_pages() -> None:
    run = log_of(NAME, NAME, DEADLOCK)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TPU101", "TPU405"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 1, 0]
    assert all(rule["id"] in rule["help"]["markdown"] for rule in rules)


def test_fixes_are_replacements() -> None:
    (result,) = log_of(NAME)["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    assert replacement == {
        "deletedRegion": {"startLine": 18, "startColumn": 54, "endLine": 18, "endColumn": 68},
        "insertedContent": {"text": ""},
    }


def test_notebooks_have_the_rows_of_their_json_and_name_the_cell() -> None:
    (result,) = log_of(IN_LONG_NOTEBOOK)["runs"][0]["results"]
    place = result["locations"][0]
    assert place["logicalLocations"][0]["name"] == "cell 3"
    row = LONG_NOTEBOOK_ROW
    assert place["physicalLocation"]["region"] == {"startLine": row, "endLine": row}
    assert "fixes" not in result, "its edits are of the cell's text, not of the file's"
