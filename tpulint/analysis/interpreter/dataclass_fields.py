"""Attributes that no assignment sets: the fields of dataclasses and of named tuples."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.class_order import mro
from tpulint.analysis.domain.events import Argument
from tpulint.analysis.domain.objects import Class, Instance
from tpulint.analysis.domain.values import UNKNOWN
from tpulint.syntax.expression_nodes import Name
from tpulint.syntax.statement_nodes import AnnotatedAssign


def fill(made: Instance, args: tuple[Argument, ...]) -> None:
    """Give an object without an `__init__` the fields that its class declares."""
    fields = list(dict.fromkeys(_declared(made.cls)))
    plain = iter(fields)
    starred = False
    for each in args:
        name = each.keyword
        if each.star:
            starred = True
        elif name is None and not starred:
            name = next(plain, None)
        if name in fields:
            made.attributes[name] = each.value
    if starred:
        for name in fields:
            made.attributes.setdefault(name, UNKNOWN)


def _declared(cls: Class) -> Iterator[str]:
    """The annotated names in the bodies of a class and its bases, those of the last base first."""
    for each in reversed(mro(cls)):
        if isinstance(each, Class):
            for statement in each.code.body:
                match statement:
                    case AnnotatedAssign(target=Name(id=name)):
                        yield name
