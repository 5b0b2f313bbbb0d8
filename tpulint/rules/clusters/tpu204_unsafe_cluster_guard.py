"""TPU204: a hand-written guard against nested clusters that does not guard."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.site import Site
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.rules.base import Program, Report, Rule, Severity, register
from tpulint.syntax import ir, nodes


@register
class UnsafeClusterGuard(Rule):
    code = "TPU204"
    name = "unsafe-cluster-guard"
    severity = Severity.WARNING
    summary = "a hand-written nesting guard that is wrong"

    def check(self, program: Program, report: Report) -> None:
        for module in program.modules:
            facts = module.facts
            # Searching the mentions first keeps the bodies of most modules unread.
            if facts.names_any(frozenset([tf_names.COUNTER])):
                for body in [facts.body, *(function.body for function in facts.functions)]:
                    for place in counter_tests(body):
                        report(
                            Site(module, place).span,
                            f"`{tf_names.COUNTER}` is never decremented, so this guard stays set"
                            " after the first cluster: test `_outside_compilation_cluster` instead",
                        )
            for function in facts.functions:
                for name, place in flags(function):
                    report(
                        Site(module, place).span,
                        f"`{name}` stays set if the host function raises: reset it in a"
                        " `finally`, or the next trace opens no clusters",
                    )


def counter_tests(body: nodes.Block) -> Iterator[int]:
    """Yield the places where the counter is taken for a sign of an open cluster."""
    for node in nodes.walk(*body):
        for expression in _tested(node):
            place = reads_counter(expression)
            if place is not None:
                yield place


def _tested(node: nodes.Node) -> list[nodes.Expression]:
    """Return the expressions of which a node takes the truth, or compares with constants."""
    match node:
        case nodes.If(test=test) | nodes.While(test=test) | nodes.Conditional(test=test):
            return [test]
        case nodes.Not(operand=operand):
            return [operand]
        case nodes.BoolOperation(items=items):
            return items
        case nodes.Compare(left=left, comparisons=comparisons):
            if all(isinstance(comparison.right, nodes.Constant) for comparison in comparisons):
                return [left]
    return []


def reads_counter(node: nodes.Expression) -> int | None:
    """Return the place of `context._outside_compilation_counter`, or of its getattr."""
    match node:
        case nodes.Attribute(place=place, name=tf_names.COUNTER):
            return place
        case nodes.CallNode(place=place, callee=nodes.Name(id="getattr"), arguments=arguments):
            if any(argument.value == nodes.Constant(tf_names.COUNTER) for argument in arguments):
                return place
    return None


def flags(function: ir.FunctionCode) -> Iterator[tuple[str, int]]:
    """Yield flags that are set before a cluster and reset after it, but not when it raises."""
    if not function.names_any(tf_names.OUTSIDE_COMPILATION):
        return
    tested = {
        path
        for node in nodes.walk(*function.body)
        if isinstance(node, nodes.If)
        for part in nodes.walk(node.test)
        if isinstance(part, nodes.Expression) and (path := nodes.dotted_path(part))
    }
    for body in blocks(function.body):
        for index, statement in enumerate(body):
            name, value, place = assigned(statement)
            # A reset in the body alone is skipped when the host function raises while it is traced.
            if value and name in tested and _is_reset_too_late(body[index + 1 :], name):
                yield name, place


def _is_reset_too_late(rest: nodes.Block, name: str) -> bool:
    opened = False
    for statement in rest:
        if assigned(statement)[:2] == (name, False):
            return opened
        final = statement.final if isinstance(statement, nodes.Try) else []
        if any(assigned(cleanup)[:2] == (name, False) for cleanup in final):
            return False
        opened = opened or any(
            nodes.dotted_path(node.callee).rpartition(".")[2] in tf_names.OUTSIDE_COMPILATION
            for node in nodes.walk(statement)
            if isinstance(node, nodes.CallNode)
        )
    return False


def blocks(body: nodes.Block) -> Iterator[nodes.Block]:
    """Yield `body` and the blocks in it."""
    stack = [body]
    while stack:
        block = stack.pop()
        yield block
        for statement in block:
            if isinstance(statement, (nodes.If, nodes.For, nodes.While, nodes.Try)):
                stack += [statement.body, statement.orelse]
            if isinstance(statement, nodes.With):
                stack.append(statement.body)
            if isinstance(statement, nodes.Try):
                stack.append(statement.final)


def assigned(statement: nodes.Statement) -> tuple[str, bool, int]:
    """Return the one name that a statement sets to a constant, the truth of that, and the place."""
    match statement:
        case nodes.Assign(targets=[target], value=nodes.Constant(value=value)):
            return nodes.dotted_path(target), bool(value), nodes.first_place(target)
    return "", False, -1
