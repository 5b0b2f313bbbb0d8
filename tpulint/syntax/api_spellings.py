"""Dotted names of a package as a file spells them, with their places and their guards.

This reads with CPython's own parser, not through the summaries: an import has a place
here, nothing has to be evaluated, and it costs a tenth. Each dotted name is one that
Python would look up; those that the file guards (`try`, `hasattr`, a test of the version)
are left out.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from itertools import accumulate, chain
from typing import Any, NamedTuple

from tpulint.syntax.parse import blocks, nodes, try_parse

# Most of what a tree holds has nothing in it that the walk looks for.
LEAVES: frozenset[type] = frozenset(
    [ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, str, int, bool, type(None)]
).union(*(kind.__subclasses__() for kind in (ast.operator, ast.unaryop, ast.cmpop)))
# The nodes that bind a name, or may change what one means, besides imports and definitions.
BINDING = frozenset((ast.Name, ast.Assign, ast.arg, ast.Call))
IMPORT, ATTRIBUTE, METHOD = "import", "attribute", "method"
CHECKS = frozenset(["ImportError", "ModuleNotFoundError", "AttributeError"])
CAUGHT = CHECKS | {"Exception", "BaseException"}
# A test that asks which TensorFlow this is.
ASKS = re.compile(
    r"version|hasattr|getattr|find_spec|TYPE_CHECKING|tf_?[12]|[._]v[12]\b|is_v[12]|"
    r"contrib|\bdir\(|PY[23]|in_colab",
    re.IGNORECASE,
)

# A test for a backend that TensorFlow's Keras never has: what it guards never runs.
OTHER_BACKEND = re.compile(r"backend\(\)\s*==\s*[\"'](?:theano|cntk)[\"']")
SETTERS = ("setattr", "delattr", "__setattr__")


class SpelledName(NamedTuple):
    """One spelling. `paths` are the dotted names that it can mean, alias resolved.

    rows and columns are 1-based and count characters, the end is exclusive. `written` is
    the text, the whole import where it imports nothing else, `root` its first name.
    inside: it is in a function. `receiver` is the text before a METHOD. tried: whatever fails in
    the block around it is caught, which is no check for this name.
    """

    place: str
    paths: tuple[str, ...]
    start: tuple[int, int]
    end: tuple[int, int]
    written: str
    root: str = ""
    inside: bool = False
    receiver: str = ""
    tried: bool = False


class FileSpellings(NamedTuple):
    """The unguarded names of a file, what aliases stand for, and whether it asks for versions."""

    names: tuple[SpelledName, ...]
    aliases: dict[str, tuple[str, ...]]
    asks: bool


def spelled(text: str, package: str, methods: frozenset[str] = frozenset()) -> FileSpellings | None:
    """Return the names of `package` in a module's text; None where CPython cannot parse it.

    `methods` are attributes that are of interest on any receiver.
    """
    tree = try_parse(text)
    if tree is None:
        return None
    reader = _Reader(text, package, methods)
    reader.bind(tree)
    reader.walk(tree)
    aliases = {name: tuple(sorted(paths)) for name, paths in reader.aliases.items()}
    names = tuple(name for name in reader.names if not reader.is_given(name.paths))
    return FileSpellings(names, aliases, reader.asks)


class _Place(NamedTuple):
    guarded: bool = False
    inside: bool = False
    tried: bool = False


class _Reader:
    def __init__(self, text: str, package: str, methods: frozenset[str]) -> None:
        self.text = text
        self.lines = text.encode().splitlines(keepends=True)
        self.package = package
        self.methods = methods
        self.aliases: dict[str, set[str]] = {}
        self.names: list[SpelledName] = []
        self.stack: list[tuple[ast.AST, _Place]] = []  # what is still to be walked
        self.given: set[str] = set()  # dotted names that the file itself assigns
        self.defined: set[str] = set()
        self.asks = False
        self.annotations_run = True

    def bind(self, tree: ast.Module) -> None:
        """Bind each name to its meaning in the whole file; leave out one that may mean others."""
        others: set[str] = set()
        import_counts: Counter[str] = Counter()  # how often imports have it, not gone into
        for node in blocks(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    name = alias.asname or alias.name
                    if isinstance(node, ast.ImportFrom):
                        path = f"{node.module}.{alias.name}"
                        mine = not node.level and self._is_mine(node.module or "")
                        self.annotations_run &= path != "__future__.annotations"
                        import_counts[name] += 1
                    else:
                        mine = self._is_mine(alias.name)
                        path = alias.name if alias.asname else self.package
                        name = name if alias.asname else name.partition(".")[0]
                        import_counts[name] += alias.name == name or alias.asname is not None
                    self.aliases.setdefault(name, set()).add(path) if mine else others.add(name)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                others.add(node.name)
                self.defined.add(node.name)
        if any(may_be_rebound(name, import_counts[name], self.text) for name in self.aliases):
            others |= self._rebound(tree)
        for name in others:
            self.aliases.pop(name, None)

    def _rebound(self, tree: ast.Module) -> set[str]:
        """Return the names that no import alone binds; one may be another name of the package."""
        others: set[str] = set()
        renamed: list[tuple[str, ast.expr]] = []
        stores: list[str] = []
        for node in nodes(tree):
            if type(node) not in BINDING:
                continue
            if isinstance(node, ast.Name):
                if not isinstance(node.ctx, ast.Load):
                    stores.append(node.id)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                renamed.append((node.targets[0].id, node.value))
            elif isinstance(node, ast.arg):
                others.add(node.arg)
            elif (
                isinstance(node, ast.Call) and node.args and self._text(node.func).endswith(SETTERS)
            ):
                # It changes what the module has.
                others.update(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
        for name, value in renamed:
            stores.remove(name)
            paths = self._paths(value)
            if name in self.aliases and paths:
                self.aliases[name].update(paths)
            else:
                others.add(name)
        return others.union(stores)

    def _is_mine(self, dotted: str) -> bool:
        return f"{dotted}.".startswith(f"{self.package}.")

    def is_given(self, paths: tuple[str, ...]) -> bool:
        """Return whether the file assigns one of the dotted names, or a prefix of one."""
        # Of `a.b.c` these are a, a.b and a.b.c. A generated file assigns thousands of names.
        prefixes = (accumulate(path.split("."), "{}.{}".format) for path in paths)
        return not self.given.isdisjoint(chain.from_iterable(prefixes))

    # The walk

    def walk(self, tree: ast.Module) -> None:
        """Every node once, with a stack of our own: expressions nest deeper than Python does."""
        self._block(tree.body, _Place())
        while self.stack:
            node, place = self.stack.pop()
            _VISITORS.get(type(node), _Reader._fields)(self, node, place)

    def _fields(self, node: ast.AST, place: _Place) -> None:
        """Go on with what is in a node, but for annotations that Python does not look up."""
        runs = self.annotations_run and not (isinstance(node, ast.AnnAssign) and place.inside)
        for field in node._fields:
            value = getattr(node, field, None)
            if field in ("annotation", "returns") and not runs:
                continue
            if not isinstance(value, list):
                if type(value) not in LEAVES and isinstance(value, ast.AST):
                    self.stack.append((value, place))
            elif value and isinstance(value[0], ast.stmt):
                self._block(value, place)
            else:
                self.stack += [(part, place) for part in value if type(part) not in LEAVES]

    def _block(self, body: list[ast.stmt], place: _Place) -> None:
        """Statements; what follows `if old_version: return` is guarded as well."""
        for statement in body:
            self.stack.append((statement, place))
            if isinstance(statement, ast.If) and self._asks(statement.test):
                leaves = isinstance(statement.body[-1], (ast.Return, ast.Raise, ast.Continue))
                place = place._replace(guarded=place.guarded or leaves)

    def _tested(self, node: ast.BoolOp | ast.Assert, place: _Place) -> None:
        self._fields(node, place._replace(guarded=place.guarded or self._asks(node)))

    def _asks(self, node: ast.expr | ast.Assert) -> bool:
        asks = ASKS.search(self._text(node)) is not None
        self.asks = self.asks or asks
        return asks

    def _try(self, node: ast.Try, place: _Place) -> None:
        caught = {
            child.id
            for handler in node.handlers
            for child in ast.walk(handler.type or ast.Name("Exception"))
            if isinstance(child, ast.Name)
        }
        tries = not caught.isdisjoint(CAUGHT)
        self.asks = self.asks or tries
        inner = place._replace(guarded=place.guarded or tries)
        # A block of one statement may ask for a name; with more, it may fail for other reasons.
        is_broad = tries and caught.isdisjoint(CHECKS) and len(node.body) > 1
        tried = place._replace(tried=True) if is_broad else inner
        self._block(node.body, tried)
        for body in (node.orelse, *(handler_node.body for handler_node in node.handlers)):
            self._block(body, inner)
        self._block(node.finalbody, place)

    def _if(self, node: ast.If | ast.IfExp | ast.While, place: _Place) -> None:
        is_never = isinstance(node.test, ast.Constant) and not node.test.value
        never = is_never or OTHER_BACKEND.search(self._text(node.test)) is not None
        tested = place._replace(guarded=place.guarded or self._asks(node.test))
        self.stack.append((node.test, tested))
        for body, inner in (
            (node.body, tested._replace(guarded=tested.guarded or never)),
            (node.orelse, tested),
        ):
            if isinstance(body, list):
                self._block(body, inner)
            else:
                self.stack.append((body, inner))

    def _definition(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef,
        place: _Place,
    ) -> None:
        asks = any(self._asks(decorator) for decorator in getattr(node, "decorator_list", []))
        inside = place.inside or not isinstance(node, ast.ClassDef)
        self._fields(node, _Place(place.guarded or asks, inside, place.tried))

    def _suppressing(self, node: ast.With | ast.AsyncWith, place: _Place) -> None:
        """Guard what is in `with contextlib.suppress(...)` or `with pytest.raises(...)`."""
        text = " ".join(self._text(item.context_expr) for item in node.items)
        quiet = "suppress" in text or "raises" in text.lower()
        self._fields(node, place._replace(guarded=place.guarded or quiet))

    # Results

    def _import(self, node: ast.Import | ast.ImportFrom, place: _Place) -> None:
        for alias in node.names:
            path = alias.name
            if isinstance(node, ast.ImportFrom):
                path = "" if node.level else f"{node.module}.{alias.name}".removesuffix(".*")
            if self._is_mine(path) and not place.guarded and not place.tried:
                whole = node if len(node.names) == 1 else alias
                self._found(IMPORT, (path,), whole, place, alias.asname or alias.name)

    def _attribute(self, node: ast.Attribute, place: _Place) -> None:
        paths = self._paths(node)
        if paths and not isinstance(node.ctx, ast.Load):
            self.given.update(paths)
        elif paths and not place.guarded:
            root = next(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
            self._found(ATTRIBUTE, paths, node, place, root)
        elif not paths:
            seen = node.attr in self.methods and node.attr not in self.defined
            if seen and not (place.guarded or place.tried or not isinstance(node.ctx, ast.Load)):
                receiver = self._text(node.value)
                self._found(METHOD, (node.attr,), node, place, "", receiver)
            self.stack.append((node.value, place))

    def _found(
        self,
        kind: str,
        paths: tuple[str, ...],
        node: ast.stmt | ast.expr | ast.alias,
        place: _Place,
        root: str,
        receiver: str = "",
    ) -> None:
        start = self._location(node.lineno, node.col_offset)
        end = self._location(node.end_lineno or node.lineno, node.end_col_offset or 0)
        text = self._text(node)
        self.names.append(
            SpelledName(kind, paths, start, end, text, root, place.inside, receiver, place.tried)
        )

    def _location(self, row: int, offset: int) -> tuple[int, int]:
        return row, len(self.lines[row - 1][:offset].decode()) + 1

    def _text(self, node: ast.stmt | ast.expr | ast.alias) -> str:
        """Return the node as it is written."""
        last = (node.end_lineno or node.lineno) - 1
        rows = self.lines[node.lineno - 1 : last + 1]
        cut = len(rows[-1]) - (node.end_col_offset or 0)
        return b"".join(rows)[node.col_offset : -cut or None].decode(errors="replace")

    def _paths(self, node: ast.expr) -> tuple[str, ...]:
        """Return the dotted names that `a.b.c` can stand for; none where `a` is no alias."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ()
        bases = sorted(self.aliases.get(node.id, ()))
        return tuple(".".join([base, *reversed(parts)]) for base in bases)


_VISITORS: dict[type, Callable[[_Reader, Any, _Place], None]] = {
    ast.Import: _Reader._import,
    ast.ImportFrom: _Reader._import,
    ast.Attribute: _Reader._attribute,
    ast.Try: _Reader._try,
    ast.If: _Reader._if,
    ast.IfExp: _Reader._if,
    ast.While: _Reader._if,
    ast.BoolOp: _Reader._tested,
    ast.Assert: _Reader._tested,
    ast.With: _Reader._suppressing,
    ast.AsyncWith: _Reader._suppressing,
    ast.FunctionDef: _Reader._definition,
    ast.AsyncFunctionDef: _Reader._definition,
    ast.ClassDef: _Reader._definition,
    ast.Lambda: _Reader._definition,
}


def may_be_rebound(name: str, imported: int, text: str) -> bool:
    """Return whether more than imports may bind a name: it is written by itself more often.

    Beyond ASCII a name can be written in several ways, and `setattr` changes what it has.
    """
    if "setattr" in text or "delattr" in text or not text.isascii():
        return True
    name_alone = re.compile(rf"{re.escape(name)}(?<!\w{re.escape(name)})\b(?![ \t]*\.)")
    return len(name_alone.findall(text)) > imported
