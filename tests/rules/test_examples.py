"""The example programs: the faults that they hold on purpose are found, the twins are silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tpulint.check import driver
from tpulint.codes import codes_by_default
from tpulint.config import Config
from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty, Finding

EXAMPLES = Path(__file__).parents[2] / "examples"


def check(name: str, target: str | None = None) -> list[Finding]:
    config = Config(
        root=str(EXAMPLES), certainty=Certainty.POSSIBLE, jobs=1, target_tensorflow=target
    )
    request = driver.Request(config, codes_by_default(), (str(EXAMPLES / name),))
    run = driver.check(driver.discover(request))
    assert not run.failures, run.failures
    return run.findings


TABLE = re.findall(
    r"^\| `([\w/.]+)` \|.*\| (TPU\d+|silent)\b[^|]*\|$",
    (EXAMPLES / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("name", "verdict"), TABLE)
def test_the_table_has_the_findings_of_a_check(name: str, verdict: str) -> None:
    definite = {finding.code for finding in check(name) if finding.certainty is Certainty.DEFINITE}
    assert definite == ({verdict} - {"silent"})


def test_every_example_is_listed_in_the_table() -> None:
    programs = {path.name for path in EXAMPLES.iterdir() if not path.name.startswith((".", "_"))}
    assert programs - {"README.md"} == {name.rstrip("/") for name, _ in TABLE}


def line(step_file: str, row: int) -> str:
    return Path(step_file).read_text(encoding="utf-8").splitlines()[row - 1]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("sound_metrics.py", None),
        ("sound_vocabulary", None),
        ("estimator_host_call.py", "2.15"),  # the last that has TPUEstimator
        ("keras_fit.py", None),
        ("guide_tpu.py", None),
        ("guide_distributed_keras.py", None),
        ("guide_keras_hub.py", None),
        ("guide_keras_cv.py", None),
        ("strategy_loop.py", None),
        ("session_infeed.py", None),
    ],
)
def test_a_sound_program_is_silent(name: str, target: str | None) -> None:
    assert check(name, target) == []


def test_the_trace_of_the_deadlock_has_both_lanes() -> None:
    (result,) = check("deadlock_metrics.py")
    assert (result.code, result.certainty) == ("TPU101", Certainty.DEFINITE)
    output = {
        lane: [
            line(step.span.filename, step.span.start.row)
            for step in result.trace
            if step.lane == lane
        ]
        for lane in (DEVICE_LANE, HOST_LANE)
    }
    assert any("self.running_loss.assign(smoothed)" in text for text in output[DEVICE_LANE])
    assert any("outside_compilation(self.meter.relative" in text for text in output[DEVICE_LANE])
    assert any("average = self._average()" in text for text in output[HOST_LANE])
    assert any("self.running_loss.read_value()" in text for text in output[HOST_LANE])


def test_the_nested_cluster_is_found_across_modules() -> None:
    (result,) = check("nested_vocabulary")
    assert (result.code, result.certainty) == ("TPU201", Certainty.DEFINITE)
    assert Path(result.span.filename).name == "vocabulary.py"
    assert {Path(step.span.filename).name for step in result.trace} == {"score.py", "vocabulary.py"}
