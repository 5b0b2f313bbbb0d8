"""A fix is a change of the tree that the cache holds; edits are made of it when it is shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.integration.conftest import tpulint

PROGRAM = """\
import tensorflow.compat.v1 as tf

step = tf.tpu.rewrite(tf.abs, [[1.0]], name="step")
"""


def test_a_finding_from_the_cache_has_its_fix(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    # GitHub's format shows no fix, so the first run makes no edits.
    tpulint(tmp_path, "check", "--output-format", "github", "program.py")
    assert os.listdir(tmp_path / ".tpulint_cache")
    (finding,) = json.loads(tpulint(tmp_path, "check", "--output-format", "json", "program.py").out)
    (edit,) = finding["fix"]["edits"]
    assert (finding["fix"]["message"], edit["content"]) == ("drop `name=`", "")
    assert edit["location"] == {"column": 38, "row": 3}


def loaded_modules(folder: Path) -> set[str]:
    """Return the modules that a check of the program loads."""
    command = [sys.executable, "-X", "importtime", "-m", "tpulint", "check", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_edits_are_made_once(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert "libcst" in loaded_modules(tmp_path)
    assert "libcst" not in loaded_modules(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM.replace("tf.abs", "tf.sin"), encoding="utf-8")
    assert "libcst" in loaded_modules(tmp_path)


def test_comments_of_other_tools_need_no_tree(tmp_path: Path) -> None:
    text = f"import os  # noqa: F401\n{PROGRAM}"
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    loaded_modules(tmp_path)
    assert "libcst" not in loaded_modules(tmp_path)
    text = text.replace("F401", "TPU102")
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    loaded_modules(tmp_path)
    assert "libcst" in loaded_modules(tmp_path)
