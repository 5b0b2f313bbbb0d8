"""Fixes of programs that train under a TPUStrategy."""

from __future__ import annotations

import ast

from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.analysis.domain.objects import Function
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Bound, Value
from tpulint.diagnostics.fixes.blocks import decorated, inside_with, parsed, without_with
from tpulint.diagnostics.fixes.dropped_argument import dropped
from tpulint.diagnostics.fixes.imported_name import tensorflow_in
from tpulint.diagnostics.fixes.tokens import tokens_of
from tpulint.finding import Applicability, Edit, Fix

UNSAFE = Applicability.UNSAFE


def step_compiled(step: Value, run: Site) -> Fix | None:
    """Return the fix that decorates the step with `tf.function`, which `run` then compiles."""
    function = step.function if isinstance(step, Bound) else step
    if not isinstance(function, Function) or function.code.is_lambda:
        return None
    module = function.module
    tf = tensorflow_in(module)
    if tf is None or module is not run.module:
        return None
    row = module.span(function.code.place).start.row
    edit = decorated(module, function.name, row, f"{tf}.function")
    return edit and Fix(UNSAFE, f"compile `{function.name}` with `{tf}.function`", (edit,))


def without_scope(scope: Site) -> Fix | None:
    """Return the fix that takes away `with strategy.scope():`, and leaves its block."""
    edits = without_with(scope)
    return None if edits is None else Fix(UNSAFE, "remove the scope", edits)


def in_scope(made: Site) -> Fix | None:
    """Return the fix that puts a statement under the scope of the strategy that is named there."""
    row = made.span.start.row
    strategy = strategy_at(parsed(made.module), row)
    edits = inside_with(made.module, row, f"{strategy}.scope()") if strategy else None
    return None if edits is None else Fix(UNSAFE, f"make it under `{strategy}.scope()`", edits)


def strategy_at(tree: ast.Module, row: int) -> str | None:
    """Return the name of the strategy that the function around `row`, or the module, has made."""
    found: list[tuple[int, str]] = []
    blocks: list[ast.Module | ast.FunctionDef] = [tree, *functions_around(tree, row)]
    for block in blocks:
        for node in block.body:
            if isinstance(node, ast.Assign) and node.lineno < row and makes_strategy(node.value):
                found += [
                    (node.lineno, each.id) for each in node.targets if isinstance(each, ast.Name)
                ]
    names = {name for _, name in found}
    return names.pop() if len(names) == 1 else None


def functions_around(tree: ast.Module, row: int) -> list[ast.FunctionDef]:
    return [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each.lineno <= row <= (each.end_lineno or row)
    ]


def makes_strategy(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).endswith("Strategy")


def not_eager(switch: ApiCall, given: Argument) -> Fix | None:
    """Return the fix that lets functions be compiled."""
    if given.keyword is not None and switch.last == "compile":
        edits = dropped(switch, given)
    else:
        said = [each for each in tokens_of(switch.site) if each.text == "True"]
        edits = tuple(Edit(each.start, each.end, "False") for each in said) or None
    return None if edits is None else Fix(UNSAFE, "do not run it eagerly", edits)
