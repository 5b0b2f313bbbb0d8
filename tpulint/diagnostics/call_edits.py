"""Edits of a call: an argument more or less, another function, a call around it."""

from __future__ import annotations

import libcst as cst

from tpulint.analysis.domain.site import Module, Site
from tpulint.diagnostics.source_tree import Edits, replaced, tree_of
from tpulint.finding import Span

COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
NO_COMMA = cst.MaybeSentinel.DEFAULT
NO_BLANKS = cst.SimpleWhitespace("")
EQUAL = cst.AssignEqual(NO_BLANKS, NO_BLANKS)
EXPRESSION: type[cst.BaseExpression] = cst.BaseExpression  # type: ignore[type-abstract]
Whitespace = cst.BaseParenthesizableWhitespace
# Expressions that can be called without brackets around them.
PRIMARY = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def with_keyword(call: Site, keyword: str, value: str) -> Edits | None:
    """Return the edits that give the call a keyword argument, or the one that it has a new value.

    None where that is not simple: a generator without brackets, `**options`, a computed value.
    """

    def change(node: cst.Call) -> cst.Call | None:
        if has_bare_generator(node) or any(each.star == "**" for each in node.args):
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

    return replaced(call.module, call.span, cst.Call, change)


def called_by_name(call: Site, name: str) -> Edits | None:
    """Return the edits that call `name` with the arguments of the call."""

    def change(node: cst.Call) -> cst.Call:
        return node.with_changes(func=cst.parse_expression(name), whitespace_after_func=NO_BLANKS)

    return replaced(call.module, call.span, cst.Call, change)


def call_wrapped(call: Site, function: str) -> Edits | None:
    """Return the edits that pass what a call returns to a function."""

    def change(node: cst.Call) -> cst.Call:
        return called(function, node)

    return replaced(call.module, call.span, cst.Call, change)


def scalar_wrapped(module: Module, span: Span, function: str, argument: str) -> Edits | None:
    """Return the edits that pass an expression to a function; None for a display."""

    def change(node: cst.BaseExpression) -> cst.Call | None:
        if isinstance(node, (cst.BaseList, cst.BaseSet, cst.BaseDict, cst.Tuple)):
            return None
        return called(function, node, cst.parse_expression(argument))

    return replaced(module, span, EXPRESSION, change)


def method_called(module: Module, span: Span, method: str) -> Edits | None:
    """Return the edits that call a method of the name or attribute at `span`."""

    def change(node: cst.BaseExpression) -> cst.Call | None:
        is_simple = isinstance(node, (cst.Name, cst.Attribute))
        return cst.Call(cst.Attribute(node, cst.Name(method))) if is_simple else None

    return replaced(module, span, EXPRESSION, change)


def without_method(call: Site, method: str) -> Edits | None:
    """Return the edits that make `v.method()` `v`."""

    def change(node: cst.Call) -> cst.BaseExpression | None:
        function = node.func
        if node.args or not isinstance(function, cst.Attribute) or function.attr.value != method:
            return None
        return function.value

    return replaced(call.module, call.span, cst.Call, change)


def without_forwarding(call: Site) -> Edits | None:
    """Return the edits that make `forward(function, x, y)` `function(x, y)`.

    None where the function is passed by keyword, or a comment would be lost.
    """

    def change(node: cst.Call) -> cst.Call | None:
        if not node.args or node.args[0].keyword is not None or node.args[0].star:
            return None
        function, *others = node.args
        return cst.Call(callable_(function.value), others)

    return replaced(call.module, call.span, cst.Call, change)


def passed(call: Site, called: Site) -> Edits | None:
    """Return the edits that make `forward(function(x))` `forward(function, x)`.

    `called` is the argument `function(x)`. None where it is no plain call.
    """
    tree = tree_of(call.module.text)
    inner = tree.at(called.span, cst.Call) if tree is not None else None
    if inner is None or has_bare_generator(inner):
        return None

    def change(node: cst.Call) -> cst.Call | None:
        outer = next((each for each in node.args if each.value is inner), None)
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

    return replaced(call.module, call.span, cst.Call, change)


def made_false(call: Site, index: int) -> Edits | None:
    """Return the edits that pass `False` where the call passes `True`."""

    def change(node: cst.Call) -> cst.Call | None:
        for argument in node.args[index : index + 1]:
            if isinstance(argument.value, cst.Name) and argument.value.value == "True":
                return with_value(node, argument, cst.Name("False"))
        return None

    return replaced(call.module, call.span, cst.Call, change)


def without_keyword(call: Site, keyword: str | None) -> Edits | None:
    """Return the edits that take a keyword argument out of a call, with its comma.

    None where it is one of several in `**options`.
    """

    def change(node: cst.Call) -> cst.Call | None:
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

    return replaced(call.module, call.span, cst.Call, change)


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
    if isinstance(row_end, cst.ParenthesizedWhitespace) and isinstance(
        blanks, cst.SimpleWhitespace
    ):
        first = row_end.first_line
        before = cst.SimpleWhitespace(blanks.value + first.whitespace.value)
        return row_end.with_changes(first_line=first.with_changes(whitespace=before))
    return row_end


def blanks_after(argument: cst.Arg) -> Whitespace:
    """Return what is between an argument, with its comma, and the next one or the bracket."""
    comma = argument.comma
    return comma.whitespace_after if isinstance(comma, cst.Comma) else argument.whitespace_after_arg


def named(call: cst.Call, keyword: str | None) -> cst.Arg | None:
    """Return the argument that is passed by `keyword`."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == keyword:
            return argument
    return None


def with_value(call: cst.Call, argument: cst.Arg, value: cst.BaseExpression) -> cst.Call:
    """Return the call with another value of an argument."""
    new = argument.with_changes(value=value)
    return call.with_changes(args=[new if each is argument else each for each in call.args])


def has_bare_generator(call: cst.Call) -> bool:
    """Return whether the brackets of the call are those of a generator as well."""
    values = [each.value for each in call.args]
    return any(isinstance(each, cst.GeneratorExp) and not each.lpar for each in values)


def called(function: str, *arguments: cst.BaseExpression) -> cst.Call:
    return cst.Call(cst.parse_expression(function), [cst.Arg(value) for value in arguments])


def callable_(function: cst.BaseExpression) -> cst.BaseExpression:
    """Return a function as it can be called."""
    if function.lpar or isinstance(function, PRIMARY):
        return function
    return function.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def in_lists(display: Site, count: int, is_one: bool) -> Edits | None:
    """Return the edits that put each of `count` elements into a list, or all into one.

    None where the list is written elsewhere.
    """

    def change(node: cst.List) -> cst.List | None:
        if len(node.elements) != count:
            return None
        *others, last = node.elements
        comma, bare = last.comma, last.with_changes(comma=NO_COMMA)
        if is_one:
            elements = [cst.Element(cst.List([*others, bare]), comma=comma)]
        else:
            elements = [in_list(each) for each in node.elements]
        return node.with_changes(elements=elements)

    return replaced(display.module, display.span, cst.List, change)


def in_list(element: cst.BaseElement) -> cst.Element:
    return cst.Element(cst.List([element.with_changes(comma=NO_COMMA)]), element.comma)
