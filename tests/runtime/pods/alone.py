"""Tests and commands in a network that has loopback only, as TensorFlow's servers use all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.loopback import REFUSED

ROOT = Path(__file__).parents[3]
SECONDS = 840
"""Seconds that what runs alone may take; a quiet machine needs about 30."""
allow_its_time = pytest.mark.timeout(SECONDS + 60)
_SHOWN = 20_000
"""The characters of its output, from the end, that a failure shows."""


def run_alone(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python with `words` in a network of its own, or skip where the system refuses that."""
    try:
        done = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "loopback.py"), *words],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "PYTHONUNBUFFERED": "1"},
        )
    except subprocess.TimeoutExpired as error:
        shown = b"".join(filter(None, (error.stdout, error.stderr))).decode(errors="replace")
        pytest.fail(f"{words} has not ended, and has written:\n{shown[-_SHOWN:]}", pytrace=False)
    if done.returncode == REFUSED:
        pytest.skip("needs a network namespace, which this system refuses")
    return done


def pass_alone(*words: str) -> None:
    """Run tests in a network of their own; they must pass.

    One that hangs is named, with the stack of each thread. A signal would wait until TensorFlow's
    C++ returns, which it does not do then.
    """
    limit = ("--timeout=100", "--timeout-method=thread")
    done = run_alone(
        "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", *limit, *words
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-_SHOWN:]
