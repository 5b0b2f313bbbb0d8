"""A check ends soon and in little memory whatever a file holds, and costs no other file."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings

from tests.integration.programs import NESTED
from tests.properties.hostile_programs import projects

CPU_SECONDS = 30
WALL_SECONDS = 240  # beside many other tests
TOO_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
ADDRESS_SPACE = 2 << 30
# Calls of functions that no file holds are counted on standard error.
NOTHING_BUT_COUNTS = re.compile(r"(tpulint: \d+ calls? (was|were) not analyzed: .*\n)?")


def limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["check", "--no-cache", "--jobs", "1", "--output-format", "json", str(folder)]
    return subprocess.run(
        [sys.executable, "-m", "tpulint", *command],
        preexec_fn=limit_resources,
        capture_output=True,
        text=True,
        timeout=WALL_SECONDS,
        check=False,
    )


@given(projects())
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=TOO_SLOW)
def test_a_hostile_file_costs_little_and_no_other_file(files: Mapping[str, bytes]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").touch()
        for filename, data in {**files, "good.py": NESTED.encode()}.items():
            (folder / filename).write_bytes(data)
        done = check(folder)
    assert done.returncode == 1
    assert NOTHING_BUT_COUNTS.fullmatch(done.stderr), done.stderr
    codes = {Path(row["filename"]).name: row["code"] for row in json.loads(done.stdout)}
    assert codes["good.py"] == "TPU201"
