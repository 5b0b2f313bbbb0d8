"""What tracing means: control flow, tf.function, contexts that move an operation, side effects.

Python's side effects in device code happen once, while it is traced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from string import Formatter

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain import values
from tpulint.absint.domain.context import Scope
from tpulint.absint.domain.events import Tensor
from tpulint.absint.domain.objects import ContextManagerValue, Function, Mapping, Sequence
from tpulint.absint.domain.structures import all_tensors, parts, with_alternatives
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Choice, Const, External, Value, join
from tpulint.absint.interpreter import calls, context_managers, expressions, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.frontends.tensorflow.knowledge.strategies import LOSSES_OF_MODEL
from tpulint.frontends.tensorflow.knowledge.tf_names import ONE_TENSOR, TRACED_METHOD, is_tensorflow
from tpulint.frontends.tensorflow.models.table import CALLABLE, Call, arity, model, observe
from tpulint.syntax import nodes

# What clears the control flow around it, as Mesh TensorFlow, Lingvo and their kin call it.
REWRITES = "outside_all_rewrites"
IN_OPS = "tf.python.framework.ops"  # where these are defined: libraries import them from there


# tensorflow/python/framework/ops.py: `None` also leaves the control-flow context, so that what is
# built is no part of a condition or loop around it.
@model("tf.control_dependencies", f"{IN_OPS}.control_dependencies")
def _control_dependencies(call: Call) -> Value:
    """Open the dependencies; `control_dependencies(None)` clears what is around it."""
    inputs = call.get("control_inputs", 0)
    effect = scopes.CLEARS if inputs == NONE else scopes.DEPENDENCIES
    return ContextManagerValue(effect, call.site, inputs or UNKNOWN)


@model("contextlib.AbstractContextManager.*")
def _use_manager(call: Call) -> Value:
    assert isinstance(call.receiver, ContextManagerValue)
    return context_managers.by_hand(call.frame, call.receiver, call.name, call.values, call.site)


@model("types.FunctionType.get_concrete_function")
def _get_concrete_function(call: Call) -> Value:
    assert isinstance(call.receiver, Function)
    return replace(call.receiver, traced=True)


@model("types.FunctionType.python_function", "types.FunctionType.__wrapped__")
def _call_python_function(call: Call) -> Value:
    assert isinstance(call.receiver, Function)
    return calls.call(call.frame, replace(call.receiver, traced=False), call.arguments, call.site)


@model(f"?.{REWRITES}")
def _outside_all_rewrites(call: Call) -> Value | None:
    if call.receiver is not None and not isinstance(call.receiver, values.Opaque):
        return None
    return ContextManagerValue(scopes.CLEARS, call.site, NONE)


# tensorflow/python/framework/ops.py
@model("tf.device", f"{IN_OPS}.device")
def _device(call: Call) -> Value:
    return ContextManagerValue(scopes.DEVICE, call.site, call.get("device_name", 0) or UNKNOWN)


# tensorflow/python/eager/polymorphic_function/polymorphic_function.py, and its older name `defun`.
@model(
    "tf.function", "tf.compat.v1.function", "tf.contrib.eager.defun", "tf.contrib.eager.function"
)
def _function(call: Call) -> Value:
    """Model `tf.function(f)`, or the decorator `tf.function(...)`."""
    callee = call.get("func", 0) or call.get("function")
    plain = call.get("autograph") == Const(False)
    if callee is None or callee == NONE:
        decorator = External(call.path)
        return values.Partial(decorator, (), (("autograph", Const(False)),)) if plain else decorator
    function = calls.traced(callee)
    if isinstance(callee, Bound) and isinstance(callee.function, External):
        return values.Partial(External(TRACED_METHOD), (callee,), ())
    if (
        isinstance(function, Function)
        and function.code.is_lambda
        and not call.frame.context.is_unrecorded
    ):
        call.frame.library.define(call.frame, function)
    if plain and isinstance(function, Function):
        return replace(function, hints=function.hints | {scopes.UNCONVERTED})
    return function


# `tf.function(strategy.run)(step, args=...)`: a method of an outside object, as it is called.
@model(TRACED_METHOD)
def _traced_method(call: Call) -> Value:
    method, *_ = call.values
    return call.run_inside(Scope(scopes.FUNCTION, call.site), method, call.arguments[1:])


# Device code is always traced; what init_scope lifts out of it is not.
@model("tf.executing_eagerly", "tf.compat.v1.executing_eagerly")
def _executing_eagerly(call: Call) -> Value:
    context = call.frame.context
    is_lifted = any(scope.effect == scopes.INIT_SCOPE for scope in context.scopes)
    return Const(False) if context.on_device and not is_lifted else UNKNOWN


# tensorflow/python/ops/cond.py, control_flow_case.py, control_flow_switch_case.py: all branches are
# traced, and one of them runs.
def conditional(call: Call) -> Value | None:
    """Model `cond(pred, f, g)`, `case([(pred, f), ...])`, `switch_case(index, [f, ...])`."""
    predicate = call.get("pred", 0) or UNKNOWN
    branches = _callables(call.values)
    if not branches:
        return None
    chosen: Value = predicate
    if call.name == "case":
        chosen = join(_tensors_of(call.values) or [UNKNOWN])
    results = [
        call.run_inside(Scope(scopes.COND, call.site, chosen), branch, []) for branch in branches
    ]
    inside = join(results)
    outputs = transfer.leave_control(call.frame, inside, [chosen], call.site)
    for before, after in zip(inside.options, outputs.options, strict=False):
        if isinstance(before, Tensor) and isinstance(after, Tensor):
            after.shape = before.shape
    return outputs


def _is_callable(value: Value) -> bool:
    return any(isinstance(option, CALLABLE) for option in value.options)


def _callables(values: list[Value]) -> list[Value]:
    """Return the functions among `values`, lists, pairs and dicts opened."""
    callables: list[Value] = []
    for value in values:
        if isinstance(value, CALLABLE):
            callables.append(value)
        elif isinstance(value, (Choice, Sequence, Mapping)):
            inner = _callables(parts(value))
            callables += [join(inner)] if inner and isinstance(value, Choice) else inner
    return callables


def _tensors_of(values: list[Value]) -> list[Value]:
    gathered: list[Value] = []
    for value in values:
        if isinstance(value, Tensor):
            gathered.append(value)
        elif isinstance(value, Sequence):
            gathered += _tensors_of(value.items)
    return gathered


# tensorflow/python/ops/while_loop.py, map_fn.py, functional_ops.py: the functions are traced once,
# as bodies of a loop.
def loop(call: Call) -> Value | None:
    """Model `while_loop(cond, body, loop_vars)`; `map_fn(fn, elems)` and its kin."""
    if not any(map(_is_callable, call.values)):
        return None
    scope = Scope(scopes.WHILE, call.site)
    if call.name != "while_loop":
        data = [value for value in call.values if not _is_callable(value)]
        element = transfer.flow(call.frame, all_tensors(data), call.site)
        for callee in _callables(call.values):
            result = call.run_inside(scope, callee, [element] * arity(callee))
        return transfer.leave_control(call.frame, result, data, call.site)
    loop_vars = call.get("loop_vars", 2) or UNKNOWN
    transfer.touch(call.frame, [loop_vars], call.site, "while_loop")
    test = call.get("cond", 0) or UNKNOWN
    predicate = call.run_inside(scope, test, _loop_values(call, loop_vars, scope))
    # The body is a graph of its own. What it makes decides, too, how long the loop goes on.
    predicates = Sequence("tuple", [predicate])
    scope = Scope(scopes.WHILE, call.site, predicates)
    body = call.get("body", 1) or UNKNOWN
    carried = _loop_values(call, loop_vars, scope)
    result = call.run_inside(scope, body, carried)
    with call.frame.within(scope):
        handed_on = result.items if isinstance(result, Sequence) else [result]
        transfer.note_carried(call.frame, carried, handed_on)
    again = Scope(scopes.WHILE, call.site)
    with call.frame.without_recording():
        predicates.add(call.run_inside(again, test, _loop_values(call, result, again)))
    decided = transfer.leave_control(call.frame, predicate, [], call.site)
    return transfer.leave_control(call.frame, join([loop_vars, result]), [decided], call.site)


def _loop_values(call: Call, value: Value, scope: Scope) -> list[Value]:
    """Return the loop variables, one per argument."""
    with call.frame.within(scope):  # tensors of the body
        variables = transfer.each_tensor(
            value, lambda tensor: transfer.passed_on(call.frame, tensor, call.site)
        )
    if isinstance(variables, Sequence) and not variables.open:
        return list(variables.items)
    return [variables]


# A symbolic tensor has no value: what is shown is its name, once.
@observe(
    "builtins.print",
    *(
        f"{home}.{name}"
        for home in ("?.logging", "logging.Logger")
        for name in ("print", "info", "warning", "error", "debug", "warn", "critical", "log")
    ),
)
def _note_shown(call: Call) -> None:
    """Note that a tensor is put into words: by itself, or in a format."""
    if not call.frame.context.on_device or call.frame.recorded is None:
        return
    shown = [
        maybe
        for argument in call.arguments
        if argument.node is not None
        for maybe in _shown_tensors(call, argument.node, argument.value)
    ]
    if shown:
        _note(call, "shows", not all(shown))


@observe("builtins.enumerate", "builtins.sum", "builtins.zip")
def _take_items(call: Call) -> None:
    """Record that Python takes the items of a tensor; a sum has its start as second argument."""
    for taken in call.values if call.name == "zip" else call.values[:1]:
        transfer.note_iteration(call.frame, taken, call.site)


@model("builtins.sum")
def _sum_losses(call: Call) -> Value | None:
    """Return the tensor that Python's `sum` makes of a model's losses, which are not seen."""
    losses = call.values[0].function if call.values and isinstance(call.values[0], Bound) else None
    if call.frame.context.computation is None or not isinstance(losses, External):
        return None
    return transfer.result(call.frame, [], call.site) if losses.last == LOSSES_OF_MODEL else None


# Only an empty format is one of every object: `object.__format__` refuses any other.
@observe("builtins.str.format")
def _note_formats(call: Call) -> None:
    """Note what `"{:.3f}".format(...)` formats as a number."""
    template = call.receiver.value if isinstance(call.receiver, Const) else None
    if not isinstance(template, str) or any(argument.star for argument in call.arguments):
        return
    try:
        fields = [field for field in Formatter().parse(template) if field[1] is not None]
    except ValueError:
        return
    for position, (_, name, wanted, conversion) in enumerate(fields):
        named = name or ""
        index = int(named) if named.isdecimal() else position
        value = call.get(named) if named.isidentifier() else call.get("", index)
        # A conversion formats a text, and `{}` says nothing of a number.
        if wanted and not conversion and value is not None:
            transfer.note_formatting(call.frame, value, "`format`", call.site)


# What a list keeps is a tensor of the graph, and no step puts another there.
@observe(*(f"builtins.list.{name}" for name in ("append", "insert", "appendleft", "add")))
def _note_kept(call: Call) -> None:
    built_in = call.receiver.made if isinstance(call.receiver, Sequence) else None
    if built_in is None or built_in.computation is call.frame.context.computation:
        return
    may_be_kept = [maybe for value in call.values for maybe in _tensors(value)]
    if may_be_kept:
        _note(call, "keeps", not built_in.is_unrecorded and not all(may_be_kept))


# The file is written once, when the step is traced.
@observe("builtins.open", "?.gfile.GFile", "?.gfile.FastGFile", "?.gfile.Open", "?.gfile.open")
def _note_written(call: Call) -> None:
    mode = call.get("mode", 1)
    text = mode.value if isinstance(mode, Const) else None
    if isinstance(text, str) and text.startswith(("w", "a", "x")):
        _note(call, "writes", True)


def _note(call: Call, kind: str, is_certain: bool) -> None:
    transfer.note_effect(call.frame, kind, call.name, call.site, is_certain=is_certain)


def _shown_tensors(call: Call, node: nodes.Expression, shown: Value) -> Iterator[bool]:
    """Yield the tensors that are put into the words: by themselves, or in a format."""
    for part in _formatted_expressions(node):
        if isinstance(part, (nodes.Name, nodes.Attribute, nodes.Subscript)):
            value = expressions.value(call.frame, part)
        elif part is node and _makes_tensor(call.frame, part):
            value = shown  # a second evaluation would build its operations again
        else:
            continue
        creations = [tensor.made for tensor in all_tensors([value])]
        # What was made outside all graphs is shown with its value.
        if all(
            creation is None or creation.computation is not None or creation.traced
            for creation in creations
        ):
            yield from _tensors(value)


def _makes_tensor(frame: Frame, node: nodes.Expression) -> bool:
    """Return whether it computes with tensors, instead of asking what is known of one."""
    match node:
        case nodes.CallNode(callee=called):
            callee = expressions.value(frame, called)
            if not isinstance(callee, External):
                return False
            return callee.last in ONE_TENSOR and is_tensorflow(callee.path)
        case nodes.BinaryOperation(left=left, right=right):
            kinds = (nodes.Name, nodes.Attribute, nodes.Subscript, nodes.Constant)
            return isinstance(left, kinds) and isinstance(right, kinds)
    return False


def _tensors(value: Value) -> Iterator[bool]:
    """Yield, for each tensor in `value`, whether something else may be in its place."""
    for tensor, maybe in with_alternatives(value):
        if tensor.sort in ("tensor", "structure"):  # an unseen function may as well give a number
            yield maybe


def _formatted_expressions(node: nodes.Expression) -> Iterator[nodes.Expression]:
    """Yield the expressions that an f-string, `%` or `format` formats, or `node` itself."""
    inner: list[nodes.Expression] = []
    match node:
        case nodes.FormattedString(items=items) | nodes.Display(kind="tuple", items=items):
            inner = items
        case nodes.FormattedValue(value=value):
            inner = [value]
        case nodes.BinaryOperation(op="Modulo", right=right):
            inner = [right]
        case nodes.CallNode(
            callee=nodes.Attribute(base=nodes.Constant(value=str()), name="format")
        ):
            inner = [argument.value for argument in node.arguments]
        case _:
            yield node
    for expression in inner:
        yield from _formatted_expressions(expression)
