"""Write the output of `tpulint check` into the rules' pages, or name the pages where it differs.

    python scripts/pages.py [--update] [CODE ...]

Each page has at least one ```console block below an alarm: message, range and trace, and below
it the fix where the rule has one. Without `--update` nothing is written: exit status 1 and the
names of the pages that differ.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.rules.consoles import consoles, missing, transcript  # noqa: E402
from tests.rules.pages import pages  # noqa: E402  (the checkout comes first)
from tpulint.testing import Page  # noqa: E402  (the checkout comes first)


def main() -> int:
    """Compare, or update, the pages of the codes that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="write what differs")
    parser.add_argument("codes", nargs="*", metavar="CODE")
    options = parser.parse_args()
    stale = False
    for page in pages():
        if options.codes and page.code not in options.codes:
            continue
        try:
            text = updated(page)
        except ValueError as error:  # a new page has no program yet
            sys.exit(f"{page.path.relative_to(ROOT)}: {error}")
        if text != page.path.read_text(encoding="utf-8"):
            stale = True
            print(page.path.relative_to(ROOT))
            if options.update:
                page.path.write_text(text, encoding="utf-8")
    return int(stale and not options.update)


def updated(page: Page) -> str:
    """Return the text of `page` with the outputs that its commands have now."""
    lines = page.path.read_text(encoding="utf-8").splitlines()
    shown = consoles(page)
    lacking = {block.line: (block, commands) for block, commands in missing(page)}
    edits: list[tuple[int, int, list[str]]] = []  # the first row, the rows that go, the new ones
    for console in shown:
        _, more = lacking.pop(console.program.line, (None, []))
        output = transcript(console.program, [*console.commands, *more])
        edits.append((console.line, len(console.text.splitlines()), output.splitlines()))
    for block, commands in lacking.values():
        end = next(row for row in range(block.line, len(lines)) if lines[row].rstrip() == "```")
        output = transcript(block, commands)
        edits.append((end + 1, 0, ["", "```console", *output.splitlines(), "```"]))
    for first, count, new in sorted(edits, reverse=True):
        lines[first : first + count] = new
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
