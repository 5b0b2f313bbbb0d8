"""The traces of the seam's rules: every step is a real line, and both lanes are reported."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.rules.analysis import findings
from tests.rules.pages import pages
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.testing import Block

TRACED = ("TPU101", "TPU102", "TPU103", "TPU104", "TPU105", "TPU201", "TPU202", "TPU206", "TPU207")
BOTH_LANES = ("TPU101", "TPU102", "TPU103", "TPU105", "TPU207")
BLOCKS = [
    block for page in pages() if page.code in TRACED for block in page.blocks if block.expected
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_every_step_is_a_line_of_the_program(block: Block, tmp_path: Path) -> None:
    for finding in findings(block, tmp_path):
        assert finding.trace
        for step in finding.trace:
            lines = Path(step.span.filename).read_text(encoding="utf-8").splitlines()
            line = lines[step.span.start.row - 1]
            assert line[step.span.start.column - 1 :].strip()
        for step, after in pairwise(finding.trace):
            assert (step.lane, step.span, step.message) != (after.lane, after.span, after.message)
        lanes = {step.lane for step in finding.trace}
        assert lanes <= {DEVICE_LANE, HOST_LANE}
        if finding.code in BOTH_LANES:
            assert lanes == {DEVICE_LANE, HOST_LANE}
            here = [step for step in finding.trace if step.span == finding.span]
            assert here, "the place of the finding is a step"
