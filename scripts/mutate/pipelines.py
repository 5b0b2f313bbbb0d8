"""The batches of input pipelines that a TPUEstimator trains or evaluates by, by `ast` alone.

A prediction is no place for a smaller last batch: TPUEstimator fills it up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

PREDICTS = "predict"
DEPTH = 4  # of functions of the file that hand an input function on


def even_batches(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield each `drop_remainder=True` of a function that takes TPUEstimator's `params`.

    What `get_single_element` takes is no batch of the pipeline's.
    """
    elements = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and last_name(node.func) == "get_single_element"
        for inner in ast.walk(node)
    }
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and takes_params(function):
            drops = [
                drop
                for node in ast.walk(function)
                if isinstance(node, ast.Call) and node not in elements
                for drop in [keyword(node, "drop_remainder")]
                if isinstance(drop, ast.Constant) and drop.value is True
                if innermost(function, node)
            ]
            if drops and handed_to(tree, function) != {PREDICTS}:
                yield from drops


def every_even_batch(tree: ast.Module) -> Iterator[ast.keyword | ast.expr]:
    """Yield each `drop_remainder` of a file that may be true, of whatever call.

    One that batches can do without it, and gives the keyword; another call, only its value.
    """
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        for keyword in call.keywords:
            if keyword.arg == "drop_remainder" and not is_false(keyword.value):
                yield keyword if "batch" in last_name(call.func) else keyword.value


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def takes_params(function: ast.FunctionDef) -> bool:
    return any(arg.arg == "params" for arg in function.args.args)


def innermost(function: ast.FunctionDef, node: ast.AST) -> bool:
    """Return whether no function in `function` that takes `params` too holds the node."""
    return not any(
        inner is not function
        and isinstance(inner, ast.FunctionDef)
        and takes_params(inner)
        and node in ast.walk(inner)
        for inner in ast.walk(function)
    )


def handed_to(tree: ast.Module, function: ast.FunctionDef) -> set[str]:
    """Return the methods, and the functions that are not of the file, that get an input function.

    They are looked for in the function around it, and followed through parameters.
    """
    return set(_handed(tree, around(tree, function), function.name, DEPTH))


def _handed(tree: ast.Module, scope: ast.AST, name: str, depth: int) -> Iterator[str]:
    for call in ast.walk(scope):
        if not isinstance(call, ast.Call):
            continue
        for place, value in [*enumerate(call.args), *((k.arg, k.value) for k in call.keywords)]:
            if not (isinstance(value, ast.Name) and value.id == name):
                continue
            callee = named(tree, around(tree, call), call.func)
            if callee is None or not depth:
                yield last_name(call.func)
                continue
            names = [arg.arg for arg in callee.args.args]
            there = names[place] if isinstance(place, int) and place < len(names) else place
            yield from _handed(tree, callee, str(there), depth - 1)


def named(tree: ast.Module, scope: ast.AST, callee: ast.expr) -> ast.FunctionDef | None:
    """Return the function of the file that a name means, or the default of a parameter is."""
    if not isinstance(callee, ast.Name):
        return None
    wanted = callee.id
    if isinstance(scope, ast.FunctionDef):
        arguments = scope.args
        defaults = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
        for parameter, default in defaults:
            if parameter.arg == wanted:
                wanted = last_name(default)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == wanted]
    return functions[0] if functions else None


def around(tree: ast.Module, inner: ast.AST) -> ast.AST:
    """Return the innermost function around `inner`, or the module."""
    innermost: ast.AST = tree
    for node in ast.walk(tree):  # from the outside to the inside
        if isinstance(node, ast.FunctionDef) and node is not inner and inner in ast.walk(node):
            innermost = node
    return innermost


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value of a keyword argument, None where the call has none of that name."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def last_name(node: ast.expr) -> str:
    """Return the last name of a dotted expression, "" for any other."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
