"""The files that other services read follow their published schemas."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = {
    "vendor.github-actions": ["action.yml"],
    "vendor.github-workflows": sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / ".github/workflows").iterdir()
    ),
    "vendor.dependabot": [".github/dependabot.yml"],
    "vendor.github-issue-forms": sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / ".github/ISSUE_TEMPLATE").iterdir()
    ),
    "vendor.citation-file-format": ["CITATION.cff"],
}


@pytest.mark.parametrize("schema", FILES)
def test_a_file_follows_its_schema(schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run(
        [*command, *FILES[schema]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_actions_are_pinned_to_commits() -> None:
    files = [ROOT / "action.yml", *(ROOT / ".github/workflows").iterdir()]
    used = [
        action
        for file in files
        for action in re.findall(r"uses: (\S+)", file.read_text(encoding="utf-8"))
        if action != "./"
    ]
    assert len(used) > 8
    assert [action for action in used if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", action)] == []


def test_the_action_writes_a_report_and_ends_as_the_check_did(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("")
    (tmp_path / "my models").mkdir()
    (tmp_path / "my models" / "train.py").write_text(
        "import tensorflow as tf\n"
        "tf.compat.v1.tpu.rewrite(lambda x: x, [tf.ones([2])], name='step')\n",
        encoding="utf-8",
    )
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    steps = {step["name"]: step for step in action["runs"]["steps"] if "name" in step}
    defaults = {name: str(row["default"]) for name, row in action["inputs"].items()}
    output = tmp_path / "output"
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PATHS": "my models\nother.py\n",
        "ARGUMENTS": "--select TPU405 --no-cache",
        "SARIF": defaults["sarif-file"],
        "GITHUB_OUTPUT": str(output),
    }
    command = ["bash", "-e", "-c", steps["Check"]["run"]]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=60)
    assert output.read_text(encoding="utf-8") == "status=1\n"
    report = json.loads((tmp_path / "tpulint.sarif").read_text(encoding="utf-8"))
    assert [result["ruleId"] for result in report["runs"][0]["results"]] == ["TPU405"]
    last = ["bash", "-e", "-c", steps["Fail where something was found"]["run"]]
    ended = subprocess.run(last, env={**environment, "STATUS": "1"}, check=False, timeout=60)
    assert ended.returncode == 1
