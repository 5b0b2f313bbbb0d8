"""Traced control flow, tf.function, and the contexts that change where an operation stands."""

from __future__ import annotations

from dataclasses import replace

from tpulint.absint.domain.context import (
    CLEARS,
    COND,
    DEPENDENCIES,
    DEVICE,
    FUNCTION,
    INIT_SCOPE,
    UNCONVERTED,
    WHILE,
    Scope,
)
from tpulint.absint.domain.events import Tensor
from tpulint.absint.domain.objects import ContextManagerValue, Function, Mapping, Sequence
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import (
    NONE,
    UNKNOWN,
    Bound,
    Choice,
    Const,
    External,
    Opaque,
    Partial,
    Value,
    join,
    options,
)
from tpulint.absint.interpreter import transfer
from tpulint.absint.interpreter.calls import traced
from tpulint.frontends.tensorflow.models.table import CALLABLE, Call, model, parameter_count

# What clears the control flow around it, as Mesh TensorFlow, Lingvo and their kin call it.
REWRITES = "outside_all_rewrites"
TRACED_METHOD = "tensorflow.function.__call__"
IN_OPS = "tf.python.framework.ops"  # where these are defined: libraries import them from there


# tensorflow/python/framework/ops.py: `None` also leaves the control-flow context, so that what is
# built is no part of a condition or loop around it.
@model("tf.control_dependencies", f"{IN_OPS}.control_dependencies")
def _control_dependencies(call: Call) -> Value:
    """`control_dependencies(None)` clears what is around it."""
    inputs = call.get("control_inputs", 0)
    effect = CLEARS if inputs == NONE else DEPENDENCIES
    return ContextManagerValue(effect, call.site, inputs or UNKNOWN)


@model(f"?.{REWRITES}")
def _outside_all_rewrites(call: Call) -> Value | None:
    if call.receiver is not None and not isinstance(call.receiver, Opaque):
        return None
    return ContextManagerValue(CLEARS, call.site, NONE)


# tensorflow/python/framework/ops.py
@model("tf.device", f"{IN_OPS}.device")
def _device(call: Call) -> Value:
    return ContextManagerValue(DEVICE, call.site, call.get("device_name", 0) or UNKNOWN)


def _elements(call: Call, callee: Value, element: Value) -> list[Value]:
    """Return what a dataset's function takes: the components of an element, or the element."""
    return [element] * parameter_count(call, callee)


# tensorflow/python/eager/polymorphic_function/polymorphic_function.py, and its older name `defun`.
@model(
    "tf.function", "tf.compat.v1.function", "tf.contrib.eager.defun", "tf.contrib.eager.function"
)
def _function(call: Call) -> Value:
    """`tf.function(f)`, or the decorator `tf.function(...)`."""
    callee = call.get("func", 0) or call.get("function")
    plain = call.get("autograph") == Const(False)
    if callee is None or callee == NONE:
        decorator = External(call.path)
        return Partial(decorator, (), (("autograph", Const(False)),)) if plain else decorator
    function = traced(callee)
    if isinstance(callee, Bound) and isinstance(callee.function, External):
        return Partial(External(TRACED_METHOD), (callee,), ())
    if (
        isinstance(function, Function)
        and function.code.is_lambda
        and not call.frame.context.is_unrecorded
    ):
        call.frame.library.define(call.frame, function)
    if plain and isinstance(function, Function):
        return replace(function, hints=function.hints | {UNCONVERTED})
    return function


# `tf.function(strategy.run)(step, args=...)`: a method of an outside object, as it is called.
@model(TRACED_METHOD)
def _traced_method(call: Call) -> Value:
    method, *_ = call.values
    return call.run_inside(Scope(FUNCTION, call.site), method, call.arguments[1:])


# Device code is always traced; what init_scope lifts out of it is not.
@model("tf.executing_eagerly", "tf.compat.v1.executing_eagerly")
def _executing_eagerly(call: Call) -> Value:
    context = call.frame.context
    is_lifted = any(scope.effect == INIT_SCOPE for scope in context.scopes)
    return Const(False) if context.on_device and not is_lifted else UNKNOWN


