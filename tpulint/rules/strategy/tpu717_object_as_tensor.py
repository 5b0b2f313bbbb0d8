"""TPU717: an argument or a result of a TPU computation of which no tensor can be made.

The facts: tensorflow/python/tpu/tpu.py converts each input of a computation to a tensor
(`split_compile_and_replicate`), and each output (`_postprocess_flat_outputs`). A TPUStrategy passes
it the arguments of `run` and what its function returns, structures flattened
(tensorflow/python/distribute/tpu_strategy.py, `tpu_function`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.absint.domain.events import Argument, Computation
from tpulint.absint.domain.objects import Class, ExternalObject, Function, Instance, mro
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, STRUCTURES, parts
from tpulint.absint.domain.values import Bound, Choice, External, Partial, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.keras_models import is_model
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries.certainty import doubt_about_guess, on_tpu_if
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.queries.entry_calls import argument, is_replicated, returned_values
from tpulint.queries.strategies import is_run
from tpulint.rules.base import Program, Report, Rule, Severity, register

# tensorflow/python/distribute/distribute_lib.py: the parameters of `Strategy.run`.
RUN_PARAMETERS = (("args", 1), ("kwargs", 2))
# What makes a tensor of an object, or takes it apart before: NumPy reads sequences, too.
CONVERSIONS = frozenset(
    [
        *("__array__", "__array_interface__", "__array_struct__", "__buffer__"),
        *("__tf_tensor__", "__tf_flatten__"),
        *("__getitem__", "__iter__", "__len__"),
        *("__float__", "__index__", "__int__"),
    ]
)
# Bases outside the project of whose objects TensorFlow makes no tensor.
PLAIN_BASES = frozenset(["builtins.object", "abc.ABC", "typing.Protocol", "tensorflow.Module"])
CLASSES_OF_KERAS = frozenset(["layers", "losses", "metrics", "optimizers", "callbacks"])
# A function with a custom gradient is seen to return that beside its result, and gives the result.
FUNCTIONS = (Bound, Function, Partial)
SYMBOLIC = "Input"  # a function that gives a tensor, whatever its first letter says


class Way(NamedTuple):
    """A way into or out of a computation, in the words of messages."""

    what: str
    instead: str
    does: str


INPUT = Way(
    "each argument",
    "use it from the enclosing scope, or bind it with `functools.partial`",
    "passes it to the TPU",
)
OUTPUT = Way("each value that its function returns", "return only tensors", "gets it from the TPU")


@register
class ObjectAsTensor(Rule):
    code = "TPU717"
    name = "object-as-tensor"
    severity = Severity.ERROR
    summary = "an argument or a result of a TPU computation of which no tensor can be made"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if may_be_tpus(computation):
                for passed in inputs(computation):
                    _check(computation, passed, INPUT, report)
                for returned in returned_values(computation):
                    _check(computation, returned, OUTPUT, report)


def _check(computation: Computation, holder: Argument, way: Way, report: Report) -> None:
    """Report the objects in what crosses into or out of a computation."""
    is_returned_always = way is INPUT or not isinstance(computation.result, Choice)
    for value in objects_in(holder.value):
        if way is OUTPUT and isinstance(value, FUNCTIONS):
            continue
        culprit = traces.in_argument(holder, value)
        named = f"`{culprit.name}`" if culprit.name else "this argument"
        named = f"an item of {named}" if culprit.name and culprit.is_holder else named
        report(
            culprit.span,
            f"`{computation.kind}` makes a tensor of {way.what} on a TPU, which fails for"
            f" {named}, {described(value)}: {way.instead}",
            certainty=on_tpu_if(computation, computation.context, is_returned_always),
            trace=traces.host_path(computation, way.does),
            doubt=doubt_about_guess(computation.context) or "if the strategy is a TPU's",
        )


def inputs(computation: Computation) -> Iterator[Argument]:
    """Yield the arguments of the entry call of whose items TensorFlow makes tensors."""
    passed: list[Argument | None] = []
    if is_run(computation):
        passed = [computation.call.argument(*parameter) for parameter in RUN_PARAMETERS]
    elif is_replicated(computation):
        passed = [argument(computation, "inputs")]
    yield from filter(None, passed)


def objects_in(value: Value, depth: int = 0) -> Iterator[Value]:
    """Yield what certainly is in `value`, structures opened, and is no tensor."""
    if isinstance(value, Choice):
        if all(is_object(option) for option in value.options):
            yield value.options[0]
    elif isinstance(value, STRUCTURES):
        for item in parts(value) if depth < MAX_STRUCTURE_DEPTH else ():
            yield from objects_in(item, depth + 1)
    elif is_object(value) and (depth < 2 or not isinstance(value, FUNCTIONS)):
        yield value


def is_object(value: Value) -> bool:
    """Return whether TensorFlow certainly refuses to make a tensor of the value."""
    match value:
        case Strategy() | Function() | Class():
            return True
        case Bound(function=function) | Partial(function=function):
            return is_object(function)
        case Instance(cls=cls):
            return is_plain_class(cls)
        case ExternalObject():
            is_named = value.callee is None and value.last[:1].isupper()
            return is_named and (is_model(value) or is_class_of_keras(value.path))
    return False


def is_plain_class(cls: Class) -> bool:
    """Return whether objects of a class are no structures, and have no conversion to a tensor."""
    for base in mro(cls):
        if isinstance(base, Class):
            # A dataclass or a class of attrs may be a structure.
            if base.code.decorators or not CONVERSIONS.isdisjoint(base.names):
                return False
        elif not isinstance(base, External) or (
            base.path not in PLAIN_BASES and not is_class_of_keras(base.path)
        ):
            return False
    return True


def is_class_of_keras(path: str) -> bool:
    """Return whether a dotted name is that of a class of Keras, other than that of a tensor."""
    home, _, last = path.rpartition(".")
    package = home.partition(".")[0]
    if not (is_tensorflow(path) or package in ("keras", "tf_keras")) or last == SYMBOLIC:
        return False
    is_listed = not CLASSES_OF_KERAS.isdisjoint(home.split("."))
    return last[:1].isupper() and (is_listed or last in ("Model", "Sequential"))


def described(value: Value) -> str:
    """Return what kind of object it is."""
    match value:
        case Strategy():
            return "a strategy"
        case Class():
            return "a class"
        case Instance(cls=cls):
            return f"an object of `{cls.code.name}`"
        case ExternalObject():
            return f"an object of `{value.last}`"
    return "a function"
