"""Find the tests that assert nothing: they pass whatever the code does.

    python scripts/assertions.py

A test asserts with `assert`, with `pytest.raises`, `warns` or `fail`, with something that is called
`assert_...`, by running a process that must succeed (`check=True`), or by calling a helper of the
tests that does.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CHECKS = frozenset({"raises", "warns", "fail", "deprecated_call"})
PROCESSES = frozenset({"run", "check_call", "check_output"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Callables(NamedTuple):
    """The functions of a tree of tests, by module and name, and the methods by name alone."""

    functions: Mapping[tuple[str, str], Function]
    methods: Mapping[str, list[Function]]
    imported: Mapping[str, Mapping[str, tuple[str, str]]]
    """By module and name there: the module and the name that an import takes it from."""


def main() -> int:
    """Print the tests; exit status 1 where there is one."""
    places = list(without_assertion(ROOT / "tests"))
    for place in places:
        print(place)
    print(f"tests that assert nothing: {len(places)}")
    return int(bool(places))


def without_assertion(folder: Path) -> Iterator[str]:
    """Yield the place and name of each test in `folder` that asserts nothing."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(folder.rglob("*.py"))}
    modules = {path: _dotted(path, folder) for path in trees}
    functions = callables({modules[path]: tree for path, tree in trees.items()})
    for path, tree in trees.items():
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if (
                    name.startswith("test")
                    and not asserts(node, modules[path], functions, frozenset())
                ):
                    yield f"{path.relative_to(folder.parent)}:{node.lineno} {name}"


def callables(trees: Mapping[str, ast.Module]) -> Callables:
    """Return the functions and methods of `trees`, by module."""
    functions: dict[tuple[str, str], Function] = {}
    methods: dict[str, list[Function]] = {}
    imported: dict[str, dict[str, tuple[str, str]]] = {}
    for module, tree in trees.items():
        names: dict[str, tuple[str, str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                source = node.module or ""
                names |= {name.asname or name.name: (source, name.name) for name in node.names}
            elif isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, Function):
                        methods.setdefault(member.name, []).append(member)
        functions |= {(module, node.name): node for node in tree.body if isinstance(node, Function)}
        imported[module] = names
    return Callables(functions, methods, imported)


def asserts(
    function: Function, module: str, functions: Callables, calling: frozenset[Function]
) -> bool:
    """Return whether `function`, of `module`, or a helper that it calls asserts something."""
    if function in calling:
        return False
    around = calling | {function}
    if any(isinstance(node, ast.Assert) or _checks(node) for node in ast.walk(function)):
        return True
    return any(
        asserts(helper, home, functions, around)
        for helper, home in _helpers(function, module, functions)
    )


def _checks(node: ast.AST) -> bool:
    """Return whether `node` calls something that raises where an expectation is not met."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Name) and node.func.id.startswith("assert"):
        return True
    checked = any(
        keyword.arg == "check"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for keyword in node.keywords
    )
    return name in CHECKS or name.startswith("assert") or (checked and name in PROCESSES)


def _helpers(
    function: Function, module: str, functions: Callables
) -> Iterator[tuple[Function, str]]:
    """Yield the functions and methods of the tests that `function` calls."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names.add(node.func.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name):
                source, name = functions.imported[module].get(node.func.value.id, ("", ""))
                inside = (f"{source}.{name}", node.func.attr)
                if inside in functions.functions:
                    yield functions.functions[inside], inside[0]
            for method in functions.methods.get(node.func.attr, ()):
                yield method, module
    for name in names:
        home = functions.imported[module].get(name, (module, name))
        if home in functions.functions:
            yield functions.functions[home], home[0]


def _dotted(path: Path, folder: Path) -> str:
    return ".".join(path.relative_to(folder.parent).with_suffix("").parts)


if __name__ == "__main__":
    sys.exit(main())
