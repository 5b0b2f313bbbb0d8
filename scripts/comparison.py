"""Ask other checkers about the faults on the rules' pages, and write docs/comparison.md.

    python scripts/comparison.py [--write]

The first example of each page and its corrected twin (the first block under "Use instead") are
given to ruff with all its rules, to mypy --strict and to pylint. A checker catches the fault where
it reports something in a marked row that it does not report anywhere in the twin: what it says of
both is about style. pylint is none of the project's own tools: `pip install pylint` first. Without
`--write` the page is printed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.rules.pages import pages  # noqa: E402  (the checkout comes first)
from tpulint.codes import CODES  # noqa: E402
from tpulint.testing import Block  # noqa: E402  (the checkout comes first)

PAGE = ROOT / "docs" / "comparison.md"
MARK = re.compile(r"\s*#\s*(error|possible|unlikely):.*")
ROW = re.compile(r"^(.*?):(\d+):")
CHECKERS = {
    "ruff, all rules": (
        "ruff",
        "check",
        "--isolated",
        "--select=ALL",
        "--ignore=E501",
        "--output-format=concise",
    ),
    "mypy --strict": (
        *("mypy", "--strict", "--no-error-summary", "--hide-error-context"),
        *("--namespace-packages", "--explicit-package-bases"),
    ),
    "pylint": ("pylint", "--score=n", "--reports=n"),
}
CODES_OF = {
    "ruff, all rules": re.compile(r"^\S+: ([A-Z]+\d+)"),
    "mypy --strict": re.compile(r"\[([\w-]+)\]$"),
    "pylint": re.compile(r"^\S+: ([A-Z]\d+)"),
}


class Report(NamedTuple):
    """One line of a checker's output: where, and which of its rules."""

    filename: str
    row: int
    code: str


def main() -> int:
    """Print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write docs/comparison.md")
    options = parser.parse_args()
    text = page()
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


def page() -> str:
    """Return the page: a row for each rule, a column for each checker."""
    chosen = dict(examples())
    with tempfile.TemporaryDirectory() as folder:
        for code, sides in chosen.items():
            for side, block in sides.items():
                lay_out(block, Path(folder) / code.lower() / side)
        output = {name: list(reports(name, Path(folder))) for name in CHECKERS}
    rows, caught = [], dict.fromkeys(CHECKERS, 0)
    for code, sides in chosen.items():
        cells = []
        for name in CHECKERS:
            findings = sorted(caught_by(output[name], code, sides["faulty"]))
            caught[name] += bool(findings)
            cells.append(" ".join(f"`{finding}`" for finding in findings))
        rows.append(f"| {code} {CODES[code].name} | {' | '.join(cells)} |")
    counts = ", ".join(f"{name} {count}" for name, count in caught.items())
    head = HEAD.format(count=len(rows), counts=counts, names=" | ".join(CHECKERS))
    return head + "\n".join(["|---" * (len(CHECKERS) + 1) + "|", *rows, ""])


def examples() -> Iterator[tuple[str, dict[str, Block]]]:
    """Yield each rule's first faulty block, and the first sound one after it."""
    for page in pages():
        if not page.code.startswith("TPU0"):
            faulty = next(block for block in page.blocks if any(of(page.code, block)))
            later = page.blocks[page.blocks.index(faulty) :]
            yield page.code, {"faulty": faulty, "twin": next(filter(is_sound, later))}


HEAD = """# Comparison with other checkers

{count} faults, one per rule, were checked by other tools, together with their corrected twins. A
cell shows what a tool reports at the faulty line but not in the twin. An empty cell means that it
reports nothing. `scripts/comparison.py` measures it. Of {count} faults, they catch:
{counts}.

These tools check one file or types, and types do not say which part of a TPU program runs where.
Use them together with tpulint: ruff and mypy find what tpulint does not look for.

| fault | {names} |
"""


def of(code: str, block: Block) -> Iterator[tuple[str, int]]:
    """Yield the marked places of one rule in a block."""
    yield from ((mark.filename, mark.row) for mark in block.expected if mark.code == code)


def is_sound(block: Block) -> bool:
    return not block.expected


def caught_by(reports: list[Report], code: str, faulty: Block) -> set[str]:
    """Return the checker's rules that fire in a marked row and nowhere in the twin."""
    home = f"{code.lower()}/"
    marked = {(f"{home}faulty/{filename}", row) for filename, row in of(code, faulty)}
    style = {report.code for report in reports if report.filename.startswith(f"{home}twin/")}
    return {report.code for report in reports if (report.filename, report.row) in marked} - style


def lay_out(block: Block, folder: Path) -> None:
    """Write the files of a block, its marks left out."""
    for filename, text in block.files.items():
        path = folder / filename
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARK.sub("", text), encoding="utf-8")


def reports(name: str, folder: Path) -> Iterator[Report]:
    """Yield all that one checker says of the files below `folder`."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    command = [sys.executable, "-m", *CHECKERS[name], *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        place, code = ROW.match(line), CODES_OF[name].search(line)
        if place is not None and code is not None:
            yield Report(place[1], int(place[2]), code[1])


if __name__ == "__main__":
    sys.exit(main())
