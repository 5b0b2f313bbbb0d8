"""Hand-written guards against nested clusters, as they are in a module's source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tpulint.analysis.domain.site import Module, Site
from tpulint.knowledge import seam
from tpulint.syntax import ir

COUNTER, FLAG = "counter", "flag"
BLOCKS = {"if": (3, 4), "for": (4, 5), "while": (3, 4), "with": (3,), "try": (1, 3, 4)}


@dataclass(frozen=True)
class Guard:
    """kind: COUNTER or FLAG; `name` as it is written (`self.active`)."""

    kind: str
    name: str
    site: Site


def guards(module: Module) -> Iterator[Guard]:
    """The guards in `module` that do not guard."""
    facts = module.facts
    if facts.names_any(frozenset([seam.COUNTER])):
        for body in [facts.body, *(each.body for each in facts.functions)]:
            for place in counter_tests(body):
                yield Guard(COUNTER, seam.COUNTER, Site(module, place))
    for function in facts.functions:
        for name, place in flags(function):
            yield Guard(FLAG, name, Site(module, place))


def nodes(part: Any) -> Iterator[ir.Node]:
    """Every node in a summary, outermost first."""
    stack = [part]
    while stack:
        each = stack.pop()
        if isinstance(each, list):
            if each and isinstance(each[0], str):
                yield each
            stack.extend(reversed(each))


def counter_tests(body: list[ir.Node]) -> Iterator[int]:
    """The places where the counter is taken for a sign of an open cluster."""
    for node in nodes(body):
        tested: list[Any] = []
        if node[0] in ("if", "while", "ifexp"):
            tested = [node[2]]
        elif node[0] == "not":
            tested = [node[1]]
        elif node[0] == "bool":
            tested = node[2]
        elif node[0] == "cmp" and all(right[0] == "const" for _, right in node[2]):
            tested = [node[1]]
        for each in tested:
            place = reads_counter(each)
            if place is not None:
                yield place


def reads_counter(node: Any) -> int | None:
    """The place of `context._outside_compilation_counter`, or of its getattr."""
    if node[0] == "attr" and node[3] == seam.COUNTER:
        return int(node[1])
    called = node[0] == "call" and node[2][0] == "name" and node[2][2] == "getattr"
    if called and any(argument[2] == ["const", seam.COUNTER] for argument in node[3]):
        return int(node[1])
    return None


def flags(function: ir.Function) -> Iterator[tuple[str, int]]:
    """Flags that are set before a cluster and reset after it, but not when it raises."""
    if not function.names_any(seam.OUTSIDE_COMPILATION):
        return
    tested = {
        path
        for node in nodes(function.body)
        if node[0] == "if"
        for part in nodes(node[2])
        if (path := path_of(part))
    }
    for body in blocks(function.body):
        for index, statement in enumerate(body):
            name, value = assigned(statement)
            if name in tested and value is True and _is_reset_too_late(body[index + 1 :], name):
                yield name, statement[1][0][1]


def _is_reset_too_late(rest: list[ir.Node], name: str) -> bool:
    opened = False
    for statement in rest:
        if assigned(statement) == (name, False):
            return opened
        if statement[0] == "try" and any(assigned(each) == (name, False) for each in statement[4]):
            return False
        opened = opened or opens_cluster(statement)
    return False


def opens_cluster(part: Any) -> bool:
    for node in nodes(part):
        if node[0] == "call":
            callee = path_of(node[2])
            if callee.rpartition(".")[2] in seam.OUTSIDE_COMPILATION:
                return True
    return False


def blocks(body: list[ir.Node]) -> Iterator[list[ir.Node]]:
    """`body` and the blocks in it."""
    stack = [body]
    while stack:
        each = stack.pop()
        yield each
        for statement in each:
            for index in BLOCKS.get(statement[0], ()):
                if statement[index]:
                    stack.append(statement[index])


def assigned(statement: ir.Node) -> tuple[str, bool | None]:
    """The one path that a statement sets, and the truth of the constant it is set to."""
    if statement[0] != "assign" or len(statement[1]) != 1 or statement[2][0] != "const":
        return "", None
    return path_of(statement[1][0]), bool(statement[2][1])


def path_of(node: Any) -> str:
    """`self.active` as text; "" for anything but names and attributes of names, getattr's too."""
    if node[0] == "name":
        return str(node[2])
    if node[0] == "attr":
        base = path_of(node[2])
        return f"{base}.{node[3]}" if base else ""
    if node[0] == "call" and path_of(node[2]) == "getattr" and len(node[3]) > 1:
        (*_, base_node, _), (*_, name_node, _) = node[3][:2]
        base = path_of(base_node)
        return f"{base}.{name_node[1]}" if base and name_node[0] == "const" else ""
    return ""
