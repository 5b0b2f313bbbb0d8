"""A fix is a change of the tree that the cache holds; edits are made of it when it is shown."""

from __future__ import annotations

import json
import os
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
