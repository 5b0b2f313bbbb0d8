"""tpulint/codes.tsv: the table of the rules' codes, made from the rules' classes.

    python scripts/codes.py [--write]

What needs no rule (the command line, the configuration, the runtime) reads this table, so that it
imports no rule. Without `--write` it only compares: exit status 1 where the table differs.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tpulint import codes  # noqa: E402  (the checkout comes first)
from tpulint.rules import HERE  # noqa: E402
from tpulint.rules.base import REGISTERED, Rule  # noqa: E402

TABLE = Path(codes.TABLE)


def main() -> int:
    """Compare, or write, the table."""
    text = table()
    if TABLE.read_text(encoding="utf-8") == text:
        return 0
    print(TABLE.relative_to(ROOT))
    if "--write" not in sys.argv[1:]:
        return 1
    TABLE.write_text(text, encoding="utf-8")
    return 0


def table() -> str:
    """Return the rows of all rules, by code."""
    return "".join(map(row, rules()))


def rules() -> list[type[Rule]]:
    """Import the module of every rule, and return their classes by code."""
    for path in HERE.glob("*/tpu*.py"):
        importlib.import_module(f"tpulint.rules.{path.parent.name}.{path.stem}")
    return [REGISTERED[code] for code in sorted(REGISTERED)]


def row(rule: type[Rule]) -> str:
    """Return the row of one rule, as `tpulint.codes` reads it."""
    fixes = " ".join(fix.value for fix in rule.fixes)
    cells = (rule.code, rule.name, rule.severity.value, fixes, rule.summary)
    return "\t".join(cells) + "\n"


if __name__ == "__main__":
    sys.exit(main())
