"""The table of models: what a call means, by the dotted name of what is called.

A model is a function of one `Call`; `@model` enters it under each name that it answers:

    @model("tf.cond", "tf.case")
    def conditional(call: Call) -> Value | None: ...

A name has one of four forms:

- ``"functools.partial"``: a function or a class, by its dotted name, imports resolved.
- ``"tf.cond"``, ``"keras.Input"``: a name of TensorFlow's or Keras' public API, whose home (what
  is between the package and the last name) has to agree. `tf.compat.v1` and `tf.compat.v2` are
  the same as `tf`. Of private modules, of `tf.contrib`, and of modules that stand in for
  TensorFlow (`lingvo.compat`, `utils.tf_compat`), whose homes differ, the last name is enough.
- ``"tf.train.Checkpoint.save"``: a method, by the class of its receiver; ``"tf.Variable.*"`` is any
  other method of the class. A class begins with a capital letter or is one of `CLASSES`, which says
  how an object of it is recognized; of any other class it is by the dotted name that made the
  object, or that a class of the project derives from.
- ``"?.run"``, ``"?.tpu.shard"``: any call that ends so, whatever its package or its receiver, and
  also where the callee is not seen at all (`self.strategy.run`). It is the last resort, for names
  that nothing else has or where the model looks at the receiver itself.

The most specific name wins, in the order of this list (`.*` comes after the names of methods). A
model that returns None leaves the call to the next one. Where no model answers, the call is an
operation of TensorFlow, an object, or unknown (`operations.py`).

`@observe` takes the same names. An observer records something of a call that it does not answer;
it is told of each call whose callee is seen, before any model.

Facts that need no code are rows of `calls.toml`; its head describes them. They are models too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

from tpulint.absint.domain import objects
from tpulint.absint.domain.context import Scope
from tpulint.absint.domain.events import ApiCall, Argument, Arguments, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Function, Instance, Mapping, Sequence, mro
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, STRUCTURES, copied
from tpulint.absint.domain.values import Bound, Choice, Const, External, Opaque, Partial, Value
from tpulint.absint.interpreter import calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow import deferred
from tpulint.frontends.tensorflow.keras_models import is_dataset, is_model, is_sequential
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.strategy import Strategy

CALLABLE = (Function, Bound, Partial)  # what a model may call with arguments of its own choice


class Call:
    """`record` is what rules will see; `receiver` is what a method was called on."""

    def __init__(self, frame: Frame, record: ApiCall) -> None:
        self.frame = frame
        self.record = record
        self.name = record.last
        self.path = record.path
        self.site = record.site
        self.receiver = record.receiver
        self.arguments = record.arguments
        self.values = [argument.value for argument in record.arguments]

    def get(self, keyword: str, position: int | None = None) -> Value | None:
        """Return the value of an argument, None where it is not given."""
        return self.record.value(keyword, position)

    @property
    def base(self) -> str:
        """The name before the last dot: that of the receiver, or of the module."""
        if isinstance(self.receiver, (Opaque, ExternalObject)):
            return self.receiver.last
        return self.path.rpartition(".")[0].rpartition(".")[2]

    def new_object(self, path: str = "", source: Value | None = None) -> ExternalObject:
        """Return an object that the call makes, with its arguments."""
        pairs = tuple((argument.keyword, argument.value) for argument in self.arguments)
        context = self.frame.context
        return ExternalObject(path or self.path, self.site, context, arguments=pairs, source=source)

    def operation(self, sort: str = "tensor", certainty: Certainty = Certainty.DEFINITE) -> Tensor:
        """Build an operation that takes all arguments."""
        transfer.touch(self.frame, self.values, self.site, self.name, certainty)
        return transfer.result(self.frame, self.values, self.site, sort)

    def run_inside(self, scope: Scope, callee: Value, values: list[Value] | Arguments) -> Value:
        """Call `callee` with one more scope around it."""
        args = tuple(
            it if isinstance(it, Argument) else Argument(None, "", it, self.site) for it in values
        )
        with self.frame.within(scope):
            return calls.call(self.frame, callee, args, self.site, "")

    def force(self, value: Value) -> Value:
        """Return `value` with skipped modules read now: a function, or the result of a call."""
        return deferred.force(self.frame, value, self.site)

    def names_a_tpu(self) -> bool:
        """Return whether a module on the way to the call names a TPU."""
        chain = self.frame.context.call_chain
        modules = [self.site.module, *(step.site.module for step in chain)]
        return any(module.has_word(naming.TPU_WORD) for module in modules)

    def call_with(self, callee: Value, *values: Value) -> Value:
        """Call `callee` with values by position."""
        return calls.call(self.frame, callee, calls.by_position(self.site, *values), self.site)


def arity(callee: Value) -> int:
    """Return the number of positional arguments `callee` wants; one where it is not seen."""
    function = objects.function_of(callee)
    if function is None:
        return 1
    rows = function.code.parameters.by_position
    required = [name for name, default in rows if default is None]
    return max(len(required) - (1 if isinstance(callee, Bound) else 0), 0)


# Returns the result of a call, None where it is not for this model.
Model = Callable[[Call], "Value | None"]


def snapshot(arguments: Arguments) -> Arguments:
    """Copy the structures in arguments: a program may change its lists and dicts later."""
    for argument in arguments:
        if isinstance(argument.value, STRUCTURES):
            return tuple(map(_copy_of, arguments))
    return arguments  # most


def _copy_of(argument: Argument) -> Argument:
    copy = _copy(argument.value)
    if copy is argument.value:
        return argument
    return Argument(argument.keyword, argument.star, copy, *argument[3:])


def _copy(value: Value, depth: int = 0) -> Value:
    if depth > MAX_STRUCTURE_DEPTH or not isinstance(value, STRUCTURES):
        return value
    if isinstance(value, Choice):
        copies = tuple(_copy(option, depth + 1) for option in value.options)
        same = all(copy is option for copy, option in zip(copies, value.options, strict=True))
        return value if same else Choice(copies)
    if isinstance(value, Sequence):
        if value.kind == "tuple" and not any(isinstance(item, STRUCTURES) for item in value.items):
            return value
        rows = [_copy(item, depth + 1) for item in value.items]
        kind, is_open, site, context = value.kind, value.open, value.site, value.made
        return Sequence(kind, rows, is_open, site, context, value.alike, value.places)
    items = {key: _copy(item, depth + 1) for key, item in value.items.items()}
    return copied(value, value.made, items)


F = TypeVar("F")
M = TypeVar("M", bound=Model)

ANY_METHOD, ESTIMATOR = "*", "TPUEstimator"
UNKNOWN_OWNER = "?"
_GENERATION = re.compile(r"^(?:tensorflow|tf)(?:\.compat\.v[12])*(?=\.)")
_KERAS = re.compile(r"^(?:tf\.)?(?:tf_)?keras\.")
# TensorFlow and Keras export their functions from these modules under names of their own.
_PRIVATE = re.compile(r"^(?:tf\.(?:python|contrib)|keras\.(?:src|engine))\.")
# Modules of projects that hand on TensorFlow's names: `utils.tf_compat`, `project.tf`.
_STAND_IN = re.compile(r"(?:^|\.)(?:tf|tensorflow|tf_compat)\.")


class PublicName(NamedTuple):
    """A dotted name as the API spells it.

    is_exact: False where the home may be another, so that only the last name can be compared.
    """

    dotted: str
    last: str
    is_exact: bool


@lru_cache(maxsize=8192)
def public_name(path: str) -> PublicName:
    """Return the public spelling of a dotted name: `tensorflow.compat.v1.cond` is `tf.cond`."""
    dotted = _KERAS.sub("keras.", _GENERATION.sub("tf", path.lstrip(".")))
    dotted = re.sub(r"^tf\.python\.keras\.", "keras.src.", dotted)
    if dotted.startswith(("tf.", "keras.")):
        is_exact = _PRIVATE.match(dotted) is None
    else:
        is_exact = not (tf_names.is_tensorflow(path) or _STAND_IN.search(dotted))
    return PublicName(dotted, dotted.rpartition(".")[2], is_exact)


def _is_estimator(value: Value | None) -> bool:
    """Return whether `value` is a TPUEstimator, be its class a copy in the project or in a fork."""
    if isinstance(value, ExternalObject):
        return value.last == ESTIMATOR
    return isinstance(value, Instance) and any(
        isinstance(base, External) and base.last == ESTIMATOR for base in mro(value.cls)
    )


LOGGERS = frozenset(["getLogger", "get_absl_logger", "get_logger"])  # the functions that give one
# How an object of a class is recognized, where the analysis has a value of its own for it.
CLASSES: dict[str, Callable[[Value | None], bool]] = {
    "builtins.list": lambda value: isinstance(value, Sequence),
    "builtins.dict": lambda value: isinstance(value, Mapping),
    "builtins.str": lambda value: isinstance(value, Const),
    "types.FunctionType": lambda value: isinstance(value, Function),
    "types.MethodType": lambda value: isinstance(value, Bound),
    "contextlib.AbstractContextManager": lambda value: isinstance(
        value, objects.ContextManagerValue
    ),
    "logging.Logger": lambda value: isinstance(value, ExternalObject) and value.last in LOGGERS,
    "tf.Tensor": lambda value: isinstance(value, Tensor),
    "tf.Variable": lambda value: isinstance(value, Variable),
    # A maker of graphs has the word in its name.
    "tf.Graph": lambda value: isinstance(value, ExternalObject) and naming.GRAPH.is_in(value.last),
    "tf.data.Dataset": lambda value: value is not None and is_dataset(value),
    "tf.estimator.tpu.TPUEstimator": _is_estimator,
    "tf.distribute.Strategy": lambda value: isinstance(value, Strategy),
    "keras.Model": is_model,
    "keras.Sequential": is_sequential,
    # Projects have layers of other libraries, too (Sonnet's, Lingvo's): any object may be one.
    "keras.layers.Layer": lambda value: isinstance(value, (Instance, ExternalObject)),
}


# Objects of one of these types may be of several classes; those of any other are of one.
TOLD_APART = (Choice, Instance)


def _apart(value: Value) -> Hashable:
    """Return what tells the models of an object from those of others of its type."""
    if isinstance(value, ExternalObject):
        return value.path, is_model(value)
    return value.last if isinstance(value, Opaque) else None


def is_instance(value: Value | None, name: str) -> bool:
    """Return whether `value` is an object of the class `name`, as far as one sees."""
    recognizes = CLASSES.get(name)
    if recognizes is not None:
        return recognizes(value)
    wanted = public_name(name)
    if isinstance(value, ExternalObject):
        return _is_called(public_name(value.path), wanted)
    return isinstance(value, Instance) and any(
        isinstance(base, External) and _is_called(public_name(base.path), wanted)
        for base in mro(value.cls)
    )


def _is_called(name: PublicName, wanted: PublicName) -> bool:
    return name.dotted == wanted.dotted if name.is_exact else name.last == wanted.last


@dataclass(frozen=True)
class Entry(Generic[F]):
    """A model under one of its names. owner: the class of a method, the suffix of a `?.` name."""

    owner: str
    name: PublicName
    is_suffix: bool
    function: F

    def rank(self, path: str) -> int | None:
        """Return how well this fits a call of `path`: 0 is best, None is not at all."""
        if self.is_suffix:
            wanted = f"{self.owner}.{self.name.last}" if self.owner else self.name.last
            fits = path == wanted or path.endswith(f".{wanted}")
            return (1 if self.owner else 4) if fits else None
        if self.owner in CLASSES:
            return None  # its models need the receiver: `dict.get(items, key)` has none
        called = public_name(path)
        if called.dotted == self.name.dotted:
            return 0
        if called.is_exact or self.owner or called.last != self.name.last:
            return None
        package = "keras." if "keras" in called.dotted else "tf."
        return 2 if self.name.dotted.startswith(package) else None

    def method_rank(self, call: Call) -> int | None:
        """Return how well this fits a method that is called on `call.receiver`."""
        if self.is_suffix:
            if not self.owner:
                return 4
            return 1 if call.base == self.owner else None
        if not self.owner or not is_instance(call.receiver, self.owner):
            return None
        return 3 if self.name.last == ANY_METHOD else 0


def parse(name: str, function: F) -> Entry[F]:
    """Return the entry of `function` under `name`."""
    base, _, last = name.rpartition(".")
    if name.startswith(f"{UNKNOWN_OWNER}."):
        return Entry(base[2:], PublicName(last, last, True), True, function)
    public = public_name(name)
    is_class = base in CLASSES or base.rpartition(".")[2][:1].isupper()
    return Entry(base if is_class else "", public, False, function)


class Table(Generic[F]):
    """Functions by the names of the calls that they are for."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, list[Entry[F]]] = defaultdict(list)
        self._ranked: dict[Hashable, tuple[F, ...]] = {}

    def add(self, names: Iterable[str], function: F) -> None:
        """Enter `function` under each of `names`."""
        for name in names:
            entry = parse(name, function)
            self._entries[entry.name.last].append(entry)
        self._ranked.clear()

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self._ranked.clear()

    def __bool__(self) -> bool:
        """Return whether anything is entered."""
        return bool(self._entries)

    def items(self) -> list[tuple[str, F]]:
        """Return all names, without their generation, and what is entered under each."""
        rows = self._entries.values()
        return [(entry.name.dotted, entry.function) for entries in rows for entry in entries]

    def candidates(self, call: Call, is_resolved: bool = True) -> tuple[F, ...]:
        """Return what a call may mean, the most specific first.

        is_resolved: the callee is known by its dotted name or by the object that it is a method of.
        """
        key: Hashable = call.path, is_resolved
        if call.receiver is not None:
            if isinstance(call.receiver, TOLD_APART):
                return self._candidates(call, is_resolved)
            key = type(call.receiver), _apart(call.receiver), key
        ranked = self._ranked.get(key)
        if ranked is None:
            ranked = self._ranked[key] = self._candidates(call, is_resolved)
        return ranked

    def _candidates(self, call: Call, is_resolved: bool) -> tuple[F, ...]:
        entries = self._entries.get(call.name, [])
        if call.receiver is None:
            ranked = [(it.rank(call.path), it) for it in entries if is_resolved or it.is_suffix]
        else:
            wild = self._entries.get(ANY_METHOD, []) if is_resolved else []
            ranked = [(entry.method_rank(call), entry) for entry in entries + wild]
        fitting = [(rank, entry.function) for rank, entry in ranked if rank is not None]
        fitting.sort(key=itemgetter(0))  # of one rank the first that was entered
        return tuple(function for _, function in fitting)


MODELS: Table[Model] = Table()
PLUGIN_MODELS: Table[Model] = Table()  # those of the plug-ins in use; they come before ours
OBSERVERS: Table[Model] = Table()  # those that answer no call


def model(*names: str, table: Table[Model] = MODELS) -> Callable[[M], M]:
    """Enter a model under the names of the calls that it answers (see the head of this file)."""

    def enter(function: M) -> M:
        table.add(names, function)
        return function

    return enter


def observe(*names: str) -> Callable[[M], M]:
    """Enter an observer under the names of the calls that it records something of."""
    return model(*names, table=OBSERVERS)


def replace_plugin_models(models: Iterable[tuple[Iterable[str], Model]]) -> None:
    """Enter the models of plug-ins, in place of those that were entered before."""
    PLUGIN_MODELS.clear()
    for names, function in models:
        PLUGIN_MODELS.add(names, function)
