"""Kinds of nodes in CPython's tree, by what a walk for the names of a package does with them."""

from __future__ import annotations

import ast
from typing import TypeGuard, TypeVar

P = TypeVar("P")

# Most of what a tree holds has nothing in it that the walk looks for.
LEAVES: frozenset[type] = frozenset(
    [ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, str, int, bool, type(None)]
).union(*(kind.__subclasses__() for kind in (ast.operator, ast.unaryop, ast.cmpop)))
# The nodes that bind a name, or may change what one means, besides imports and definitions.
BINDING = frozenset((ast.Name, ast.Assign, ast.arg, ast.Call))
# Of these only the parts are walked: no test, no block, no name of its own, no annotation.
PLAIN = frozenset(
    (
        *(ast.Assign, ast.AugAssign, ast.Await, ast.BinOp, ast.Call, ast.Compare, ast.Dict),
        *(ast.Expr, ast.GeneratorExp, ast.keyword, ast.List, ast.ListComp, ast.NamedExpr),
        *(ast.Return, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp),
        *(ast.comprehension, ast.arguments),
    )
)


def add_parts(node: ast.AST, place: P, stack: list[tuple[ast.AST, P]]) -> None:
    """Add what is in an expression, or in a statement of expressions."""
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            stack += [(each, place) for each in value if type(each) not in LEAVES]
        elif isinstance(value, ast.AST) and type(value) not in LEAVES:
            stack.append((value, place))


def has_parts(value: object) -> TypeGuard[ast.AST]:
    return isinstance(value, ast.AST) and type(value) not in LEAVES
