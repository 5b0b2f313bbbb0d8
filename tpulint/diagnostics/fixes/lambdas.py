"""The fix of a lambda that needs a name: a function with that of the variable it is for."""

from __future__ import annotations

import ast

from tpulint.analysis.domain.site import Module, Site
from tpulint.diagnostics.fixes.blocks import STEP, is_at, parsed
from tpulint.finding import Applicability, Edit, Fix, Location
from tpulint.source import LINE_END


def named(lambda_: Site) -> Fix | None:
    """Return the fix that makes of `step = tf.function(lambda ...)` a decorated function `step`."""
    module = lambda_.module
    for node in ast.walk(parsed(module)):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(args=[ast.Lambda() as function]) as call,
            ) if name.isascii() and is_at(function, lambda_):
                edit = definition(module, node, name, call, function)
                return edit and Fix(Applicability.UNSAFE, f"make it the function `{name}`", (edit,))
    return None


def definition(
    module: Module, assignment: ast.Assign, name: str, call: ast.Call, function: ast.Lambda
) -> Edit | None:
    """Return the edit that writes a `def` in place of an assignment, with the comment after it.

    None where another statement is in its rows, or a comment inside it.
    """
    margin, inside, rest = parts(module, assignment)
    decorator = decorator_of(call)
    if decorator is None or margin.strip() or "#" in inside or rest[:1] not in ("", "#"):
        return None
    body = ast.get_source_segment(module.text, function.body) or ""
    if "\n" in body:
        body = f"({body})"
    comment = f"  {rest}" if rest else ""
    new = (
        f"{margin}@{decorator}\n"
        f"{margin}def {name}({ast.unparse(function.args)}):{comment}\n"
        f"{margin}{' ' * STEP}return {body}\n"
    )
    last = assignment.end_lineno or assignment.lineno
    return Edit(Location(assignment.lineno, 1), Location(last + 1, 1), new)


def parts(module: Module, statement: ast.stmt) -> tuple[str, str, str]:
    """Return what is before a statement in its rows, the statement, and what is after it."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    *above, row = (each.encode() for each in LINE_END.split(module.text)[first - 1 : last])
    end = statement.end_col_offset or 0
    start = b"\n".join([*above, row[:end]])
    margin, inside = start[: statement.col_offset], start[statement.col_offset :]
    return margin.decode(), inside.decode(), row[end:].decode().strip()


def decorator_of(call: ast.Call) -> str | None:
    """Return what calls the lambda's function as a decorator: of tf.function, with its options."""
    decorator = ast.unparse(call.func)
    if not call.keywords:
        return decorator
    if decorator.rpartition(".")[2] != "function":
        return None
    return ast.unparse(ast.Call(func=call.func, args=[], keywords=call.keywords))
