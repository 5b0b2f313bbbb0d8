"""Count the `Any` of the analyzer's annotations: where there is one, mypy protects nothing."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tpulint"
MOST = 60
# The other half: TensorFlow, and what stands in for other packages, has no types.
RUNS_PROGRAMS = ("run", "runtime", "storage")


def in_file(path: Path) -> int:
    """Return how often a file says `Any`, in strings of annotations and casts too."""
    count = 0
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and node.id == "Any":
            count += 1
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "cast":
            count += isinstance(node.args[0], ast.Constant) and "Any" in str(node.args[0].value)
    return count


def main() -> int:
    files = [
        path
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in RUNS_PROGRAMS
    ]
    counts = {path.relative_to(PACKAGE).as_posix(): in_file(path) for path in sorted(files)}
    total = sum(counts.values())
    print(f"Any in the analyzer: {total}, at most {MOST}")
    if total > MOST:
        for name, count in sorted(counts.items(), key=lambda row: -row[1]):
            if count:
                print(f"{count:4} {name}")
    return total > MOST


if __name__ == "__main__":
    sys.exit(main())
