"""Values and contexts print as short as a reader needs them."""

from __future__ import annotations

import pytest

from tpulint.absint.domain.context import COND, DEVICE, LOOP, WITH, Scope
from tpulint.absint.domain.events import Context, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.site import CallStep, Module, Site
from tpulint.absint.domain.values import (
    UNKNOWN,
    Bound,
    Choice,
    Const,
    External,
    Opaque,
    Partial,
    Text,
    Value,
)
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.syntax.lazy_module import summarize

SITE = Site(Module("a.py", "/a.py", "", summarize("")), -1)
ADD = External("tensorflow.add")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Const(1.5), "1.5"),
        (Const("a"), "'a'"),
        (Text("grpc://"), "'grpc://'..."),
        (Opaque("params.strategy", {}, Opaque("params")), "unknown params.strategy"),
        (ADD, "tensorflow.add"),
        (Bound(ADD, Const(1)), "tensorflow.add of 1"),
        (Partial(ADD, (Const(1),), ()), "partial(tensorflow.add)"),
        (Strategy("tpu", None), "strategy of kind tpu"),
        (Choice((Const(1), Const(None))), "1 or None"),
        (ExternalObject("tf.Module", SITE, Context()), "tf.Module object"),
        (Sequence("tuple", [Const(1), UNKNOWN], True), "tuple [1, UNKNOWN, ...]"),
        (Sequence("list", [Const(number) for number in range(9)]), "list [0, 1, 2, 3, ...]"),
        (Mapping({"a": Const(1)}), "dict {'a': 1}"),
        (Variable("total", "variable", None, None), "variable total"),
        (Tensor(None, None, dtype="float32", shape=(8, None)), "float32 tensor (8, ?)"),
        (Tensor(None, None, per_replica=True), "tensor per replica"),
    ],
)
def test_a_value_is_short(value: Value, text: str) -> None:
    assert repr(value) == text


def test_a_context_says_its_lane_its_scopes_and_its_calls() -> None:
    context = Context((Scope(COND, SITE), Scope(WITH, SITE, effect=DEVICE), Scope(LOOP, SITE)))
    called = context.called(CallStep(SITE, "main")).called(CallStep(SITE, "step"))
    words = "host > a branch on a tensor > device > a Python loop > main() > step()"
    assert repr(called) == words
