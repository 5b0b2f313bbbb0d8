"""The value of a name where several meet, and the argument that a call is given."""

from __future__ import annotations

import pytest

from tests.unit.reading import names
from tpulint.absint.domain.events import ApiCall, Argument, Context
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import (
    MAX_ALTERNATIVES,
    MAX_CALLEES,
    NONE,
    UNKNOWN,
    UNLISTED,
    Bound,
    Choice,
    Const,
    External,
    Opaque,
    Text,
    Value,
    join,
)
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.syntax import ir

MODULE = Module("example.py", "example.py", "", ir.ModuleSummary([], [], [], []))
SITE = Site(MODULE, 0)
NUMBERS = [Const(number) for number in range(MAX_ALTERNATIVES + 1)]
ONE_OF_TWO = Choice((Const(1), Const(2)))
GIVEN, OTHER = Opaque("given"), Opaque("other")
METHOD = External("library.method")


@pytest.mark.parametrize(
    ("values", "joined"),
    [
        ([], UNKNOWN),
        ([Const(1)], Const(1)),
        ([Const(1), Const(1)], Const(1)),
        ([Const("a"), Const("a"), Const("b")], Choice((Const("a"), Const("b")))),
        ([Const(1), ONE_OF_TWO], ONE_OF_TWO),
        ([Const(True), Const(1)], Choice((Const(True), Const(1)))),
        ([Const(0.0), Const(0)], Choice((Const(0.0), Const(0)))),
        ([GIVEN, GIVEN], GIVEN),
        ([GIVEN, OTHER], Choice((GIVEN, OTHER))),
        ([UNKNOWN, UNKNOWN], UNKNOWN),
        ([External("a.b"), External("a.b")], External("a.b")),
        ([External("a.b"), External("a.c")], Choice((External("a.b"), External("a.c")))),
        ([External("a"), Text("a")], Choice((External("a"), Text("a")))),
        ([Text("a"), Text("a")], Text("a")),
        ([Bound(METHOD, GIVEN), Bound(METHOD, GIVEN)], Bound(METHOD, GIVEN)),
        ([NONE, UNKNOWN], Choice((NONE, UNKNOWN))),
        (NUMBERS[:MAX_ALTERNATIVES], Choice(tuple(NUMBERS[:MAX_ALTERNATIVES]))),
        (NUMBERS, UNKNOWN),
    ],
)
def test_the_value_that_is_one_of_several(values: list[Value], joined: Value) -> None:
    actual = join(values)
    assert actual == joined
    assert repr(actual) == repr(joined)  # 1 == True


def call(*arguments: tuple[str | None, str, int]) -> ApiCall:
    """A call with such arguments: keyword, star, number."""
    named = tuple(Argument(name, star, Const(number), SITE) for name, star, number in arguments)
    return ApiCall("library.call", SITE, Context(), named, None, UNKNOWN)


def test_of_many_values_the_functions_are_kept() -> None:
    """A missed alarm: of more than six functions none was called."""
    text = "".join(f"def f{number}(): pass\n" for number in range(MAX_CALLEES + 1))
    *callees, last = names(text).values()
    assert join(callees) == Choice(tuple(callees))
    assert join([*NUMBERS, *callees[:2]]) == Choice((*callees[:2], UNKNOWN))
    assert join([*callees, last]) == Choice((*callees[:-1], UNLISTED))


@pytest.mark.parametrize(
    ("api_call", "position", "value"),
    [
        (call((None, "", 1), (None, "", 2)), 0, 1),
        (call((None, "", 1), (None, "", 2)), 1, 2),
        (call((None, "", 1)), 1, None),
        (call((None, "", 1)), None, None),
        (call((None, "", 1), ("wanted", "", 2)), 0, 2),
        (call(("other", "", 1), (None, "", 2)), 0, 2),
        (call((None, "*", 1), (None, "", 2)), 1, None),
        (call((None, "*", 1)), 0, None),
        (call((None, "", 1), (None, "*", 2)), 0, 1),
        (call((None, "", 1), (None, "*", 2)), 1, None),
    ],
)
def test_the_argument_by_keyword_or_position(
    api_call: ApiCall, position: int | None, value: int | None
) -> None:
    actual = api_call.argument("wanted", position)
    assert (None if actual is None else actual.value) == (None if value is None else Const(value))


def test_strategies_that_are_no_tpus_count_as_one_alternative() -> None:
    """A missed alarm: a project that chose among seven strategies had an unknown one."""
    actual = [Strategy("other", None) for _ in range(9)]
    joined = join([Strategy("unknown", None), Strategy("tpu", None), *actual])
    assert [option.kind for option in joined.options if isinstance(option, Strategy)] == [
        "unknown",
        "tpu",
        "other",
    ]
