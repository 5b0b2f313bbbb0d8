"""TPU507: Python or NumPy asks for the value of a tensor, which device code does not have."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain.events import ApiCall, Computation, Context, Effect, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Instance, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH
from tpulint.absint.domain.values import UNKNOWN, Const, Value
from tpulint.diagnostics.traces import path_to
from tpulint.frontends.tensorflow.branch_tests import asks_about
from tpulint.frontends.tensorflow.keras_models import is_model, keras_base
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.strategies import RUNS_EAGERLY
from tpulint.frontends.tensorflow.knowledge.tf_names import (
    CONVERTED,
    METHODS,
    STRATEGY_RUN,
    TAKE_ANY_OBJECT,
    is_tensorflow,
)
from tpulint.queries.certainty import definite_if, doubt_about, is_in_every_trace
from tpulint.queries.device_code import is_compiled
from tpulint.queries.eager_calls import asks_for_eager
from tpulint.queries.environment import certainty_of_keras_3
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

# The kinds of effects that Python's tests have, a `raise` under a test that is converted, and
# formats of numbers.
ASKS, MAY_ASK, FAILS, FORMATS = "asks", "may ask", "fails", "formats"
ITERATES, INDEXES = "for", "index"
# Packages whose functions turn what they are given into arrays of NumPy.
ARRAY_PACKAGES = frozenset(["cv2", "numpy", "scipy", "skimage", "sklearn"])
UNCONVERTED = "autograph does not convert this test"
IN_KERAS_3 = "Keras 3 converts nothing that `call` runs"
FOR_KERAS_2 = "unless this is for Keras 2"
INSTEAD = {
    "if": "`tf.cond` or `tf.where`",
    "while": "`tf.while_loop`",
    "assert": "`tf.debugging.Assert`",
}
KERAS_VALUES = frozenset(["get_value", "eval"])  # keras/src/legacy/backend.py calls `numpy()`
READ_WEIGHTS = frozenset(["get_weights", "save_weights"])
# tensorflow/python/checkpoint/checkpoint.py: outside eager code, `save` asks for a session.
CHECKPOINTS = frozenset(["Checkpoint", "CheckpointManager"])
# autograph/operators/py_builtins.py, `SUPPORTED_BUILTINS`: `max` and `min` are not converted, and
# `any` and `all` only of datasets, `sorted` only of one tensor. A tensor has no `__round__`.
COMPARES, ASKS_ITEMS = frozenset(["max", "min"]), frozenset(["any", "all"])
COMPARES_ITEMS = COMPARES | {"sorted"}
NUMBERS_ONLY = frozenset(["bool", "round", "divmod"])
DRAWS = frozenset(["dropout", "truncated_normal", "multinomial"])
ENABLES = "experimental_enable_numpy_behavior"


@register
class ConcreteValueNeeded(Rule):
    code = "TPU507"
    name = "concrete-value-needed"
    severity = Severity.ERROR
    summary = "Python or NumPy asks a tensor of device code for its value"

    def check(self, program: Program, report: Report) -> None:
        has_methods = ENABLES in program.named  # then tensors have NumPy's methods
        # Functions are switched to eager mode, for a strategy that may be no TPU's.
        may_be_eager = any(
            all(argument.value != Const(False) for argument in call.arguments)
            for call in program.named_any(RUNS_EAGERLY)
        )
        for computation in program.computations:
            if may_be_eager and computation.certainty is not Certainty.DEFINITE:
                continue
            for call in computation.calls:
                value = needed_value(call)
                if value is None or not is_traced(call) or asks_for_eager(call.context):
                    continue
                if has_methods and call.last not in ("numpy", *CONVERTED):
                    continue
                is_left = left_to_python(program, computation, call.site, may_be_cast(call))
                if is_left is None:
                    continue
                doubt = "if it is a tensor" if is_left is Certainty.DEFINITE else FOR_KERAS_2
                report(
                    call.site.span,
                    f"`{name(call)}` needs the value of a tensor, but tensors have none while"
                    " device code is traced: use a TensorFlow operation, or call it outside the"
                    " step",
                    certainty=certainty(computation, call, is_left is Certainty.DEFINITE),
                    trace=path_to(computation, call, "needs the value of a tensor"),
                    doubt=doubt_about(program, computation, call.context) or doubt,
                )
            for test in computation.effects:
                # In a graph of TensorFlow 1, tensors are keys of dicts.
                is_key = test.name == INDEXES and computation.kind not in STRATEGY_RUN
                # A test on the way may ask for eager code, or for a shape that may be static.
                is_allowed = asks_for_eager(test.context) or asks_about(test.context, naming.SHAPE)
                if is_compiled(test.context) and not (is_key or is_allowed):
                    report_test(program, computation, test, report)


def is_tried(context: Context) -> bool:
    """Return whether `context` is in the body of a `try` that is part of the device code."""
    return any(
        scope.kind == scopes.TRY and scope.effect != scopes.OUTER
        for scope in context.since(scopes.COMPUTATION)
    )


def report_test(program: Program, computation: Computation, test: Effect, report: Report) -> None:
    """Report a test that is not converted, a `raise` under one that is, or a format."""
    may_be_converted = test.kind == MAY_ASK
    is_left = left_to_python(program, computation, test.site, may_be_converted)
    fault = fault_of(test)
    if is_left is None or fault is None:
        return
    message, last = fault
    report(
        test.site.span,
        message,
        certainty=definite_if(
            is_left is Certainty.DEFINITE,
            test.sure,
            not test.context.is_guess,
            not is_tried(test.context),
            is_in_every_trace(computation, test.context),
        ),
        trace=path_to(computation, test, last),
        doubt="" if is_left is Certainty.DEFINITE else FOR_KERAS_2,
    )


def fault_of(test: Effect) -> tuple[str, str] | None:
    """Return the message and what the trace says, where Python asks a tensor or raises."""
    may_be_converted = test.kind == MAY_ASK
    is_asked = may_be_converted or test.kind == ASKS
    if is_asked and test.name == ITERATES:
        converts = IN_KERAS_3 if may_be_converted else "only loops that autograph converts can"
        message = (
            "Python takes the items of a tensor here, but while device code is traced,"
            f" {converts}: use `tf.unstack` or `tf.map_fn`"
        )
        return message, "takes the items of a tensor"
    if test.kind == ASKS and test.name == INDEXES:
        message = (
            "a tensor is no index of a Python list, and no key of a dict: use `tf.gather` with a"
            " tensor of the items"
        )
        return message, "takes the item that a tensor says"
    if is_asked:
        message = (
            f"Python's `{test.name}` tests a tensor, but tensors have no value while device code is"
            f" traced, and {IN_KERAS_3 if may_be_converted else UNCONVERTED}: use"
            f" {INSTEAD[test.name]}"
        )
        return message, "tests a tensor"
    if test.kind == FAILS and not is_tried(test.context):
        message = (
            "this `raise` runs while the step is traced, whatever the tensor is that is tested:"
            " return the tensor from the step, and test it outside"
        )
        return message, "raises in each trace"
    if test.kind == FORMATS:
        message = (
            f"{test.name} formats a tensor as a number, but tensors have no value while device code"
            " is traced, so it raises a `TypeError`: use `tf.print`, or format it outside the step"
        )
        return message, "formats a tensor"
    return None


def left_to_python(
    program: Program, computation: Computation, site: Site, may_be_converted: bool
) -> Certainty | None:
    """Return how sure it is that nothing converts what Python asks; None where something does.

    may_be_converted: it is in what Keras calls, which only Keras 2 converts.
    """
    if not may_be_converted:
        return Certainty.DEFINITE
    return certainty_of_keras_3(program, site) if computation.kind in STRATEGY_RUN else None


def may_be_cast(call: ApiCall) -> bool:
    """Return whether some releases make an operation of `float` and `int` here."""
    is_cast = call.last in CONVERTED and call.path.startswith("builtins.")
    return is_cast and call.context.conversion == scopes.MAY_CONVERT


def needed_value(call: ApiCall) -> Tensor | Variable | None:
    """Return the tensor or variable whose value the call needs."""
    if call.last in METHODS and isinstance(call.receiver, Tensor):
        return symbolic_tensor(call.receiver)
    if call.last == "numpy" and isinstance(call.receiver, Variable):
        return call.receiver
    if call.last in READ_WEIGHTS:
        return _weights(call.receiver)
    if call.last == "save" and call.receiver is not None and _is_of_strategy(call):
        return _saved(call.receiver)
    seed = call.argument("seed")
    if seed is not None and isinstance(seed.value, Tensor) and is_tensorflow(call.path):
        # tensorflow/python/framework/random_seed.py: what has a state computes with it in Python.
        is_random = naming.RANDOM.is_in(call.path) or call.last in DRAWS
        if is_random and "stateless" not in call.last:
            return symbolic_tensor(seed.value)
    home, _, last = call.path.rpartition(".")
    package = home.partition(".")[0]
    taken = [argument.value for argument in call.arguments]
    first = taken[0] if taken else UNKNOWN
    if last in KERAS_VALUES and home.endswith("keras.backend") and _is_of_strategy(call):
        return _has_no_value(first, home)
    compared = _compared(last, taken) if home == "builtins" else []
    if compared:
        asked = (_has_no_value(value, home) for value in compared)
        return next((value for value in asked if value is not None), None)
    # autograph/operators/py_builtins.py: `len`, `range`, `abs`... become operations.
    converts = last in CONVERTED and call.context.converts_control_flow and not may_be_cast(call)
    is_python = home == "builtins" and last in CONVERTED | NUMBERS_ONLY and not converts
    if home == "math" or is_python:
        return _needed(first, home)
    if package in ARRAY_PACKAGES and (last.islower() or package == "cv2"):  # classes are not
        if package == "numpy" and last in TAKE_ANY_OBJECT:
            return None
        entries = [entry for value in taken for entry in _entries(value)]
        needed = [_needed(entry, home) for entry in entries]
        tensors = [tensor for tensor in needed if isinstance(tensor, Tensor)]
        return min(tensors, key=lambda tensor: tensor.sort != "tensor", default=None)
    return None


def _compared(function: str, values: list[Value]) -> list[Value]:
    """Return what a function of Python compares, or asks whether it is true."""
    if function in COMPARES and len(values) > 1:
        return values
    first = values[0] if values else UNKNOWN
    items = first.items if isinstance(first, Sequence) else []
    if function in ASKS_ITEMS:
        return items[:1]
    are_all = isinstance(first, Sequence) and not first.open and len(items) > 1
    return items if function in COMPARES_ITEMS and len(values) == 1 and are_all else []


def _entries(value: Value, depth: int = 0) -> Iterator[Value]:
    """Yield what an array is made of: lists in lists are its rows."""
    if not isinstance(value, Sequence) or depth > MAX_STRUCTURE_DEPTH:
        yield value
        return
    for item in value.items:
        yield from _entries(item, depth + 1)


def _needed(argument: Value, home: str) -> Tensor | Variable | None:
    """Return one of the options of an argument, if none of them has a value, or None."""
    needed = [_has_no_value(option, home) for option in argument.options]
    return None if None in needed else needed[0]


def _has_no_value(argument: Value, home: str) -> Tensor | Variable | None:
    """Return the argument if a function of the module `home` needs its value and it has none."""
    if isinstance(argument, Variable):
        return argument if home in ("builtins", "math") or "keras" in home else None
    tensor = symbolic_tensor(argument) if isinstance(argument, Tensor) else None
    if tensor is None or tensor.data:
        return tensor
    # Python's own functions refuse a constant, too; what has a dtype or a shape is a tensor.
    is_tensor_too = tensor.dtype is not None or tensor.shape is not None
    return tensor if home in ("builtins", "math") and is_tensor_too else None


def _is_of_strategy(call: ApiCall) -> bool:
    """Return whether a strategy runs this code: a session of TensorFlow 1 may know the value."""
    computation = call.context.computation
    return computation is not None and computation.kind in STRATEGY_RUN


def _weights(owner: Value | None) -> Variable | None:
    """Return the weights of an object of Keras, which the call reads."""
    if isinstance(owner, Instance) and keras_base(owner):
        return Variable(owner.cls.code.name, "weights", owner.site, owner.context)
    if isinstance(owner, ExternalObject) and "keras" in owner.path:
        return Variable(owner.last, "weights", owner.site, owner.context)
    return None


def _saved(owner: Value | None) -> Variable | None:
    """Return the weights whose values `save` of a checkpoint or of a Keras model needs."""
    if (
        isinstance(owner, ExternalObject)
        and owner.last in CHECKPOINTS
        and is_tensorflow(owner.path)
    ):
        return Variable(owner.last, "weights", owner.site, owner.context)
    return _weights(owner) if is_model(owner) else None


def symbolic_tensor(tensor: Tensor) -> Tensor | None:
    """Return the tensor if it is made while the device is traced: an eager one has a value."""
    is_symbolic = tensor.made is not None and is_compiled(tensor.made)
    return tensor if is_symbolic and tensor.sort != "operation" else None


def is_traced(call: ApiCall) -> bool:
    """Return whether the call is in the trace: a function that is given away may run eagerly."""
    # `tf.py_function` and the like call what they are given with concrete values.
    if any(key.kind == scopes.CALLED for key, _ in call.context.conditions):
        return False
    return is_compiled(call.context) and not call.context.is_inside(scopes.DATA)


def certainty(computation: Computation, call: ApiCall, is_python: bool) -> Certainty:
    """Return the certainty that this asks a tensor: the step may be given something else.

    Which of several tensors it asks does not matter.
    """
    here = [other for other in computation.calls if other.site == call.site]
    guessed = {key.identity for key, _ in call.context.conditions if key.kind in scopes.GUESSES}
    return definite_if(
        is_python,
        all(map(is_tensor, here)),
        guessed <= {call.site},
        not is_tried(call.context),
        is_in_every_trace(computation, call.context),
    )


def is_tensor(call: ApiCall) -> bool:
    """Return whether the call certainly needs the value of a tensor or variable."""
    value = needed_value(call)
    if isinstance(value, Variable):
        return not value.assumed
    if value is None:
        return False
    return value.sort == "tensor" or (value.sort == "structure" and call.last == "numpy")


def name(call: ApiCall) -> str:
    if call.receiver is not None:
        return f".{call.last}()"
    if call.argument("seed") is not None:
        return f"{call.path.removeprefix('tensorflow.')}(seed=...)"
    return call.path.removeprefix("builtins.") + "()"
