"""Lay out a new rule: its file, its page and its changelog fragment.

    python scripts/new_rule.py TPU210

The code must already have its row in tpulint/codes.py: the row gives the name, the
summary and by them every file name. Nothing that exists is overwritten.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tpulint.codes import CODES, Code  # noqa: E402  (the checkout comes first)

RULE = '''"""{code} {name}: {summary}."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.rules.base import Report


def check(program: Program, report: Report) -> None:
    """Report each place of the fault, by `report(span, message, certainty=..., trace=...)`."""
'''

PAGE = """\
# {code} {name}

## What it does
Reports {summary}.

## Why it matters


## Example
```python
```

```console
$ tpulint check
```

## Use instead
```python
```

## How sure


## At run time


## References
"""

FRAGMENT = "{code} `{name}`: {summary}.\n"


def main() -> int:
    """Write the files of the code that is named on the command line."""
    if len(sys.argv) != 2 or sys.argv[1] not in CODES:
        print("usage: new_rule.py CODE, where CODE has its row in tpulint/codes.py")
        return 2
    for path, text in layout(CODES[sys.argv[1]]).items():
        said = "exists" if path.exists() else "written"
        if not path.exists():
            path.write_text(text, encoding="utf-8")
        print(f"{said}: {path.relative_to(ROOT)}")
    print(
        f"then: write the page and the rule, and `python scripts/pages.py --update {sys.argv[1]}`"
    )
    print("puts the output of its commands below them, which the tests hold it to")
    return 0


def layout(row: Code, root: Path = ROOT) -> dict[Path, str]:
    """The files of the rule `row`, with their first text."""
    rules = root / "tpulint" / "rules"
    templates = {
        rules / f"{row.path}.py": RULE,
        rules / f"{row.path}.md": PAGE,
        root / "changelog.d" / f"{row.code.lower()}.new_rule.md": FRAGMENT,
    }
    return {
        path: text.format(code=row.code, name=row.name, summary=row.summary)
        for path, text in templates.items()
    }


if __name__ == "__main__":
    sys.exit(main())
