"""Find the keywords that a function with `**kwargs` takes, where its body says which.

A body says so if it raises for what it does not know (`if kwargs: raise`, a list of what is
allowed), or hands the rest to a function of which that is known. Every use of `kwargs` has to
be understood; else the function may take any keyword.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from scripts.wheels import Library

READS = ("pop", "get", "setdefault")
LISTS = ("keys", "items", "values")
PLAIN = ("len", "set", "list", "sorted", "str", "repr", "tuple", "dict", "bool", "iter", "next")
DEPTH = 12  # of classes and of calls that hand `kwargs` on


class Place(NamedTuple):
    """A function, with the module and the class that hold it."""

    module: str
    owner: ast.ClassDef | None
    node: ast.FunctionDef


class Use(NamedTuple):
    """A use of `kwargs`: what it is part of, innermost first."""

    name: ast.Name
    around: tuple[ast.AST, ...]


class Unclear(Exception):
    """The function may take any keyword."""


class Keywords:
    """The keywords of the functions of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def hidden(self, place: Place) -> frozenset[str] | None:
        """Return what `**kwargs` may hold; None where that may be anything."""
        variable = place.node.args.kwarg
        if variable is None:
            return frozenset()
        try:
            names, is_closed = self._uses_of(place, variable.arg, 0)
        except Unclear:
            return None
        return frozenset(names) if is_closed else None

    def made_by(self, call: Place, module: str, cls: ast.ClassDef) -> frozenset[str]:
        """Return what the `**kwargs` of a metaclass's `__call__` may hold for the class `cls`.

        Raises:
            Unclear: that may be anything.
        """
        variable = call.node.args.kwarg
        if variable is None:
            return frozenset()
        names: set[str] = set()
        for use in uses(call.node, variable.arg):
            inner, *outer = use.around
            if not (isinstance(inner, ast.keyword) and isinstance(outer[0], ast.Call)):
                raise Unclear
            if re.fullmatch(r"super\(.*\)\.__call__", ast.unparse(outer[0].func)):
                names |= self._of_own_constructor(module, cls)
                continue
            taken, is_closed = self._handed_on(call, outer[0], 0)
            if not is_closed:
                raise Unclear
            names |= taken
        own = {parameter.arg for parameter in call.node.args.args}
        return frozenset(names - own)

    def _of_own_constructor(self, module: str, cls: ast.ClassDef) -> set[str]:
        try:
            place = self.method(module, cls, "__init__")
        except Unclear:
            if _may_have(self.library, module, cls, "__init__"):
                raise
            return set()
        hidden = self.hidden(place)
        if hidden is None:
            raise Unclear
        arguments = place.node.args
        return {item.arg for item in [*arguments.args, *arguments.kwonlyargs]} | hidden

    def method(self, module: str, owner: ast.ClassDef, name: str, depth: int = 0) -> Place:
        """Return the method of a class or of its bases, from left to right.

        Raises:
            Unclear: a base that may have it cannot be read, or none has it.
        """
        for statement in owner.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return Place(module, owner, statement)
        return self.inherited(module, owner, name, depth)

    def inherited(self, module: str, owner: ast.ClassDef, name: str, depth: int = 0) -> Place:
        """Return the method that `super()` gives in the class `owner`; raises as `method`."""
        if depth > DEPTH:
            raise Unclear
        for base in owner.bases:
            definition = self.library.evaluated(module, base)
            if not isinstance(definition.node, ast.ClassDef):
                raise Unclear
            try:
                return self.method(definition.module, definition.node, name, depth + 1)
            except Unclear:
                if _may_have(self.library, definition.module, definition.node, name):
                    raise
        raise Unclear

    def _uses_of(self, place: Place, variable: str, depth: int) -> tuple[set[str], bool]:
        """Return the names that the function knows, and whether it refuses all others."""
        if depth > DEPTH:
            raise Unclear
        names: set[str] = set()
        is_closed = False
        for use in uses(place.node, variable):
            taken, closes = self._use(place, use, depth)
            names |= taken
            is_closed = is_closed or closes
        return names, is_closed

    def _use(self, place: Place, use: Use, depth: int) -> tuple[set[str], bool]:
        inner, *outer = use.around
        if isinstance(inner, ast.Attribute) and outer and isinstance(outer[0], ast.Call):
            call = outer[0]
            if inner.attr in LISTS:
                return _of_loop(place.node, outer[1:])
            if inner.attr in READS and call.args:
                return _keys(place.node, call.args[0], use), False
        if isinstance(inner, ast.Subscript) and inner.value is use.name:
            return _keys(place.node, inner.slice, use), False
        if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], (ast.In, ast.NotIn)):
            return _keys(place.node, inner.left, use), False
        if isinstance(inner, ast.If):
            return set(), _raises(inner.body)
        if isinstance(inner, (ast.FormattedValue, ast.Raise)):
            return set(), False
        if isinstance(inner, (ast.For, ast.comprehension)):
            return _of_loop(place.node, use.around)
        if isinstance(inner, ast.keyword) and inner.arg is None and isinstance(outer[0], ast.Call):
            return self._handed_on(place, outer[0], depth)
        if isinstance(inner, ast.Call):
            return self._argument(place, inner, use, depth)
        if isinstance(inner, (ast.BoolOp, ast.UnaryOp)):
            return set(), False
        raise Unclear

    def _argument(
        self, place: Place, call: ast.Call, use: Use, depth: int
    ) -> tuple[set[str], bool]:
        """Return what a call knows of `kwargs` that gets it as one argument."""
        called = ast.unparse(call.func)
        if called.rpartition(".")[2] == "validate_kwargs" and len(call.args) > 1:
            return literal(place.node, call.args[1]), True
        if called in PLAIN or called.startswith(("logging.", "warnings.")):
            return _of_loop(place.node, use.around[1:])
        if called.endswith(".format"):
            return set(), False
        if called.startswith("self.") and called.count(".") == 1 and place.owner is not None:
            target = self.method(place.module, place.owner, called[5:])
            position = next((i for i, arg in enumerate(call.args) if arg is use.name), -1)
            parameters = target.node.args.args[1:]
            if 0 <= position < len(parameters):
                return self._uses_of(target, parameters[position].arg, depth + 1)
        raise Unclear

    def _handed_on(self, place: Place, call: ast.Call, depth: int) -> tuple[set[str], bool]:
        """Return what `f(**kwargs)` takes."""
        target = self._target(place, call.func)
        arguments = target.node.args
        plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names = {parameter.arg for parameter in plain} - {"self", "cls"}
        if arguments.kwarg is None:
            return names, True
        more, is_closed = self._uses_of(target, arguments.kwarg.arg, depth + 1)
        return names | more, is_closed

    def _target(self, place: Place, called: ast.expr) -> Place:
        if isinstance(called, ast.Attribute) and place.owner is not None:
            if isinstance(called.value, ast.Call) and ast.unparse(called.value.func) == "super":
                return self.inherited(place.module, place.owner, called.attr)
            if isinstance(called.value, ast.Name) and called.value.id == "self":
                return self.method(place.module, place.owner, called.attr)
        definition = self.library.evaluated(place.module, called)
        if isinstance(definition.node, ast.FunctionDef):
            return Place(definition.module, None, definition.node)
        if isinstance(definition.node, ast.ClassDef):
            return self.method(definition.module, definition.node, "__init__")
        raise Unclear


