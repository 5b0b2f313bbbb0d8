"""Programs that nest deeply: what is too deep is left out, and no stack overflows."""

from __future__ import annotations

import sys

from tests.unit.reading import interpreter, names, program
from tpulint.absint.domain.objects import Class, mro
from tpulint.absint.domain.values import Choice, Const
from tpulint.absint.interpreter.interpreter import RECURSION_LIMIT, call_with_deep_stack

SEAM = "from tensorflow.compat.v1.tpu import rewrite\n"


def test_a_long_sum_is_read() -> None:
    assert names("x = " + " + ".join(["1"] * 900))["x"] == Const(900)


def test_a_long_chain_of_branches_is_read() -> None:
    branches = "".join(f"elif unseen({number}):\n    x = 2\n" for number in range(500))
    text = f"from elsewhere import unseen\nif unseen():\n    x = 1\n{branches}else:\n    x = 1\n"
    actual = names(text)["x"]
    assert isinstance(actual, Choice)
    assert set(actual.options) == {Const(1), Const(2)}


def test_a_long_line_of_classes_has_an_order() -> None:
    rows = ["class A0:\n    x = 1"]
    rows += [f"class A{number}(A{number - 1}): pass" for number in range(1, 1500)]
    reader, module = interpreter("\n".join([*rows, "x = A1499().x"]))
    actual = reader.module_env(module).names
    assert not reader.failures
    assert actual["x"] == Const(1)
    last = actual["A1499"]
    assert isinstance(last, Class)
    assert len(mro(last)) == 1500


def test_a_call_that_nests_too_deeply_is_left_out_and_said() -> None:
    depth = 30  # of blocks in each function, and the functions call each other
    calls = "".join(
        f"def f{number}(x):\n"
        + "".join(f"{' ' * (level + 1)}if unseen({level}):\n" for level in range(depth))
        + f"{' ' * (depth + 1)}f{number + 1}(x)\n"
        for number in range(38)
    )
    text = f"{SEAM}from elsewhere import unseen\n{calls}def f38(x): pass\nrewrite(f0, [1])\n"
    limit = sys.getrecursionlimit()
    whole = program(text)
    assert not whole.failures
    assert not whole.unfollowed
    sys.setrecursionlimit(1_500)
    try:
        reader, module = interpreter(text)
        reader.module_env(module)
    finally:
        sys.setrecursionlimit(limit)
    assert not reader.failures
    assert {layer_call.limit for layer_call in reader.unfollowed} == {"calls nested too deeply"}


def test_the_limit_of_recursion_is_as_it_was() -> None:
    limit = sys.getrecursionlimit()
    limits = []
    call_with_deep_stack(lambda: limits.append(sys.getrecursionlimit()))
    assert limits == [max(limit, RECURSION_LIMIT)]
    assert sys.getrecursionlimit() == limit