# tensorflow/python/ops/cond.py, control_flow_case.py, control_flow_switch_case.py: all branches are
# traced, and one of them runs.
@model(
    "tf.cond",
    "tf.case",
    "tf.switch_case",
    "tf.__internal__.smart_cond.smart_cond",
    "keras.ops.cond",
)
def conditional(call: Call) -> Value | None:
    """`cond(pred, f, g)`, `case([(pred, f), ...])`, `switch_case(index, [f, ...])`."""
    predicate = call.get("pred", 0) or UNKNOWN
    branches = _callables(call.values)
    if not branches:
        return None
    chosen: Value = predicate
    if call.name == "case":
        chosen = join(_tensors_of(call.values) or [UNKNOWN])
    results = [call.run_inside(Scope(COND, call.site, chosen), branch, []) for branch in branches]
    inside = join(results)
    outputs = transfer.leave_control(call.frame, inside, [chosen], call.site)
    for before, after in zip(options(inside), options(outputs), strict=False):
        if isinstance(before, Tensor) and isinstance(after, Tensor):
            after.shape = before.shape
    return outputs


def _is_callable(value: Value) -> bool:
    return any(isinstance(option, CALLABLE) for option in options(value))


def _callables(values: list[Value]) -> list[Value]:
    """Return the functions among `values`, lists, pairs and dicts opened."""
    callables: list[Value] = []
    for value in values:
        if isinstance(value, CALLABLE):
            callables.append(value)
        elif isinstance(value, Choice):
            callables += [join(inner) for inner in [_callables(list(value.options))] if inner]
        elif isinstance(value, Sequence):
            callables += _callables(value.items)
        elif isinstance(value, Mapping):
            callables += _callables(list(value.items.values()))
    return callables


def _tensors_of(values: list[Value]) -> list[Value]:
    found_tensors: list[Value] = []
    for value in values:
        if isinstance(value, Tensor):
            found_tensors.append(value)
        elif isinstance(value, Sequence):
            found_tensors += _tensors_of(value.items)
    return found_tensors


# tensorflow/python/ops/while_loop.py, map_fn.py, functional_ops.py: the functions are traced once,
# as bodies of a loop.
@model(
    "tf.while_loop",
    "tf.map_fn",
    "tf.scan",
    "tf.foldl",
    "tf.foldr",
    "tf.vectorized_map",
    "keras.backend.map_fn",
    "keras.backend.foldl",
    "keras.backend.foldr",
    "keras.ops.scan",
    "keras.ops.vectorized_map",
    "keras.ops.while_loop",
)
def loop(call: Call) -> Value | None:
    """`while_loop(cond, body, loop_vars)`; `map_fn(fn, elems)` and its kin."""
    if not any(_is_callable(value) for value in call.values):
        return None
    scope = Scope(WHILE, call.site)
    if call.name != "while_loop":
        data = [value for value in call.values if not _is_callable(value)]
        element = transfer.flow(call.frame, _flatten(data), call.site)
        for callee in _callables(call.values):
            result = call.run_inside(scope, callee, _elements(call, callee, element))
        return transfer.leave_control(call.frame, result, data, call.site)
    loop_vars = call.get("loop_vars", 2) or UNKNOWN
    transfer.touch(call.frame, [loop_vars], call.site, "while_loop")
    test = call.get("cond", 0) or UNKNOWN
    predicate = call.run_inside(scope, test, _loop_values(call, loop_vars, scope))
    # The body is a graph of its own. What it makes decides, too, how long the loop goes on.
    predicates = Sequence("tuple", [predicate])
    scope = Scope(WHILE, call.site, predicates)
    body = call.get("body", 1) or UNKNOWN
    result = call.run_inside(scope, body, _loop_values(call, loop_vars, scope))
    again = Scope(WHILE, call.site)
    with call.frame.without_recording():
        predicates.add(call.run_inside(again, test, _loop_values(call, result, again)))
    decided = transfer.leave_control(call.frame, predicate, [], call.site)
    return transfer.leave_control(call.frame, join([loop_vars, result]), [decided], call.site)


def _flatten(values: list[Value]) -> list[Tensor]:
    return [tensor for value in values for tensor in tensors(value)]


def _loop_values(call: Call, value: Value, scope: Scope) -> list[Value]:
    """Return the loop variables, one per argument."""
    variables = _as_body_values(call, value, scope)
    if isinstance(variables, Sequence) and not variables.open:
        return list(variables.items)
    return [variables]


def _as_body_values(call: Call, value: Value, scope: Scope) -> Value:
    """Loop variables as the body sees them: tensors of the body."""
    with call.frame.within(scope):
        return transfer.each_tensor(
            value, lambda tensor: transfer.passed_on(call.frame, tensor, call.site)
        )
