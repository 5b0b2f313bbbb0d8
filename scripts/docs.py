"""The generated parts of the documentation: the rules, the field reports, and the demo.

    python scripts/docs.py [--write]

Without `--write` it only compares: exit status 1 and the names of the files that differ.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.field import field  # noqa: E402  (the checkout comes first)
from tpulint.codes import CODES  # noqa: E402
from tpulint.rules import HERE  # noqa: E402

BEGIN, END = "<!-- demo: written by scripts/docs.py -->", "<!-- end of demo -->"
SHOWN = "examples/deadlock_metrics.py"
FAMILIES = {
    "TPU0": "The tool itself",
    "TPU1": "Variables: deadlocks and lost updates",
    "TPU2": "Host clusters: nesting and scope",
    "TPU3": "Control flow",
    "TPU4": "The replicate family: arguments and outputs",
    "TPU5": "Operations, dtypes and shapes on the device",
    "TPU6": "TPUEstimator and input pipelines",
    "TPU7": "TPUStrategy",
    "TPU8": "The API itself",
}


def main() -> int:
    """Compare, or write, every generated text."""
    generated = {
        ROOT / "docs" / "rules.md": rules(),
        ROOT / "docs" / "field.md": field(),
        ROOT / "README.md": readme(),
    }
    stale = {path for path, text in generated.items() if read(path) != text}
    for path in sorted(stale):
        if "--write" in sys.argv[1:]:
            path.write_text(generated[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    return 1 if stale and "--write" not in sys.argv[1:] else 0


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def rules() -> str:
    """docs/rules.md: every code that has a page, by family."""
    lines = ["# Rules", "", "Written by `scripts/docs.py`; each code leads to its page."]
    for prefix, title in FAMILIES.items():
        rows = [
            f"| [{row.code}](../tpulint/rules/{row.module}.md) | {row.name} | {row.severity.value} "
            f"| {row.summary} |"
            for row in CODES.values()
            if row.code.startswith(prefix) and (HERE / f"{row.module}.md").exists()
        ]
        if rows:
            lines += ["", f"## {prefix}xx: {title}", "", "| code | name | | reports |"]
            lines += ["|---|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def readme() -> str:
    """README.md with what `tpulint check` says today about one of the examples."""
    command = ["check", "--isolated", "--no-cache", "--output-format", "full", SHOWN]
    done = subprocess.run(
        [sys.executable, "-m", "tpulint", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 1:
        raise RuntimeError(f"the demo's exit status is {done.returncode}: {done.stderr}")
    shot = f"$ tpulint check --output-format full {SHOWN}\n{done.stdout.rstrip()}"
    whole = read(ROOT / "README.md")
    before, _, rest = whole.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n```text\n{shot}\n```\n\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
