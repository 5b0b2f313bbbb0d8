"""The pages of tpulint's own rules: they have the same headings, and programs that are run.

`tpulint.testing` says how a page and the marks in it are read. A word after ```python gives the
block a meaning under the runtime: `runs`, `raises: DeadlockError`, `warns: StaleVariableWarning`.
What is raised carries the page's code, or the one that follows: `raises: SomeError TPU501`;
an error of TensorFlow's own, which knows no rule, has `-` there: `raises: ValueError -`.

A block that imports `tpulint.runtime` is run as it is. Any other one that has a meaning uses
TensorFlow's own names, and is run in `emulated_tpu(num_replicas=2)`: it finds a TPU of two cores.

With `remote`, as in `raises remote: LocalFileError`, it is run as under `tpulint run --remote`: the
TPU is another machine, which has none of the files here. `gs://` is a folder of the block's own.

A ```console block is the output of `tpulint check` for the block before it; see `consoles.py`.
"""

from __future__ import annotations

from pathlib import Path

from tpulint.testing import Page, read_pages

RULES = Path(__file__).parents[2] / "tpulint" / "rules"
HEADINGS = (
    "What it does",
    "Why it matters",
    "Example",
    "Use instead",
    "How sure",
    "At run time",
    "References",
)


def pages(folder: Path = RULES) -> list[Page]:
    """Return all pages below `folder`, by name."""
    return read_pages(folder)
