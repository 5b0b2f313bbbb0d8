"""Make docs/gallery.md of the gallery's results."""

from __future__ import annotations

import math
from pathlib import Path

from gallery_rows import Gallery, Program
from gallery_runs import Result

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"

_HEAD = """\
# A gallery of real programs

<!-- Made by scripts/gallery.py; `make gallery` renews it. -->

Released programs, their files unmodified, trained for 20 steps under `tpulint run` on data that is
made for them. A program passes if it ends with exit status 0 and with the loss of a run without TPU,
within 1e-4 (relative): for programs of a strategy, under `MirroredStrategy` on as many virtual CPU
devices; for a TPUEstimator, its own mode without a TPU, which computes the mean over the whole
batch, from the same initial checkpoint. `scripts/gallery_launch.py` starts both runs: it fixes the
seeds and keeps `Dataset.shuffle` from changing the order. Seconds are those of the run on the TPU,
imports and compilation included.

| program | release | TensorFlow | replicas | seconds | loss | verdict |
|---|---|---|---|---|---|---|
"""

_LEFT_OUT = """
## Left out

No TensorFlow from 2.12 on can import these:

| release | why |
|---|---|
"""


def page(gallery: Gallery, results: dict[tuple[str, int], Result | None]) -> str:
    """The whole page."""
    programs = {program.name: program for program in gallery.programs}
    rows = [_row(programs[name], n, result) for (name, n), result in results.items()]
    left_out = [f"| {release} | {why} |\n" for release, why in gallery.left_out.items()]
    return _HEAD + "".join(rows) + _LEFT_OUT + "".join(left_out)


def _row(program: Program, replicas: int, result: Result | None) -> str:
    seconds, loss, verdict = "", "", "not run"
    if result:
        seconds, verdict = f"{result.seconds:.0f}", result.verdict
        loss = f"{result.loss:.6f}" if math.isfinite(result.loss) else ""
    cells = (
        f"`{program.module}`",
        program.release,
        program.environment.tensorflow,
        str(replicas),
        seconds,
        loss,
        verdict,
    )
    return f"| {' | '.join(cells)} |\n"
