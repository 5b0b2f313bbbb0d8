"""Count what makes the code hard to read, and fail where a count grows past its limit.

    python scripts/house_counts.py [--root ROOT] [--package PACKAGE]

The limits are in pyproject.toml, `[tool.house-counts]`. Each has a `target` and perhaps a `current`
limit. A count may not pass `current`; one that has none is only printed. Bring `current` closer to
the target when a count has improved, never further away; there it stays.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]

SMALL_FILE_LINES = 40
LONG_FUNCTION_LINES = 60

# Names that fit any value, so the reader has to look up what they are bound to.
VAGUE_NAMES = frozenset(["each", "found", "made", "given", "known", "one", "sure", "this"])

# The only count that should be high.
COMMENTS = "comments per 1,000 lines"


class Module(NamedTuple):
    """One file of the package: its dotted name, its text and its tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Return whether this is an `__init__.py`."""
        return self.path.name == "__init__.py"

    @property
    def line_count(self) -> int:
        """Return the number of lines, as `wc -l` counts them."""
        return self.text.count("\n")


class Limit(NamedTuple):
    """The limit of one count: what it should become, and what it must not pass today, if any."""

    target: float
    current: float | None = None


def main(arguments: list[str] | None = None) -> int:
    """Print each count beside its limit; exit status 1 where one is past its current limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="folder that holds the package")
    parser.add_argument("--package", default="tpulint")
    options = parser.parse_args(arguments)
    counts = count_package(options.root, options.package)
    limits = read_limits(ROOT / "pyproject.toml")
    failures = 0
    for name, count in counts.items():
        limit = limits.get(name)
        if limit is None:
            print(f"{name}: {count:g}")
            continue
        sign = ">=" if name == COMMENTS else "<="
        line = f"{name}: {count:g} ({sign} {limit.target:g}"
        if limit.current is not None and limit.current != limit.target:
            line += f", now {sign} {limit.current:g}"
        if limit.current is not None and not is_within(name, count, limit.current):
            line += ": FAILS"
            failures += 1
        elif not is_within(name, count, limit.target):
            line += ": not yet"
        print(f"{line})")
    return int(failures > 0)


def is_within(name: str, count: float, limit: float) -> bool:
    """Return whether a count keeps a limit."""
    return count >= limit if name == COMMENTS else count <= limit


def read_limits(path: Path) -> dict[str, Limit]:
    """Read the limits from a pyproject.toml."""
    rows = tomllib.loads(path.read_text("utf-8"))["tool"]["house-counts"]
    return {name: Limit(row["target"], row.get("current")) for name, row in rows.items()}


def count_package(root: Path, package: str) -> dict[str, float]:
    """Return all counts of the package in `root`."""
    modules = {module.name: module for module in read_modules(root, package)}
    graph = {name: set(imported_modules(module, modules)) for name, module in modules.items()}
    lines = sum(module.line_count for module in modules.values())
    nodes = [node for module in modules.values() for node in ast.walk(module.tree)]
    names = Counter(bound_names(nodes))
    vague = sum(names[name] for name in VAGUE_NAMES)
    comments = sum(count_comments(module.text) for module in modules.values())
    importers = Counter(target for targets in graph.values() for target in targets)
    own_files = [module for module in modules.values() if not module.is_package]
    return {
        "files": len(modules),
        "lines": lines,
        "modules with one importer": sum(importers[module.name] == 1 for module in own_files),
        "files under 40 lines": sum(module.line_count < SMALL_FILE_LINES for module in own_files),
        "import lines, %": share(sum(import_lines(nodes)), lines),
        "vague bindings, %": share(vague, names.total()),
        "functions over 60 lines": sum(
            size > LONG_FUNCTION_LINES for size in function_sizes(nodes)
        ),
        "import cycles": len(cycles(graph)),
        COMMENTS: round(1000 * comments / lines, 1) if lines else 0.0,
        "median lines of a file": statistics.median(
            [module.line_count for module in modules.values()] or [0]
        ),
    }


def share(part: int, whole: int) -> float:
    """Return a percentage with one decimal."""
    return round(100 * part / whole, 1) if whole else 0.0


def read_modules(root: Path, package: str) -> Iterator[Module]:
    """Read and parse each Python file of the package."""
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        yield Module(name, path, text, ast.parse(text))


def imported_modules(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    """Yield the modules of the package that `module` imports, in functions too."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute_base(module, node)
            # `from package import name` imports the submodule `name` where there is one.
            whole = [f"{base}.{alias.name}" for alias in node.names]
            targets = [name if name in modules else base for name in whole]
        else:
            continue
        yield from (name for name in targets if name in modules and name != module.name)


def absolute_base(module: Module, node: ast.ImportFrom) -> str:
    """Return the dotted name of the module that `from ... import` reads, made absolute."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    levels_up = node.level - module.is_package
    return ".".join([*parts[: len(parts) - levels_up], *([node.module] if node.module else [])])


def import_lines(nodes: list[ast.AST]) -> Iterator[int]:
    """Yield the number of lines of each import statement."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield line_span(node)


def function_sizes(nodes: list[ast.AST]) -> Iterator[int]:
    """Yield the number of lines of each function, nested ones too."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield line_span(node)


def line_span(node: ast.stmt) -> int:
    """Return how many lines a statement covers."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def bound_names(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the name of each parameter and of each assignment."""
    for node in nodes:
        match node:
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name


def count_comments(text: str) -> int:
    """Return the number of comments, each line of a block counted."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens)


def cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the groups of modules that import each other."""
    remaining = dict(graph)
    groups: list[set[str]] = []
    while remaining:
        start = next(iter(remaining))
        # A module is in a cycle with `start` where each can be reached from the other.
        group = reachable(start, remaining) & reachable(start, reverse(remaining))
        if group:
            groups.append(group)
        for name in group or {start}:
            del remaining[name]
    return groups


def reachable(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    """Return what is reached from `start` by at least one arrow."""
    reached: set[str] = set()
    pending = [start]
    while pending:
        new = graph.get(pending.pop(), set()) & graph.keys() - reached
        reached |= new
        pending += new
    return reached


def reverse(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the graph with all arrows turned."""
    turned: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets & graph.keys():
            turned[target].add(name)
    return turned


if __name__ == "__main__":
    sys.exit(main())
