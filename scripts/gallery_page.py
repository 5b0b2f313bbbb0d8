"""Make docs/gallery.md of the gallery's results."""

from __future__ import annotations

import math
from pathlib import Path

from scripts.gallery_rows import Gallery, Program
from scripts.gallery_runs import Result

Run = tuple[str, tuple[int, int]]
"""A program, and the replicas and hosts of its run."""

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"

_HEAD = """\
# A gallery of real programs

<!-- Made by scripts/gallery.py; `make gallery` renews it. -->

These are unmodified programs of released packages, and five programs of our own that follow the
guides of TensorFlow and Keras. Each trains for 20 steps under `tpulint run`, on small data made
for it. A program passes if it exits with 0 and its loss equals that of a reference run without a
TPU, within a relative error of 1e-4. The reference runs are:

- for programs with a strategy, `MirroredStrategy` on as many virtual CPU devices;
- for a `TPUEstimator`, the mean over replicas, computed by `scripts/gallery_by_hand.py` with one
  tower per shard of the batch, in one graph, from the same initial checkpoint;
- for Mesh TensorFlow, its own implementation of a mesh on one CPU (`scripts/gallery_mesh.py`
  selects it if the program does not). Nothing in these programs orders the increment of the
  global step and its reading for the learning rate. Both runs increment first, as XLA compiles
  it.

`scripts/gallery_launch.py` starts both runs. It fixes the seeds, keeps the order of the examples
and disables dropout. With several hosts (`tpulint run --hosts`), each host reads its part of the
same batches; the reference run reads the examples in the order in which the replicas of the pod
receive them. Seconds are those of the emulated run, with imports and compilation, on two busy
cores.

The tutorial on distributed Keras writes the weights of each epoch to `gs://my-bucket/training` and
reads them again. `tpulint run --storage` serves the bucket from a folder of the run. The reference
run uses a local folder.

| program | trains with | release | TensorFlow | replicas | hosts | seconds | loss | verdict |
|---|---|---|---|---|---|---|---|---|
"""

NOTEBOOKS = "\n## Notebooks\n"

_LEFT_OUT = """
## Left out

No TensorFlow from 2.12 on can import or run these:

| release | why |
|---|---|
"""


def page(gallery: Gallery, results: dict[Run, Result | None], before: str = "") -> str:
    """Return the whole page; what has no result keeps its row of the page `before`.

    The part on notebooks, which gallery_notebooks.py writes, stays as it is there.
    """
    programs = {program.name: program for program in gallery.programs}
    rows = [
        _row(programs[name], size, result) if result else _kept(programs[name], size, before)
        for (name, size), result in results.items()
    ]
    left_out = [f"| {release} | {why} |\n" for release, why in gallery.left_out.items()]
    _, heading, notebooks = before.partition(NOTEBOOKS)
    return _HEAD + "".join(rows) + _LEFT_OUT + "".join(left_out) + heading + notebooks


def _row(program: Program, size: tuple[int, int], result: Result) -> str:
    loss = f"{result.loss:.6f}" if math.isfinite(result.loss) else ""
    return _begun(program, size) + f" {result.seconds:.0f} | {loss} | {result.verdict} |\n"


def _kept(program: Program, size: tuple[int, int], before: str) -> str:
    begun = _begun(program, size)
    rows = (line for line in before.splitlines(keepends=True) if line.startswith(begun))
    return next(rows, f"{begun} | | not run |\n")


def _begun(program: Program, size: tuple[int, int]) -> str:
    """Return the cells of a row that no run changes."""
    release, tensorflow = program.release, program.environment.tensorflow
    cells = (f"`{program.module}`", program.kind, release, tensorflow, *map(str, size))
    return f"| {' | '.join(cells)} |"
