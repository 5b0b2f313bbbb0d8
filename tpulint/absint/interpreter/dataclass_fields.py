"""Attributes that no assignment sets: the fields of dataclasses and of named tuples."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import Arguments
from tpulint.absint.domain.objects import Class, Instance, Sequence, mro
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import UNKNOWN, Const, External, Value
from tpulint.syntax import ir
from tpulint.syntax.nodes import AnnotatedAssign, Block, Constant, Name

TUPLES = ("typing.NamedTuple", "collections.namedtuple")


def fill(instance: Instance, args: Arguments) -> None:
    """Give an object without an `__init__` the fields that its class declares."""
    fields = list(dict.fromkeys(_declared(instance.cls)))
    plain = iter(fields)
    starred = False
    for argument in args:
        name = argument.keyword
        if argument.star:
            starred = True
        elif name is None and not starred:
            name = next(plain, None)
        if name in fields:
            instance.attributes[name] = argument.value
    if starred:
        for name in fields:
            instance.attributes.setdefault(name, UNKNOWN)


def _declared(cls: Class) -> Iterator[str]:
    """Yield the annotated names in the bodies of a class and its bases, the last base first."""
    for base in reversed(mro(cls)):
        for statement in base.code.body if isinstance(base, Class) else ():
            match statement:
                case AnnotatedAssign(target=Name(id=name)):
                    yield name


def items(value: Value) -> list[Value] | None:
    """Return the fields of a named tuple in their order; None of others, or where one is unseen."""
    if not isinstance(value, Instance):
        return None
    if not any(base.path in TUPLES for base in value.cls.outer_bases):
        return None
    names = dict.fromkeys(_declared(value.cls))
    fields = [value.attributes.get(name) or value.cls.names.get(name) for name in names]
    values = [value for value in fields if value is not None]
    return values if len(values) == len(fields) else None


def named_tuple(name: Value | None, fields: Value | None, site: Site) -> Class | None:
    """Return the class that `namedtuple(name, fields)` makes; None if the fields are not seen."""
    if isinstance(fields, Const) and isinstance(fields.value, str):
        names = fields.value.replace(",", " ").split()
    elif isinstance(fields, Sequence) and not fields.open:
        names = [text for value in fields.items if (text := _text(value))]
        if len(names) != len(fields.items):
            return None
    else:
        return None
    body: Block = [AnnotatedAssign(Name(site.place, name), Constant(None), None) for name in names]
    code = ir.ClassCode(_text(name) or "tuple", site.place, [], [], [], body)
    return Class(code, site.module, None, (External("collections.namedtuple"),), {})


def _text(value: Value | None) -> str | None:
    """Return a field's name, given by itself or with its type."""
    if isinstance(value, Sequence) and value.items:
        value = value.items[0]
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
