from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_deadlock_is_printed_with_both_lanes():
    program = ROOT / "examples" / "runtime_deadlock.py"
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert any("  host cluster 0: waits for the variable 'global_step'" in line for line in lines)
    assert any("  device: waits for the result of host cluster 0" in line for line in lines)
    assert any("TPU105" in line for line in lines)
    assert done.stdout.count("runtime_deadlock.py:") >= 3
