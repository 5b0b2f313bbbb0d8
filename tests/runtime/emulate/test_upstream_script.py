"""scripts/upstream_tests.py reports how each test of a file ended, also one that hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "upstream_tests.py"
FILE = """
import time

from tensorflow.python.eager import test
from tensorflow.python.framework import config


class SomeTest(test.TestCase):

  def test_a_pass(self):
    self.assertLen(config.list_logical_devices("TPU"), 3)

  def test_b_hang(self):
    time.sleep(600)

  def test_c_fail(self):
    self.fail("for a reason")

  def test_d_skip(self):
    self.skipTest("not today")


if __name__ == "__main__":
  test.main()
"""


@pytest.mark.any_release
def test_how_each_test_ended(tmp_path: Path) -> None:
    path = tmp_path / "some_test.py"
    path.write_text(FILE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, SCRIPT, path, "--cores", "3", "--seconds", "8", "--details", "why"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=240,
    )
    assert done.returncode == 1, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first == "some_test.py: 1 failed, 1 hangs, 1 passed, 1 skips itself"
    assert [line.split()[:2] for line in rest] == [
        ["hangs", "SomeTest.test_b_hang"],
        ["failed", "SomeTest.test_c_fail"],
        ["skips", "itself"],
    ]
    assert "for a reason" in rest[1]
    assert "in test_c_fail" in (tmp_path / "why").read_text(encoding="utf-8")
