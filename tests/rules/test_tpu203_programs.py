"""Programs with TPU203, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "a main that absl calls": V1
    + """
from absl import app

def main(argv):
    tf.tpu.outside_compilation(tf.floor, tf.ones([4]))  # error: TPU203

if __name__ == "__main__":
    app.run(main)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
