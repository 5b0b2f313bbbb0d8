"""TensorFlow is patched in one file, which looks up what it may patch in a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
SPECIAL = {"__init__", "__new__", "__call__", "__exit__", "__enter__"}


def imported(tree: ast.Module) -> set[str]:
    """Return the names that a module imports from TensorFlow and from the runtime."""
    actual = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                module = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
                if module.startswith(("tensorflow", "tpulint.runtime")):
                    actual.add((alias.asname or alias.name).split(".")[0])
    return actual


def assigned(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that assign an attribute of an imported name, or a special method."""
    names = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, (ast.Attribute, ast.Subscript)):
                root = root.value
            if node.attr in SPECIAL or (isinstance(root, ast.Name) and root.id in names):
                yield node.lineno


def set_by_name(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that call `setattr` or `delattr`, except for a constant of tpulint's own."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("setattr", "delattr")
            and not (isinstance(node.args[1], ast.Name) and node.args[1].id.isupper())
        ):
            yield node.lineno


def test_only_one_file_assigns_attributes_of_tensorflow() -> None:
    actual = [
        f"{path.relative_to(ROOT)}:{row}"
        for folder in ("runtime", "cli")
        for path in sorted((ROOT / "tpulint" / folder).rglob("*.py"))
        if path.name != "patching.py"
        for tree in [ast.parse(path.read_text(encoding="utf-8"))]
        for row in (*assigned(tree), *set_by_name(tree))
    ]
    assert not actual


def test_assignments_to_what_is_imported_are_found() -> None:
    tree = ast.parse(
        "from tensorflow.python.client import session\n"
        "import tensorflow as tf, sys\n"
        "session.BaseSession.run = print\n"
        "del tf.Graph.x\n"
        "kind = session.BaseSession\n"
        "kind.__init__ = print\n"
        "setattr(kind, 'run', print)\n"
        "setattr(kind, _OWN, print)\n"
        "sys.argv = []\n"
    )
    assert [*assigned(tree), *set_by_name(tree)] == [3, 4, 6, 7]
