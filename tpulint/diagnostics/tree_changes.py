"""Changes of the syntax tree that fix a fault: of a call, its arguments, a decorator, a block.

A function with `change_at` is given the expression to change, and returns the new one. The others
are given the tree and a place in it, and return edits. None is for a text that is too unusual.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tpulint.diagnostics.source_tree import (
    Edits,
    NamedEdits,
    SourceTree,
    change_at,
    expression_change,
    replaced,
    tree_change,
    within,
)
from tpulint.finding import Location, Span

# Edits of a call: an argument more or less, another function, a call around it.

COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
NO_COMMA = cst.MaybeSentinel.DEFAULT
NO_BLANKS = cst.SimpleWhitespace("")
EQUAL = cst.AssignEqual(NO_BLANKS, NO_BLANKS)
EXPRESSION: type[cst.BaseExpression] = cst.BaseExpression  # type: ignore[type-abstract]
Whitespace = cst.BaseParenthesizableWhitespace
# Expressions that can be called without brackets around them.
PRIMARY = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


@change_at(cst.Call)
def with_keyword(node: cst.Call, keyword: str, value: str) -> cst.Call | None:
    """Give the call a keyword argument, or the one that it has a new value.

    None where that is not simple: a generator without brackets, `**options`, a computed value.
    """
    if has_bare_generator(node) or any(argument.star == "**" for argument in node.args):
        return None
    old = named(node, keyword)
    if old is not None:
        is_word = isinstance(old.value, (cst.Name, cst.BaseNumber, cst.SimpleString))
        return with_value(node, old, cst.parse_expression(value)) if is_word else None
    new = cst.Arg(cst.parse_expression(value), cst.Name(keyword), EQUAL)
    if not node.args:
        return node.with_changes(args=[new])
    *others, last = node.args
    new = new.with_changes(whitespace_after_arg=blanks_after(last))
    last = last.with_changes(comma=COMMA, whitespace_after_arg=NO_BLANKS)
    return node.with_changes(args=[*others, last, new])


@change_at(cst.Call)
def called_by_name(node: cst.Call, name: str) -> cst.Call:
    """Call `name` with the arguments of the call."""
    return node.with_changes(func=cst.parse_expression(name), whitespace_after_func=NO_BLANKS)


@change_at(cst.Call)
def call_wrapped(node: cst.Call, function: str) -> cst.Call:
    """Pass what a call returns to a function."""
    return called(function, node)


@change_at(EXPRESSION)
def scalar_wrapped(node: cst.BaseExpression, function: str, argument: str) -> cst.Call | None:
    """Pass an expression to a function; None for a display."""
    if isinstance(node, (cst.BaseList, cst.BaseSet, cst.BaseDict, cst.Tuple)):
        return None
    return called(function, node, cst.parse_expression(argument))


@change_at(EXPRESSION)
def method_called(node: cst.BaseExpression, method: str) -> cst.Call | None:
    """Call a method of a name or an attribute."""
    is_simple = isinstance(node, (cst.Name, cst.Attribute))
    return cst.Call(cst.Attribute(node, cst.Name(method))) if is_simple else None


@change_at(cst.Call)
def without_method(node: cst.Call, method: str) -> cst.BaseExpression | None:
    """Make `v.method()` `v`."""
    function = node.func
    if node.args or not isinstance(function, cst.Attribute) or function.attr.value != method:
        return None
    return function.value


@change_at(cst.Call)
def without_forwarding(node: cst.Call) -> cst.Call | None:
    """Make `forward(function, x, y)` `function(x, y)`.

    None where the function is passed by keyword, or a comment would be lost.
    """
    if not node.args or node.args[0].keyword is not None or node.args[0].star:
        return None
    function, *others = node.args
    return cst.Call(callable_(function.value), others)


@expression_change
def passed(tree: SourceTree, span: Span, *called: int) -> Edits | None:
    """Return the edits that make `forward(function(x))` `forward(function, x)`.

    `called` are the rows and columns of the argument `function(x)`. None where it is no plain call.
    """
    row, column, end_row, end_column = called
    place = Span(span.filename, Location(row, column), Location(end_row, end_column))
    inner = tree.at(place, cst.Call)
    if inner is None or has_bare_generator(inner):
        return None

    def change(node: cst.Call) -> cst.Call | None:
        outer = next((argument for argument in node.args if argument.value is inner), None)
        if outer is None or outer.keyword is not None or outer.star:
            return None
        index = node.args.index(outer)
        arguments = [outer.with_changes(value=inner.func)]
        if inner.args:
            blanks = inner.whitespace_before_args
            comma = COMMA if blanks.empty else cst.Comma(whitespace_after=blanks)
            *others, last = inner.args
            if isinstance(outer.comma, cst.Comma):
                last = last.with_changes(comma=outer.comma)
            arguments = [cst.Arg(inner.func, comma=comma), *others, last]
        return node.with_changes(args=[*node.args[:index], *arguments, *node.args[index + 1 :]])

    return replaced(tree, span, cst.Call, change)


@change_at(cst.Call)
def made_false(node: cst.Call, index: int) -> cst.Call | None:
    """Pass `False` where the call passes `True`."""
    match node.args[index : index + 1]:
        case [cst.Arg(value=cst.Name(value="True")) as argument]:
            return with_value(node, argument, cst.Name("False"))
    return None


@change_at(cst.Call)
def without_keyword(node: cst.Call, keyword: str | None) -> cst.Call | None:
    """Take a keyword argument out of a call, with its comma.

    None where it is one of several in `**options`.
    """
    argument = named(node, keyword)
    if argument is None:
        return None
    index = node.args.index(argument)
    before, after = list(node.args[:index]), node.args[index + 1 :]
    blanks = blanks_after(argument)
    if not before:
        blanks = joined(node.whitespace_before_args, blanks, not after)
        return node.with_changes(whitespace_before_args=blanks, args=after)
    last = before.pop()
    blanks = joined(blanks_after(last), blanks, not after)
    comma = cst.ensure_type(last.comma, cst.Comma)
    if isinstance(argument.comma, cst.Comma):
        last = last.with_changes(comma=comma.with_changes(whitespace_after=blanks))
    else:
        blanks = behind(comma.whitespace_before, blanks)
        last = last.with_changes(comma=NO_COMMA, whitespace_after_arg=blanks)
    return node.with_changes(args=[*before, last, *after])


def joined(before: Whitespace, after: Whitespace, is_last: bool) -> Whitespace:
    """Return the blanks around an argument as they are without it: comments stay."""
    if not isinstance(before, cst.ParenthesizedWhitespace):
        return after if is_last or isinstance(after, cst.ParenthesizedWhitespace) else before
    if not isinstance(after, cst.ParenthesizedWhitespace):
        return before
    first, row = after.first_line, []
    if first.comment is not None:
        row = [cst.EmptyLine(before.indent, before.last_line, first.comment, first.newline)]
    return after.with_changes(
        first_line=before.first_line, empty_lines=[*before.empty_lines, *row, *after.empty_lines]
    )


def behind(blanks: Whitespace, row_end: Whitespace) -> Whitespace:
    """Return the end of a row with the blanks before it."""
    match blanks, row_end:
        case cst.SimpleWhitespace(value=before), cst.ParenthesizedWhitespace(first_line=first):
            whitespace = cst.SimpleWhitespace(before + first.whitespace.value)
            return row_end.with_changes(first_line=first.with_changes(whitespace=whitespace))
    return row_end


def blanks_after(argument: cst.Arg) -> Whitespace:
    """Return what is between an argument, with its comma, and the next one or the bracket."""
    comma = argument.comma
    return comma.whitespace_after if isinstance(comma, cst.Comma) else argument.whitespace_after_arg


def named(call: cst.Call, keyword: str | None) -> cst.Arg | None:
    """Return the argument that is passed by `keyword`."""
    by_keyword = (it for it in call.args if it.keyword is not None and it.keyword.value == keyword)
    return next(by_keyword, None)


def with_value(call: cst.Call, argument: cst.Arg, value: cst.BaseExpression) -> cst.Call:
    """Return the call with another value of an argument."""
    new = argument.with_changes(value=value)
    return call.with_changes(args=[new if other is argument else other for other in call.args])


def has_bare_generator(call: cst.Call) -> bool:
    """Return whether the brackets of the call are those of a generator as well."""
    values = [argument.value for argument in call.args]
    return any(isinstance(value, cst.GeneratorExp) and not value.lpar for value in values)


def called(function: str, *arguments: cst.BaseExpression) -> cst.Call:
    return cst.Call(cst.parse_expression(function), [cst.Arg(value) for value in arguments])


def callable_(function: cst.BaseExpression) -> cst.BaseExpression:
    """Return a function as it can be called."""
    if function.lpar or isinstance(function, PRIMARY):
        return function
    return function.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


@change_at(cst.List)
def in_lists(node: cst.List, count: int, is_one: bool) -> cst.List | None:
    """Put each of `count` elements into a list, or all into one.

    None where the list is written elsewhere.
    """
    if len(node.elements) != count:
        return None
    *others, last = node.elements
    comma, bare = last.comma, last.with_changes(comma=NO_COMMA)
    if is_one:
        elements = [cst.Element(cst.List([*others, bare]), comma=comma)]
    else:
        elements = [
            cst.Element(cst.List([element.with_changes(comma=NO_COMMA)]), element.comma)
            for element in node.elements
        ]
    return node.with_changes(elements=elements)


# Edits of statements: a decorator, a block with or without the `with` around it.

Statements = Sequence[cst.BaseStatement]


@tree_change
def decorated(tree: SourceTree, span: Span, name: str, decorator: str) -> Edits | None:
    """Return the edits that put a decorator outermost on the function `name` at `span`."""
    row = span.start.row
    for node in tree.around(row, cst.FunctionDef):
        if node.name.value == name and tree.start(node).row == row:
            old = node.with_changes(leading_lines=())
            decorators = [cst.Decorator(cst.parse_expression(decorator)), *node.decorators]
            start = tree.start(node.decorators[0] if node.decorators else node)
            return tree.edits(start, [old], [old.with_changes(decorators=decorators)])
    return None


@tree_change
def without_with(tree: SourceTree, span: Span) -> Edits | None:
    """Return the edits that take away the `with` whose only item is the call.

    None where there is no such block, or a string of several rows is in it.
    """
    context = tree.at(span, cst.Call)
    if context is None:
        return None
    for node in tree.around(span.start.row, cst.With):
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


@tree_change
def defined(tree: SourceTree, span: Span) -> NamedEdits | None:
    """Return the edits that write a decorated `def` in place of `step = decorator(lambda ...)`.

    The name of the function comes first.
    """
    function = tree.at(span, cst.Lambda)
    if function is None:
        return None
    for node in tree.around(span.start.row, cst.SimpleStatementLine):
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
                return None if edits is None else NamedEdits(name, edits)
    return None


def decorator_of(call: cst.Call, options: Sequence[cst.Arg]) -> cst.BaseExpression | None:
    """Return the decorator that does what `call` does with a function: tf.function has options."""
    if not options:
        return call.func
    names = [node.value for node in within(call.func, cst.Name)]
    if names[-1:] != ["function"] or any(option.keyword is None for option in options):
        return None
    plain = [it.with_changes(comma=NO_COMMA, whitespace_after_arg=NO_BLANKS) for it in options]
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


@tree_change
def under_scope(tree: SourceTree, span: Span) -> NamedEdits | None:
    """Return the edits that put a statement under the scope of the strategy that is named there.

    The name comes first.
    """
    row = span.start.row
    strategy = strategy_at(tree, row)
    if strategy is None:
        return None
    item = cst.WithItem(cst.parse_expression(f"{strategy}.scope()"))
    for node in tree.around(row, cst.SimpleStatementLine):
        if isinstance(node.body[0], (cst.Assign, cst.AnnAssign, cst.Expr)):
            old = node.with_changes(leading_lines=())
            new = cst.With([item], cst.IndentedBlock([old]))
            edits = tree.edits(tree.start(node), [old], [new])
            if edits is None or has_long_string([old]):
                return None
            return NamedEdits(strategy, edits)
    return None


def strategy_at(tree: SourceTree, row: int) -> str | None:
    """Return the name of the strategy that the function around `row`, or the module, has made."""
    functions = tree.around(row, cst.FunctionDef)
    bodies = [tree.module.body, *(function.body.body for function in functions)]
    names = {
        target.target.value
        for body in bodies
        for line in body
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
