"""Edits of statements: a decorator, a block with or without the `with` around it."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tpulint.analysis.domain.site import Module, Site
from tpulint.diagnostics.source_tree import Edits, SourceTree, tree_of, within

Statements = Sequence[cst.BaseStatement]


def decorated(module: Module, name: str, row: int, decorator: str) -> Edits | None:
    """Return the edits that put a decorator outermost on the function `name` at `row`."""
    tree = tree_of(module.text)
    if tree is None:
        return None
    for node in tree.around(row, cst.FunctionDef):
        if node.name.value == name and tree.start(node).row == row:
            old = node.with_changes(leading_lines=())
            decorators = [cst.Decorator(cst.parse_expression(decorator)), *node.decorators]
            start = tree.start(node.decorators[0] if node.decorators else node)
            return tree.edits(start, [old], [old.with_changes(decorators=decorators)])
    return None


def without_with(call: Site) -> Edits | None:
    """Return the edits that take away the `with` whose only item is the call.

    None where there is no such block, or a string of several rows is in it.
    """
    tree = tree_of(call.module.text)
    context = tree.at(call.span, cst.Call) if tree is not None else None
    if tree is None or context is None:
        return None
    for node in tree.around(call.span.start.row, cst.With):
        (item, *others), block = node.items, node.body
        if item.item is not context or others or item.asname or node.asynchronous:
            continue
        if not isinstance(block, cst.IndentedBlock) or has_long_string(block.body):
            return None
        old = node.with_changes(leading_lines=(), body=block.with_changes(footer=()))
        return tree.edits(tree.start(node), [old], unindented(block))
    return None


def unindented(block: cst.IndentedBlock) -> Statements:
    """Return the statements of a block below the comment of its header."""
    first, *others = block.body
    comment = block.header.comment
    if comment is None:
        return block.body
    assert isinstance(first, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
    above = [cst.EmptyLine(comment=comment), *first.leading_lines]
    return [first.with_changes(leading_lines=above), *others]


def defined(lambda_: Site) -> tuple[str, Edits] | None:
    """Return the edits that write a decorated `def` in place of `step = decorator(lambda ...)`.

    The name of the function comes first.
    """
    tree = tree_of(lambda_.module.text)
    function = tree.at(lambda_.span, cst.Lambda) if tree is not None else None
    if tree is None or function is None:
        return None
    for node in tree.around(lambda_.span.start.row, cst.SimpleStatementLine):
        match node.body:
            case [
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=name))],
                    value=cst.Call(args=[cst.Arg(keyword=None, value=value), *options]) as call,
                )
            ] if value is function and name.isascii():
                decorator = decorator_of(call, options)
                if decorator is None:
                    return None
                old = node.with_changes(leading_lines=())
                edits = tree.edits(
                    tree.start(node), [old], [definition(name, decorator, old, function)]
                )
                return None if edits is None else (name, edits)
    return None


def decorator_of(call: cst.Call, options: Sequence[cst.Arg]) -> cst.BaseExpression | None:
    """Return the decorator that does what `call` does with a function: tf.function has options."""
    if not options:
        return call.func
    names = [node.value for node in within(call.func, cst.Name)]
    if names[-1:] != ["function"] or any(each.keyword is None for each in options):
        return None
    blank = cst.SimpleWhitespace("")
    plain = [
        each.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=blank)
        for each in options
    ]
    return cst.Call(call.func, plain)


def definition(
    name: str,
    decorator: cst.BaseExpression,
    statement: cst.SimpleStatementLine,
    function: cst.Lambda,
) -> cst.FunctionDef:
    """Return a function that returns what the lambda does, with the comment of the statement."""
    value = function.body
    if not value.lpar and within(value, cst.ParenthesizedWhitespace):
        value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    body = cst.SimpleStatementLine([cst.Return(value)])
    return cst.FunctionDef(
        cst.Name(name),
        function.params,
        cst.IndentedBlock([body], header=statement.trailing_whitespace),
        decorators=[cst.Decorator(decorator)],
    )


def under_scope(made: Site) -> tuple[str, Edits] | None:
    """Return the edits that put a statement under the scope of the strategy that is named there.

    The name comes first.
    """
    tree = tree_of(made.module.text)
    row = made.span.start.row
    strategy = strategy_at(tree, row) if tree is not None else None
    if tree is None or strategy is None:
        return None
    item = cst.WithItem(cst.parse_expression(f"{strategy}.scope()"))
    for node in tree.around(row, cst.SimpleStatementLine):
        if isinstance(node.body[0], (cst.Assign, cst.AnnAssign, cst.Expr)):
            old = node.with_changes(leading_lines=())
            new = cst.With([item], cst.IndentedBlock([old]))
            edits = tree.edits(tree.start(node), [old], [new])
            return None if edits is None or has_long_string([old]) else (strategy, edits)
    return None


def strategy_at(tree: SourceTree, row: int) -> str | None:
    """Return the name of the strategy that the function around `row`, or the module, has made."""
    functions = tree.around(row, cst.FunctionDef)
    bodies = [tree.module.body, *(function.body.body for function in functions)]
    lines = [line for body in bodies for line in body]
    names = {
        target.target.value
        for line in lines
        if isinstance(line, cst.SimpleStatementLine) and tree.start(line).row < row
        for statement in line.body
        if isinstance(statement, cst.Assign) and makes_strategy(tree, statement.value)
        for target in statement.targets
        if isinstance(target.target, cst.Name)
    }
    return names.pop() if len(names) == 1 else None


def makes_strategy(tree: SourceTree, value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Call) and tree.module.code_for_node(value.func).endswith(
        "Strategy"
    )


def has_long_string(statements: Statements) -> bool:
    """Return whether a string goes on in another row."""
    strings = [node.value for node in within(statements, cst.SimpleString)]
    strings += [node.value for node in within(statements, cst.FormattedStringText)]
    return any("\n" in text or "\r" in text for text in strings)
