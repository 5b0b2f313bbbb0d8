"""The table of models: which of its names fits a call, and which of several wins."""

from __future__ import annotations

from itertools import product
from unittest.mock import create_autospec

import pytest

from tests.unit.reading import program
from tpulint.absint.domain.events import ApiCall, Context, Tensor
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import UNKNOWN, Choice, Const, Opaque, Value
from tpulint.absint.interpreter.frame import Frame
from tpulint.frontends.tensorflow.keras_models import IS_MODEL
from tpulint.frontends.tensorflow.models.registry import MODULES
from tpulint.frontends.tensorflow.models.table import (
    CLASSES,
    MODELS,
    OBSERVERS,
    Call,
    Table,
    is_instance,
    parse,
    public_name,
)
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.syntax import ir

CONTEXT = Context(run=1)
SITE = Site(Module("m.py", "/m.py", "", ir.ModuleSummary([], [], [], [], [])), 3)


def functions(*names: str, path: str) -> list[str]:
    """Return those of `names` that a function of the dotted name `path` has, the best first."""
    table: Table[str] = Table()
    for name in names:
        table.add([name], name)
    return list(table.candidates(function_call(path)))


def function_call(path: str) -> Call:
    return Call(create_autospec(Frame), ApiCall(path, SITE, CONTEXT, (), None, UNKNOWN))


@pytest.mark.parametrize(
    ("path", "public"),
    [
        ("tensorflow.cond", "tf.cond"),
        ("tensorflow.compat.v1.compat.v1.cond", "tf.cond"),
        ("tensorflow.compat.v2.keras.Input", "keras.Input"),
        ("tf_keras.layers.Input", "keras.layers.Input"),
        ("tensorflow.compat.as_str", "tf.compat.as_str"),
    ],
)
def test_a_public_name_has_one_spelling(path: str, public: str) -> None:
    assert public_name(path).dotted == public
    assert public_name(path).is_exact


@pytest.mark.parametrize(
    "path",
    [
        "tensorflow.cond",
        "tensorflow.compat.v1.cond",
        "tensorflow.python.ops.control_flow_ops.cond",
        "tensorflow.contrib.framework.cond",
        "lingvo.compat.cond",
        "project.tf.cond",
    ],
)
def test_a_name_of_tensorflow_is_one_by_all_its_spellings(path: str) -> None:
    assert functions("tf.cond", path=path) == ["tf.cond"]


@pytest.mark.parametrize(
    "path", ["tensorflow.linalg.cond", "keras.cond", "numpy.linalg.cond", "mesh_tensorflow.cond"]
)
def test_a_public_name_with_another_home_is_another_function(path: str) -> None:
    assert functions("tf.cond", path=path) == []


def test_the_most_specific_name_wins() -> None:
    names = ("?.run", "tf.run", "?.app.run", "absl.app.run")
    assert functions(*names, path="absl.app.run") == ["absl.app.run", "?.app.run", "?.run"]
    assert functions(*names, path="tensorflow.python.app.run") == ["?.app.run", "tf.run", "?.run"]
    assert functions(*names, path="overrun") == []


def test_of_equal_names_the_first_wins() -> None:
    table: Table[str] = Table()
    table.add(["a.b"], "first")
    table.add(["a.b"], "second")
    assert table.candidates(function_call("a.b")) == ("first", "second")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Sequence("list", []), "builtins.list"),
        (Strategy("tpu", SITE), "tf.distribute.Strategy"),
        (ExternalObject("tensorflow.compat.v1.Graph", SITE, CONTEXT), "tf.Graph"),
        (
            ExternalObject("tensorflow.train.Checkpoint", SITE, CONTEXT),
            "tf.train.Checkpoint",
        ),
        (
            ExternalObject("tensorflow.contrib.tpu.TPUEstimator", SITE, CONTEXT),
            "tf.estimator.tpu.TPUEstimator",
        ),
    ],
)
def test_an_object_is_of_its_class_and_of_no_other(value: Value, name: str) -> None:
    assert is_instance(value, name)
    assert not is_instance(UNKNOWN, name)
    others = CLASSES.keys() - {name, "keras.layers.Layer"}
    assert not [other for other in others if is_instance(value, other)]


def test_a_method_of_a_class_is_no_function_of_that_name() -> None:
    """`dict.get(items, key)` has no receiver, so the model of the method is not asked."""
    assert parse("builtins.dict.get", "").rank("builtins.dict.get") is None
    assert parse("library.Cache.get", "").rank("library.Cache.get") == 0


def test_every_module_of_models_has_some_in_the_table() -> None:
    entered = {
        function.__module__
        for items in (MODELS.items(), OBSERVERS.items())
        for _, function in items
    }
    assert {module.__name__ for module in MODULES} <= entered


def test_what_is_not_seen_is_answered_by_suffixes_alone() -> None:
    text = """
    import tensorflow as tf

    def train(lib, x):
        lib.cond(x, lambda: print(1), lambda: print(2))
        lib.tpu.rewrite(lambda: x)
    """
    (computation,) = program(text).computations
    assert computation.kind == "rewrite"
    assert [str(call.result) for call in program(text).calls if call.last == "cond"] == ["UNKNOWN"]


def test_an_opaque_value_is_of_no_class() -> None:
    assert not [name for name in CLASSES if is_instance(Opaque("x"), name)]


FRAME = create_autospec(Frame)
RECEIVERS: list[Value] = [
    *(Sequence("list", []), Mapping({}), Const("text"), Tensor(CONTEXT, SITE), UNKNOWN),
    *(Strategy("tpu", SITE), Strategy("mirrored", SITE), Opaque("cache"), Opaque("other")),
    ExternalObject("tensorflow.data.Dataset", SITE, CONTEXT),
    ExternalObject("tensorflow.Graph", SITE, CONTEXT),
    ExternalObject("project.build", SITE, CONTEXT),
    ExternalObject("project.build", SITE, CONTEXT, {IS_MODEL: Const(True)}),
    Choice((ExternalObject("tensorflow.data.TFRecordDataset", SITE, CONTEXT), Const(None))),
]
METHODS = [
    *("builtins.list.get", "builtins.dict.get", "builtins.str.get", "tf.Tensor.get"),
    *("tf.distribute.Strategy.get", "tf.data.Dataset.get", "tf.Graph.*", "?.get", "?.cache.get"),
    "keras.Model.get",
]


def method_table() -> Table[str]:
    table: Table[str] = Table()
    for name in METHODS:
        table.add([name], name)
    return table


@pytest.mark.parametrize("first", RECEIVERS, ids=repr)
def test_what_a_call_may_mean_depends_on_no_call_before(first: Value) -> None:
    """A table keeps what it found for receivers that no model tells apart."""
    table = method_table()
    for receiver, path, is_resolved in product((first, *RECEIVERS), ("?.get", "cache.get"), (1, 0)):
        record = ApiCall(path, SITE, CONTEXT, (), receiver, UNKNOWN)
        call = Call(FRAME, record)
        expected = method_table().candidates(call, bool(is_resolved))
        assert table.candidates(call, bool(is_resolved)) == expected


def test_what_a_method_may_mean_follows_what_is_entered_later() -> None:
    table = method_table()
    record = ApiCall("?.get", SITE, CONTEXT, (), Const("text"), UNKNOWN)
    call = Call(FRAME, record)
    assert table.candidates(call) == ("builtins.str.get", "?.get")
    table.add(["builtins.str.get"], "another")
    assert table.candidates(call) == ("builtins.str.get", "another", "?.get")
    table.clear()
    assert table.candidates(call) == ()
