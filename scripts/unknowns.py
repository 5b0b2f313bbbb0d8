"""Write which reasons the analysis has most often for not knowing a value, over the corpus.

    python scripts/unknowns.py [--list] [FOLDER]      default: ~/.cache/tpulint-corpus

Each program of each package is read once, and each place at which a value in device code was lost
counts once (`tpulint/explain/losses.py`). The table stands at the end of docs/recall.md.
`--list` prints the most frequent texts of each kind of reason instead.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.corpus import DEFAULT, read_pins  # noqa: E402  (the checkout comes first)
from scripts.mutate.report import with_reasons  # noqa: E402
from tpulint.check import driver  # noqa: E402
from tpulint.codes import codes_by_default  # noqa: E402
from tpulint.config import Config  # noqa: E402
from tpulint.explain.losses import Losses, LostValue  # noqa: E402

PAGE = ROOT / "docs" / "recall.md"
MOST = 10
LISTED = 12


def main() -> int:
    """Read the corpus and write the table, or print the lists."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    folder = Path(arguments[0]) if arguments else DEFAULT
    losses = [loss for name in sorted(read_pins()) for loss in losses_in(folder / name)]
    if "--list" in sys.argv:
        for kind, texts in by_kind(losses):
            print(f"{sum(texts.values())} {kind}")
            for text, number in texts.most_common(LISTED):
                print(f"    {number} {text}")
        return 0
    page = with_reasons(PAGE.read_text(encoding="utf-8"), table(losses))
    PAGE.write_text(page, encoding="utf-8")
    return 0


def losses_in(folder: Path) -> Iterator[LostValue]:
    """Yield the losses in device code of the programs in a folder."""
    os.chdir(folder)
    request = driver.Request(Config(root=str(folder), jobs=1), codes_by_default())
    task = driver.discover(request)
    if not task.filenames:
        return
    batch, result = driver.programs_around(task, task.filenames[0])
    for job in result.programs.jobs:
        losses = Losses()
        with losses.noting():
            driver.read_program(batch, job)
        yield from losses.on_device


def by_kind(losses: list[LostValue]) -> list[tuple[str, Counter[str]]]:
    """Return the texts of each kind of reason with their numbers, frequent kinds first."""
    texts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for loss in losses:
        texts[loss.kind][loss.text] += 1
    return sorted(texts.items(), key=lambda row: (-row[1].total(), row[0]))


def table(losses: list[LostValue]) -> str:
    """Return the table of the most frequent reasons."""
    lines = [
        "## Why values are not known",
        "",
        "These are the most frequent reasons for which the analysis does not know a value in the",
        "device code of the corpus. `tpulint explain FILE:LINE` shows the place and the reason for",
        "the names in a line.",
        "",
        "| the value is lost by | places | most often |",
        "|---|---|---|",
    ]
    for kind, texts in by_kind(losses)[:MOST]:
        text, number = texts.most_common(1)[0]
        lines.append(f"| {kind} | {texts.total():,} | {text} ({number}) |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
