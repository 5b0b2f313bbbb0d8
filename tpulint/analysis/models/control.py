"""Traced control flow, tf.function, and the contexts that change where an operation stands."""

from __future__ import annotations

from dataclasses import replace

from tpulint.analysis.domain.context import COND, WHILE, Scope
from tpulint.analysis.domain.effects import (
    CLEARS,
    CONTROL,
    DEPENDENCIES,
    DEVICE,
    GRAPH,
    INIT_SCOPE,
    UNCONVERTED,
)
from tpulint.analysis.domain.events import Tensor
from tpulint.analysis.domain.objects import (
    Class,
    ContextManagerValue,
    ExternalObject,
    Function,
    Mapping,
    Sequence,
)
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import (
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
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.interpreter.calls import traced
from tpulint.analysis.models.call import Call, parameter_count
from tpulint.knowledge import naming, seam

CALLABLE = (Function, Bound, Partial)
CONTEXT_CLASSES = frozenset(["XLAControlFlowContext", "CondContext", "WhileContext"])
CURRENT = frozenset(["_get_control_flow_context", "GetControlFlowContext"])
REWRITES = "outside_all_rewrites"  # the name of Mesh TensorFlow, Lingvo and their kin
CONTEXTS = frozenset(["as_default", "control_dependencies", "device", "init_scope", REWRITES])
FUNCTIONS = seam.TRACERS | seam.CONDITIONALS | seam.LOOPS | seam.TRANSPARENT
ANSWERED = CURRENT | CONTEXTS | CONTEXT_CLASSES | FUNCTIONS


def answer(this: Call) -> Value | None:
    name = this.name
    if name in CURRENT:
        return ContextManagerValue(CONTROL, this.site)
    if name == "as_default" and _is_graph(this):
        return ContextManagerValue(GRAPH, this.site)
    if this.receiver is not None and not isinstance(this.receiver, Opaque):
        return None
    if name in seam.TRACERS:
        return _trace(this)
    if name in seam.CONDITIONALS:
        return _conditional(this)
    if name in seam.LOOPS and any(_is_callable(each) for each in this.values):
        return _loop(this)
    if name == "control_dependencies":
        cleared = this.get("control_inputs", 0) == NONE
        payload = this.get("control_inputs", 0) or UNKNOWN
        return ContextManagerValue(CLEARS if cleared else DEPENDENCIES, this.site, payload)
    if name == REWRITES:
        return ContextManagerValue(CLEARS, this.site, NONE)
    if name == "device":
        return ContextManagerValue(DEVICE, this.site, this.get("device_name", 0) or UNKNOWN)
    if name == "init_scope":
        return ContextManagerValue(INIT_SCOPE, this.site)
    if name in CONTEXT_CLASSES:
        return ContextManagerValue(CONTROL, this.site)
    if name in seam.TRANSPARENT and len(this.values) == 1:
        return _given_back(this.values[0])
    return None


def _is_graph(this: Call) -> bool:
    """`tf.Graph().as_default()`, and that of a name that says graph: a writer has one too."""
    receiver = this.receiver.last if isinstance(this.receiver, ExternalObject) else this.base
    return naming.GRAPH.is_in(receiver)


def _elements(this: Call, callee: Value, element: Value) -> list[Value]:
    """Return what a dataset's function takes: the components of an element, or the element."""
    return [element] * parameter_count(this, callee)


def _trace(this: Call) -> Value:
    """`tf.function(f)`, or the decorator `tf.function(...)`."""
    callee = this.get("func", 0) or this.get("function")
    plain = this.get("autograph") == Const(False)
    if callee is None or callee == NONE:
        made = External(this.path)
        return Partial(made, (), (("autograph", Const(False)),)) if plain else made
    found = traced(callee)
    if isinstance(found, Function) and found.code.is_lambda and not this.frame.context.muted:
        this.frame.library.define(this.frame, found)
    if plain and isinstance(found, Function):
        return replace(found, hints=found.hints | {UNCONVERTED})
    return found


def _given_back(value: Value) -> Value | None:
    return value if isinstance(value, (*CALLABLE, Class)) else None


def _conditional(this: Call) -> Value | None:
    """`cond(pred, f, g)`, `case([(pred, f), ...])`, `switch_case(index, [f, ...])`."""
    predicate = this.get("pred", 0) or UNKNOWN
    branches = _callables(this.values)
    if not branches:
        return None
    chosen: Value = predicate
    if this.name == "case":
        chosen = join(_tensors_of(this.values) or [UNKNOWN])
    results = [this.run_inside(Scope(COND, this.site, chosen), each, []) for each in branches]
    return transfer.leave_control(this.frame, join(results), [chosen], this.site)


def _is_callable(value: Value) -> bool:
    return any(isinstance(each, CALLABLE) for each in options(value))


def _callables(values: list[Value]) -> list[Value]:
    """Return the functions among `values`, lists, pairs and dicts opened."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, CALLABLE):
            found.append(value)
        elif isinstance(value, Choice):
            found += [join(inner) for inner in [_callables(list(value.options))] if inner]
        elif isinstance(value, Sequence):
            found += _callables(value.items)
        elif isinstance(value, Mapping):
            found += _callables(list(value.items.values()))
    return found


def _tensors_of(values: list[Value]) -> list[Value]:
    found: list[Value] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, Sequence):
            found += _tensors_of(value.items)
    return found


def _loop(this: Call) -> Value:
    """`while_loop(cond, body, loop_vars)`; `map_fn(fn, elems)` and its kin."""
    scope = Scope(WHILE, this.site)
    if this.name != "while_loop":
        data = [each for each in this.values if not _is_callable(each)]
        element = transfer.flow(this.frame, _flat(data), this.site)
        for callee in _callables(this.values):
            made = this.run_inside(scope, callee, _elements(this, callee, element))
        return transfer.leave_control(this.frame, made, data, this.site)
    given = this.get("loop_vars", 2) or UNKNOWN
    transfer.touch(this.frame, [given], this.site, "while_loop")
    test = this.get("cond", 0) or UNKNOWN
    predicate = this.run_inside(scope, test, _loop_values(this, given, scope))
    # The body is a graph of its own. What it makes decides, too, how long the loop goes on.
    predicates = Sequence("tuple", [predicate])
    scope = Scope(WHILE, this.site, predicates)
    body = this.get("body", 1) or UNKNOWN
    made = this.run_inside(scope, body, _loop_values(this, given, scope))
    again = Scope(WHILE, this.site)
    with this.frame.muted():
        predicates.add(this.run_inside(again, test, _loop_values(this, made, again)))
    decided = transfer.leave_control(this.frame, predicate, [], this.site)
    return transfer.leave_control(this.frame, join([given, made]), [decided], this.site)


def _flat(values: list[Value]) -> list[Tensor]:
    return [tensor for value in values for tensor in tensors(value)]


def _loop_values(this: Call, value: Value, scope: Scope) -> list[Value]:
    """Return the loop variables, one per argument."""
    found = _inside(this, value, scope)
    if isinstance(found, Sequence) and not found.open:
        return list(found.items)
    return [found]


def _inside(this: Call, value: Value, scope: Scope) -> Value:
    """Loop variables as the body sees them: tensors of the body."""
    with this.frame.within(scope):
        return transfer.each_tensor(
            value, lambda tensor: transfer.passed_on(this.frame, tensor, this.site)
        )
