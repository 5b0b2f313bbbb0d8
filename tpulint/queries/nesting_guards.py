"""Hand-written guards against nested clusters, as they are in a module's source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.analysis.domain.site import Module, Site
from tpulint.knowledge import seam
from tpulint.syntax import ir
from tpulint.syntax.expression_nodes import (
    Attribute,
    BoolOperation,
    CallNode,
    Compare,
    Conditional,
    Constant,
    Name,
    Not,
)
from tpulint.syntax.nodes import Block, Expression, Node, Statement, walk
from tpulint.syntax.places import first_place
from tpulint.syntax.statement_nodes import Assign, For, If, Try, While, With

COUNTER, FLAG = "counter", "flag"


@dataclass(frozen=True)
class Guard:
    """kind: COUNTER or FLAG; `name` as it is written (`self.active`)."""

    kind: str
    name: str
    site: Site


def guards(module: Module) -> Iterator[Guard]:
    """Yield the guards in `module` that do not guard."""
    facts = module.facts
    if facts.names_any(frozenset([seam.COUNTER])):
        for body in [facts.body, *(each.body for each in facts.functions)]:
            for place in counter_tests(body):
                yield Guard(COUNTER, seam.COUNTER, Site(module, place))
    for function in facts.functions:
        for name, place in flags(function):
            yield Guard(FLAG, name, Site(module, place))


def counter_tests(body: Block) -> Iterator[int]:
    """Yield the places where the counter is taken for a sign of an open cluster."""
    for node in walk(*body):
        for each in _tested(node):
            place = reads_counter(each)
            if place is not None:
                yield place


def _tested(node: Node) -> list[Expression]:
    """Return the expressions of which a node takes the truth, or compares with constants."""
    match node:
        case If(test=test) | While(test=test) | Conditional(test=test):
            return [test]
        case Not(operand=operand):
            return [operand]
        case BoolOperation(items=items):
            return items
        case Compare(left=left, comparisons=comparisons):
            if all(isinstance(each.right, Constant) for each in comparisons):
                return [left]
    return []


def reads_counter(node: Expression) -> int | None:
    """Return the place of `context._outside_compilation_counter`, or of its getattr."""
    match node:
        case Attribute(place=place, name=seam.COUNTER):
            return place
        case CallNode(place=place, callee=Name(id="getattr"), arguments=arguments):
            if any(each.value == Constant(seam.COUNTER) for each in arguments):
                return place
    return None


def flags(function: ir.FunctionCode) -> Iterator[tuple[str, int]]:
    """Yield flags that are set before a cluster and reset after it, but not when it raises."""
    if not function.names_any(seam.OUTSIDE_COMPILATION):
        return
    tested = {
        path
        for node in walk(*function.body)
        if isinstance(node, If)
        for part in walk(node.test)
        if isinstance(part, Expression) and (path := path_of(part))
    }
    for body in blocks(function.body):
        for index, statement in enumerate(body):
            target, value = assigned(statement)
            if target is None or value is not True or path_of(target) not in tested:
                continue
            if _is_reset_too_late(body[index + 1 :], path_of(target)):
                yield path_of(target), first_place(target)


def _is_reset_too_late(rest: Block, name: str) -> bool:
    opened = False
    for statement in rest:
        if _resets(statement, name):
            return opened
        if isinstance(statement, Try) and any(_resets(each, name) for each in statement.final):
            return False
        opened = opened or opens_cluster(statement)
    return False


def _resets(statement: Statement, name: str) -> bool:
    target, value = assigned(statement)
    return target is not None and value is False and path_of(target) == name


def opens_cluster(statement: Statement) -> bool:
    return any(
        path_of(node.callee).rpartition(".")[2] in seam.OUTSIDE_COMPILATION
        for node in walk(statement)
        if isinstance(node, CallNode)
    )


def blocks(body: Block) -> Iterator[Block]:
    """`body` and the blocks in it."""
    stack = [body]
    while stack:
        each = stack.pop()
        yield each
        for statement in each:
            stack.extend(inner for inner in _inner_blocks(statement) if inner)


def _inner_blocks(statement: Statement) -> tuple[Block, ...]:
    match statement:
        case If() | For() | While():
            return statement.body, statement.orelse
        case With():
            return (statement.body,)
        case Try():
            return statement.body, statement.orelse, statement.final
    return ()


def assigned(statement: Statement) -> tuple[Expression | None, bool | None]:
    """Return the one target that a statement sets, and the truth of the constant it is set to."""
    match statement:
        case Assign(targets=[target], value=Constant(value=value)):
            return target, bool(value)
    return None, None


def path_of(node: Expression) -> str:
    """`self.active` as text; "" for anything but names and attributes of names, getattr's too."""
    match node:
        case Name(id=name):
            return name
        case Attribute(base=inner, name=name):
            base = path_of(inner)
            return f"{base}.{name}" if base else ""
        case CallNode(callee=Name(id="getattr"), arguments=[first, second, *_]):
            base = path_of(first.value)
            if base and isinstance(second.value, Constant):
                return f"{base}.{second.value.value}"
    return ""
