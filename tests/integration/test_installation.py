"""The first commands of README.md, typed in a fresh checkout on a machine with Python and git."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.integration.conftest import ROOT

SECONDS = 300


def test_the_first_commands_of_the_readme(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    checkout = tmp_path / "checkout"
    for name in os.fsdecode(listed.stdout).rstrip("\0").split("\0"):
        if not name.startswith("tests/"):
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=SECONDS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    start = readme.partition("## Quick start")[2].partition("<!-- demo")[0]
    lines = [line.strip() for line in re.findall(r"^    (.*)", start, re.M) if "git+" not in line]
    assert lines == ["python -m pip install .", "tpulint check examples"]
    environment = {**os.environ, "PATH": f"{tmp_path / 'venv/bin'}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        ["bash", "-c", "; ".join(lines)],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    shown = readme.partition(f"$ {lines[-1]}/deadlock_metrics.py\n")[2].partition("\n\nFound")[0]
    assert shown in done.stdout
    assert "Found 3 errors." in done.stdout
