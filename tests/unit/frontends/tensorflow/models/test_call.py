"""The arguments of a call are kept whole, whatever the program does with them later."""

from __future__ import annotations

from dataclasses import fields

import pytest

from tpulint.absint.domain.events import Argument, Context, Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import UNKNOWN, Choice, Const, Value
from tpulint.frontends.tensorflow.models.table import snapshot
from tpulint.syntax import ir

CONTEXT = Context(run=1)
SITE = Site(Module("m.py", "/m.py", "", ir.ModuleSummary([], [], [], [], [])), 3)
TENSOR = Tensor(CONTEXT, SITE)
LIST = Sequence("list", [TENSOR], True, SITE, CONTEXT, frozenset([1]), (7,))
DICT = Mapping(
    {"a": TENSOR}, True, SITE, [Const("k")], {"a": CONTEXT}, CONTEXT, {"a"}, {"a": 5}, True
)
DICT.dropped_at["a"] = CONTEXT
STRUCTURES = [LIST, DICT]


@pytest.mark.parametrize("value", STRUCTURES, ids=["list", "dict"])
def test_a_copy_differs_in_no_field(value: Value) -> None:
    """Each field of the sample is set, so that a field that is added and forgotten fails."""
    argument = Argument("x", "*", value, SITE, None)
    (copied,) = snapshot((argument,))
    assert copied == argument._replace(value=copied.value)
    assert copied.value is not value
    # A copy is no longer the `__dict__` of an object.
    for field in fields(value):  # type: ignore[arg-type]
        if field.name == "attributes":
            continue
        assert getattr(value, field.name), field.name
        assert getattr(copied.value, field.name) == getattr(value, field.name)


def test_what_is_added_later_is_not_in_the_copy() -> None:
    inner = Sequence("list", [TENSOR])
    outer = Mapping({"a": Sequence("tuple", [inner])})
    before = repr(outer)
    (copied,) = snapshot((Argument(None, "", Choice((outer, UNKNOWN)), SITE),))
    inner.items.append(UNKNOWN)
    outer.items["b"] = UNKNOWN
    assert repr(copied.value) == f"{before} or UNKNOWN"
