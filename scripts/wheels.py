"""Python packages read without running them: from wheels, or from where they are installed.

A `Library` lays several of them over one another, as an installation would, and answers
which names a module has and what is behind one of them.
"""

from __future__ import annotations

import ast
import functools
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HOPS = 24  # re-exports of one name


class Archive:
    """The `.py` files of a wheel, by path as it would be installed."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        inside = (name for name in self._zip.namelist() if name.endswith(".py"))
        self._inside = {name.rpartition(".data/purelib/")[2]: name for name in inside}
        self.files = frozenset(self._inside)

    def read(self, name: str) -> bytes:
        return self._zip.read(self._inside[name])


class Folder:
    """The `.py` files of some packages in a folder of installed ones."""

    def __init__(self, root: Path, packages: Iterable[str]) -> None:
        self._root = root
        modules = (path for package in packages for path in (root / package).rglob("*.py"))
        self.files = frozenset(path.relative_to(root).as_posix() for path in modules)

    def read(self, name: str) -> bytes:
        return (self._root / name).read_bytes()


@dataclass(frozen=True)
class Found:
    """The definition of a name: its `node`, and the dotted `module` that holds it.

    A name that is a module has no node, and `module` is that one. One that was followed to
    the end of what can be read has neither.
    """

    module: str = ""
    node: ast.FunctionDef | ast.ClassDef | None = None


class Library:
    """Packages side by side. `renamed` maps the first name of an import to that in the files."""

    def __init__(
        self, sources: Iterable[Archive | Folder], renamed: Mapping[str, str] | None = None
    ) -> None:
        self._files = {name: source for source in sources for name in source.files}
        self._folders = {
            name[:end] for name in self._files for end in range(len(name)) if name[end] == "/"
        }
        self._renamed = renamed or {}
        self.tree = functools.cache(self._tree)
        self.names = functools.cache(self._names)

    def path_of(self, dotted: str) -> str:
        first, _, rest = dotted.partition(".")
        return "/".join([self._renamed.get(first, first), *rest.split(".")]).rstrip("/")

    def file_of(self, dotted: str) -> str | None:
        path = self.path_of(dotted)
        for name in (f"{path}/__init__.py", f"{path}.py"):
            if name in self._files:
                return name
        return None

    def is_module(self, dotted: str) -> bool:
        return self.file_of(dotted) is not None or self.path_of(dotted) in self._folders

    def modules(self, below: str) -> Iterator[str]:
        """Yield the dotted names of `below` and of the modules in it, those for tests left out."""
        top = self.path_of(below)
        for name in sorted(self._files):
            if not name.startswith((top + "/", top + ".")) or name.endswith("_test.py"):
                continue
            inner = name[len(top) : -len(".py")].removesuffix("/__init__").strip("/")
            yield ".".join([below, *inner.split("/")]).rstrip(".")

    def submodules(self, dotted: str) -> Iterator[str]:
        """Yield the names of the modules directly in the package `dotted`."""
        top = self.path_of(dotted) + "/"
        inner = {name[len(top) :].split("/")[0] for name in self._files if name.startswith(top)}
        yield from sorted(name.removesuffix(".py") for name in inner if name != "__init__.py")

    def _tree(self, dotted: str) -> ast.Module | None:
        name = self.file_of(dotted)
        if name is None:
            return None
        try:
            return ast.parse(self._files[name].read(name))
        except SyntaxError:  # releases for Python 3.6 name parameters `async`
            return None

    def _names(self, dotted: str) -> Mapping[str, ast.stmt] | None:
        """Every name that the module binds at its top, with the statement; None: unreadable."""
        tree = self.tree(dotted)
        if tree is None:
            return None
        definitions: dict[str, ast.stmt] = {}
        for statement in top_level(tree.body):
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                for name in self.starred(self.source_of(dotted, statement)):
                    definitions.setdefault(name, statement)
                continue
            for name in bound(statement):
                definitions[name] = statement
        return definitions

    def starred(self, dotted: str) -> list[str]:
        """Return the names that `from dotted import *` binds."""
        names = self.names(dotted)
        tree = self.tree(dotted)
        if names is None or tree is None:
            return []
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and bound(statement) == ["__all__"]:
                listed = literal_names(statement.value)
                if listed is not None:
                    return listed
        return [name for name in names if not name.startswith("_")]

    def source_of(self, dotted: str, statement: ast.ImportFrom) -> str:
        """Return the module that `from ... import` in the module `dotted` names."""
        if not statement.level:
            return statement.module or ""
        name = self.file_of(dotted) or ""
        up = statement.level - (1 if name.endswith("/__init__.py") else 0)
        parts = dotted.split(".")
        base = parts[: len(parts) - up]
        return ".".join([*base, *([statement.module] if statement.module else [])])

    def follow(self, dotted: str, name: str, hops: int = 0) -> Found:
        """Return the definition of `name` in the module `dotted`, through imports and aliases."""
        names = self.names(dotted)
        statement = (names or {}).get(name)
        if hops > HOPS:
            return Found()
        if statement is None:
            inner = f"{dotted}.{name}"
            return Found(inner) if self.is_module(inner) else Found()
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            return Found(dotted, statement)
        if isinstance(statement, ast.ImportFrom):
            return self._imported(dotted, statement, name, hops)
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.asname == name:
                    return Found(alias.name) if self.is_module(alias.name) else Found()
            return Found(name) if self.is_module(name) else Found()
        value = getattr(statement, "value", None)
        return self.evaluated(dotted, value, hops + 1) if value is not None else Found()

    def _imported(self, dotted: str, statement: ast.ImportFrom, name: str, hops: int) -> Found:
        source = self.source_of(dotted, statement)
        for alias in statement.names:
            if alias.name == "*" or (alias.asname or alias.name) == name:
                wanted = name if alias.name == "*" else alias.name
                if source == dotted:  # a package that imports its own module
                    inner = f"{dotted}.{wanted}"
                    return Found(inner) if self.is_module(inner) else Found()
                return self.follow(source, wanted, hops + 1)
        return Found()

    def evaluated(self, dotted: str, value: ast.expr, hops: int = 0) -> Found:
        """Return the definition that an expression of `dotted` refers to.

        The expression is a name, or `tf_export(...)(f)`.
        """
        if isinstance(value, ast.Name):
            return self.follow(dotted, value.id, hops + 1)
        if isinstance(value, ast.Attribute):
            base = self.evaluated(dotted, value.value, hops + 1)
            if base.module and base.node is None:
                return self.follow(base.module, value.attr, hops + 1)
        if isinstance(value, ast.Call) and value.args and is_wrapper(value.func):
            return self.evaluated(dotted, value.args[0], hops + 1)
        return Found()


def is_wrapper(called: ast.expr) -> bool:
    """Return whether `called(f)` is `f` again, as for tf_export("...") and dispatch."""
    if isinstance(called, ast.Call):
        return "export" in ast.unparse(called.func)
    return ast.unparse(called).endswith(("dispatch_support", "_deprecation"))


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module's body, those in its `if`, `try` and `with` included."""
    for statement in body:
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from top_level(statement.body)
            for handler in getattr(statement, "handlers", []):
                yield from top_level(handler.body)
            yield from top_level(getattr(statement, "orelse", []))
            yield from top_level(getattr(statement, "finalbody", []))
        else:
            yield statement


def bound(statement: ast.stmt) -> list[str]:
    """Return the names that a statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, ast.Import):
        return [name.asname or name.name.split(".")[0] for name in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [name.asname or name.name for name in statement.names]
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def literal_names(value: ast.expr) -> list[str] | None:
    """Return the strings of a literal list; None where it is something else."""
    if not isinstance(value, (ast.List, ast.Tuple)):
        return None
    values = [elt.value for elt in value.elts if isinstance(elt, ast.Constant)]
    texts = [value for value in values if isinstance(value, str)]
    return texts if len(texts) == len(value.elts) else None
