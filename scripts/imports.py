"""Read what imports what in tpulint, and count what must not be: circles, and imports upward.

    python scripts/imports.py

Imports in functions and under TYPE_CHECKING count. docs/architecture.md shows the same layers.
"""

from __future__ import annotations

import ast
import functools
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tpulint"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The packages of the analyzer, lowest first. A module imports from its own layer or below.
LAYERS = (
    {"", "finding", "codes", "hardware", "ordering", "disk", "notebook", "cache_dir"}
    | {"collector", "installation", "storage"},
    {"source", "config", "frontends.tensorflow.knowledge"},
    {"syntax"},
    {
        "file_facts",
        "frontends.settings",
        "frontends.tensorflow.spelling_search",
        "frontends.tensorflow.target_release",
    },
    {"absint", "absint.domain"},
    {"absint.resolver"},
    {"absint.interpreter", "frontends"},
    {"frontends.tensorflow"},
    {"frontends.tensorflow.models"},
    {"frontends.tensorflow.build_program"},
    {"queries"},
    {"diagnostics"},
    {"rules", "plugins"},
    {"output", "map.pictures", "extend"},
    {"incremental"},
    {"check", "worker_pool"},
    {"explain", "map", "run"},
    {"server"},
    {"cli", "testing", "__main__"},
)


@functools.cache
def imports(path: Path, *, at_import: bool = False) -> tuple[tuple[str, int], ...]:
    """Return the dotted names that the module imports, made absolute, with their rows.

    `at_import` leaves out what only runs later, in functions, or only for type checkers.
    """
    names: list[tuple[str, int]] = []
    package = path.relative_to(ROOT).parent.parts
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if at_import and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            names += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*up, *([node.module] if node.module else [])])
            names += [(f"{base}.{alias.name}", node.lineno) for alias in node.names]
        waiting.extend(ast.iter_child_nodes(node))
    return tuple(names)


def dotted(path: Path) -> str:
    """Return the dotted name of the module at `path`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(name: str) -> str:
    """Return the package that a dotted name is in: the longest that has a layer of its own."""
    parts = name.split(".")[1:]
    for length in (3, 2):
        package = ".".join(parts[:length])
        if len(parts) >= length and any(package in packages for packages in LAYERS):
            return package
    inside = parts and ((PACKAGE / parts[0]).is_dir() or (PACKAGE / f"{parts[0]}.py").exists())
    return parts[0] if inside else ""


def is_own(name: str) -> bool:
    return name.split(".")[0] == "tpulint"


ANALYZER = [path for path in MODULES if package_of(dotted(path)) != "runtime"]


def layer(package: str) -> int:
    (height,) = [height for height, packages in enumerate(LAYERS) if package in packages]
    return height


def import_graph() -> dict[str, set[str]]:
    """Return which modules each module imports, in functions and for type checkers too."""
    paths = {dotted(path): path for path in MODULES}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        targets = graph[module] = set()
        for name, _ in imports(path):
            target = name if name in paths else name.rpartition(".")[0]
            around = target in paths and paths[target].name == "__init__.py"
            if target in paths and not (around and f"{module}.".startswith(f"{target}.")):
                targets.add(target)
        targets.discard(module)
    return graph


def circular(graph: dict[str, set[str]]) -> list[str]:
    """Return the nodes that are in circles, or on a way from one circle to another."""
    left = dict(graph)
    while True:
        imported = {name for targets in left.values() for name in targets}
        outside = {name for name, targets in left.items() if not targets or name not in imported}
        if not outside:
            return sorted(left)
        left = {name: targets - outside for name, targets in left.items() if name not in outside}


def upward() -> list[str]:
    """Return the imports of the analyzer that run from a layer to a higher one."""
    return [
        f"{dotted(path)}:{row} imports {name}"
        for path in ANALYZER
        for name, row in imports(path)
        if is_own(name) and package_of(name) != "runtime"
        if layer(package_of(name)) > layer(package_of(dotted(path)))
    ]


def main() -> int:
    """Print the counts, and what is counted; exit status 1 where one is not zero."""
    circles, arrows = circular(import_graph()), upward()
    print(f"modules in circles: {len(circles)}")
    print(f"imports upward: {len(arrows)}")
    for line in (*circles, *arrows):
        print(f"  {line}")
    return int(bool(circles or arrows))


if __name__ == "__main__":
    sys.exit(main())
