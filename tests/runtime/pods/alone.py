"""Tests and commands in a network that has loopback only, as TensorFlow's servers use all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.loopback import REFUSED

ROOT = Path(__file__).parents[3]


def run_alone(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python with `words` in a network of its own, or skip where the system refuses that."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "loopback.py"), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
    )
    if done.returncode == REFUSED:
        pytest.skip("needs a network namespace, which this system refuses")
    return done


def pass_alone(*words: str) -> None:
    """Run tests in a network of their own; they must pass."""
    done = run_alone(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=100", *words
    )
    assert done.returncode == 0, done.stdout[-20_000:]