def _may_have(library: Library, module: str, owner: ast.ClassDef, name: str) -> bool:
    """Return whether a class whose method is not seen may have it: a base is unreadable."""
    for base in owner.bases:
        if ast.unparse(base) == "object":
            continue
        definition = library.evaluated(module, base)
        if not isinstance(definition.node, ast.ClassDef):
            return True
        if _may_have(library, definition.module, definition.node, name):
            return True
    return False


def uses(function: ast.FunctionDef, variable: str) -> Iterator[Use]:
    """Yield the uses of a variable in the body of a function."""
    waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(node, ()) for node in function.body]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.Name) and node.id == variable:
            yield Use(node, around)
        waiting += [(child, (node, *around)) for child in ast.iter_child_nodes(node)]


def _keys(function: ast.FunctionDef, key: ast.expr, use: Use) -> set[str]:
    """Return the names that a key may be: a constant, or the variable of a loop."""
    loops = [node for node in use.around if isinstance(node, ast.For)]
    for loop in loops if isinstance(key, ast.Name) else []:
        target, items = loop.target, loop.iter
        if isinstance(target, ast.Tuple) and isinstance(items, ast.Call):
            target = target.elts[0]
            items = items.func.value if isinstance(items.func, ast.Attribute) else items
        if ast.unparse(target) == ast.unparse(key):
            # A loop over `kwargs` itself comes to the names that are given.
            return set() if use.name.id in ast.unparse(items) else literal(function, items)
    return {_text(key)}


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise Unclear


def _raises(body: list[ast.stmt]) -> bool:
    """Return whether a block ends in an error, whichever way it takes."""
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _raises(last.body) and _raises(last.orelse)
    return isinstance(last, ast.Raise)


def _of_loop(
    function: ast.FunctionDef, around: tuple[ast.AST, ...] | list[ast.AST]
) -> tuple[set[str], bool]:
    """Return what a function knows that goes through the names, or takes the known ones away."""
    for node in around:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            has_error = any(isinstance(inner, ast.Raise) for inner in ast.walk(function))
            return literal(function, node.right), has_error
        if isinstance(node, ast.For):
            return _refused(function, node)
        if isinstance(node, (ast.comprehension, ast.Lambda, ast.Assign, ast.Return)):
            raise Unclear
        if isinstance(node, ast.stmt):
            break
    return set(), False


def _refused(function: ast.FunctionDef, loop: ast.For) -> tuple[set[str], bool]:
    """Return the names that a loop over `kwargs` lets through, and whether it refuses others."""
    if _raises(loop.body):
        return set(), True
    for statement in loop.body:
        test = statement.test if isinstance(statement, ast.If) else None
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotIn):
            continue
        if isinstance(statement, ast.If) and _raises(statement.body):
            return literal(function, test.comparators[0]), True
    raise Unclear


def literal(function: ast.FunctionDef, value: ast.expr) -> set[str]:
    """Return the strings of a literal collection, or of the variable that holds it."""
    if isinstance(value, ast.Name):
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == value.id:
                return literal(function, node.value)
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("set", "frozenset", "tuple"):
        return literal(function, value.args[0]) if value.args else set()
    if isinstance(value, ast.Dict):
        return {_text(key) for key in value.keys if key is not None}
    if isinstance(value, (ast.Set, ast.List, ast.Tuple)):
        return {_text(item) for item in value.elts}
    raise Unclear
