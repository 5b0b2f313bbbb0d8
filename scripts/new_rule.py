"""Lay out a new rule: its module, page and changelog fragment, and its row in the table of codes.

    python scripts/new_rule.py TPU210 example-fault "an example of a fault"

Code, name and summary give every file name and the first texts. Nothing that exists is overwritten.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tpulint.codes import CODES, FAMILIES, NAMES, SHAPE, Code  # noqa: E402  (the checkout comes first)
from tpulint.finding import Severity  # noqa: E402

RULE = '''"""{code}: {summary}."""

from __future__ import annotations

from tpulint.diagnostics.traces import device_path, device_step
from tpulint.queries.certainty import compiled_if
from tpulint.queries.device_code import compiled_calls
from tpulint.rules.base import Program, Report, Rule, Severity, register


@register
class {class_name}(Rule):
    code = "{code}"
    name = "{name}"
    severity = Severity.ERROR
    summary = "{summary}"

    def check(self, program: Program, report: Report) -> None:
        """Report each call of `example` that a TPU compiles: replace it by the fault."""
        for computation, call in compiled_calls(program):
            if call.last != "example":
                continue
            report(
                call.site.span,
                "`example` fails on a TPU: use another function",
                certainty=compiled_if(program, computation, call.context),
                trace=device_path(
                    computation, call.context, device_step(call.site, "calls `example`")
                ),
            )
'''

PAGE = """\
# {code} {name}

## What it does
Reports a fault: {summary}.

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
    """Write the files of the rule that is named on the command line."""
    if len(sys.argv) != 4:
        print("usage: new_rule.py CODE NAME SUMMARY")
        return 2
    row = Code(sys.argv[1], sys.argv[2], Severity.ERROR, sys.argv[3])
    problem = objection(row)
    if problem is not None:
        print(f"new_rule.py: {problem}")
        return 2
    for path, text in layout(row).items():
        state = "exists" if path.exists() else "written"
        if not path.exists():
            path.write_text(text, encoding="utf-8")
        print(f"{state}: {path.relative_to(ROOT)}")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "codes.py"), "--write"], check=True)
    print("then: change the loop of the rule, and write the page: three programs with the fault,")
    print(f"three without. `python scripts/pages.py --update {row.code}` writes what its commands")
    print(f"show, `python -m pytest tests/rules -k {row.code}` tests both")
    return 0


def objection(row: Code) -> str | None:
    """Return why there can be no such rule; None where there can be one."""
    directories = {prefix for prefix, family in FAMILIES.items() if family.directory}
    if re.fullmatch(SHAPE, row.code) is None or row.code[:4] not in directories:
        return f"'{row.code}' is in no family of rules: see FAMILIES in tpulint/codes.py"
    if row.code in CODES or row.name in NAMES:
        return f"{row.code} or '{row.name}' exists"
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.name) is None:
        return f"'{row.name}' is not in kebab case"
    return None


def is_unreleased(root: Path) -> bool:
    """Return whether the newest entry of CHANGELOG.md is of a version that is not released."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return "(unreleased)" in next(line for line in changelog.splitlines() if line.startswith("## "))


def layout(row: Code, root: Path = ROOT) -> dict[Path, str]:
    """Return the files of the rule `row`, with their first text."""
    rule = root / "tpulint" / "rules" / row.path
    templates = {
        rule.with_suffix(".py"): RULE,
        rule.with_suffix(".md"): PAGE,
    }
    # Until the first release, CHANGELOG.md describes what there is, and nothing is new.
    if not is_unreleased(root):
        templates[root / "changelog.d" / f"{row.code.lower()}.new_rule.md"] = FRAGMENT
    class_name = "".join(word.capitalize() for word in row.name.split("-"))
    return {
        path: text.format(code=row.code, name=row.name, summary=row.summary, class_name=class_name)
        for path, text in templates.items()
    }


if __name__ == "__main__":
    sys.exit(main())
