"""The guide about cost shows what the reports of its two programs show."""

from __future__ import annotations

import os
import re
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

import keras
import pytest

from tpulint.hardware import DEVICES, readable_bytes
from tpulint.run.cost import StepCost, cost_of
from tpulint.run.report import ComputationRun, FinishedRun, costs_section, launch_lines, shown_place
from tpulint.run.session import computation, host_reads
from tpulint.runtime.errors import UnsynchronizedVariableWarning
from tpulint.runtime.run_statistics import running

pytestmark = pytest.mark.any_release  # the figures are those of Keras 3

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "examples" / "guide_distributed_keras.py"
PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
CHANGES = {
    "model.compile(": "model.compile(\n        steps_per_execution=20,",
    "BATCH_SIZE_PER_REPLICA = 8\n": "BATCH_SIZE_PER_REPLICA = 128\n",
    "Dense(32)": "Dense(128)",
}
CORES, RUN_ON = 8, 2  # what a core does is the same on two


class Figures(NamedTuple):
    """The computation of `fit`, its cost, and the lines of the report."""

    fit: ComputationRun
    cost: StepCost
    lines: list[str]


def figures_of(program: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Figures:
    arguments = [str(program), "--folder", str(folder / "out"), "--steps", "20", "--epochs", "2"]
    monkeypatch.setattr(sys, "argv", arguments)
    keras.backend.clear_session()  # it names layers after those made before
    with (
        pytest.warns(UnsynchronizedVariableWarning, match=r"(?s)moving_(mean|variance).*TPU710"),
        running(RUN_ON, None, costs=True) as watch,
    ):
        runpy.run_path(str(program), run_name="__main__")
    runs = [computation(place, totals, watch) for place, totals in watch.computations.items()]
    runs = [run._replace(input_bytes=run.input_bytes * CORES // RUN_ON) for run in runs]
    costs = tuple(cost_of(work, DEVICES["v3"], shown_place) for work in watch.works())
    reads = host_reads(watch)
    ran = FinishedRun(program.name, "", 0, 0.0, tuple(runs), (), reads=reads, costs=costs)
    return Figures(runs[0], costs[0], [*launch_lines(ran), *costs_section(costs)])


def test_the_guide_agrees_with_the_reports_of_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = figures_of(Path(os.path.relpath(PROGRAM)), tmp_path, monkeypatch)
    text = PROGRAM.read_text(encoding="utf-8")
    for old, new in CHANGES.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    monkeypatch.chdir(tmp_path)
    Path("faster.py").write_text(text, encoding="utf-8")
    second = figures_of(Path("faster.py"), tmp_path, monkeypatch)

    guide = PAGE.partition("## Why does it not fit")[0]
    shown = [line[4:] for line in re.findall(r"^    .+", guide, re.MULTILINE)]
    shown = [line for line in shown if line.strip() != "..." and not line.startswith("tpulint ")]
    assert len(shown) > 15
    assert [line for line in shown if line not in [*first.lines, *second.lines]] == []
    assert [row for row in table(first, second) if row not in guide] == []
    times = first.cost.padded_flops / first.cost.flops
    assert f"multiplies 128 x 128, so it does {times:.0f} times the work" in guide
    assert f"Memory is no problem here: {readable_bytes(first.cost.minimum)}." in guide


def table(first: Figures, second: Figures) -> list[str]:
    """Return the rows of the guide's table of what was before, and what is after."""
    rows = {
        "launches for 40 steps": [ran.fit.launches for ran in (first, second)],
        "examples in a step": [8, 128],
        "FLOPs of an example, with padding": [
            f"{round(first.cost.padded_flops / 8, -3):,.0f}",
            f"{round(second.cost.padded_flops / 128, -3):,.0f}",
        ],
        "FLOPs of an example, without": [
            f"{first.cost.flops / 8:,.0f}",
            f"{second.cost.flops / 128:,.0f}",
        ],
        "padding": [
            f"{100 - 100 * ran.cost.flops / ran.cost.padded_flops:.0f} %" for ran in (first, second)
        ],
        "FLOPs for each byte of variables and inputs, at most": [
            f"{first.cost.intensity:.1f}",
            f"{second.cost.intensity:.0f}",
        ],
        "memory, at least": [readable_bytes(ran.cost.minimum) for ran in (first, second)],
    }
    return [f"| {name} | {before} | {after} |\n" for name, (before, after) in rows.items()]
