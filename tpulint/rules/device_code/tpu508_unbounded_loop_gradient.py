"""TPU508: a gradient is taken through a loop whose number of rounds has no bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.absint.domain.context import COMPUTATION, WHILE, Scope
from tpulint.absint.domain.events import ApiCall, Computation, Context, Operation
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.structures import tensors, with_alternatives
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import LAYERS_WITH_WEIGHTS, words
from tpulint.ordering import reachable
from tpulint.queries.certainty import compiled_if
from tpulint.queries.device_code import is_compiled, is_data
from tpulint.rules.base import Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import While

# The calls that take a gradient, and the argument that it is taken of.
LOSSES = {
    "gradient": ("target", 0),
    "gradients": ("ys", 0),
    "minimize": ("loss", 0),
    "compute_gradients": ("loss", 0),
}
# No gradient flows back through these.
STOPS = words("""
    stop_gradient argmax argmin shape size rank zeros_like bitcast equal not_equal greater
    greater_equal less less_equal logical_and logical_or logical_not logical_xor bitwise_and
    bitwise_or bitwise_xor left_shift right_shift
""")
COMPARES = words("Equal NotEqual LessThan LessThanEqual GreaterThan GreaterThanEqual")
NO_BOUNDS = ("dtype", "name")  # arguments of a `tf.range`
LABELS_AND_OUTPUT = 2  # what an unseen loss takes: of more tensors it may take some only
# Operators and calls whose gradient needs what a round has computed. A sum's needs nothing, and
# then no list of unknown length is made.
MULTIPLIES = words("""
    Multiply Divide MatrixMultiply MatMult Power Mult Div Pow multiply divide matmul matvec einsum
    tensordot square sqrt exp log tanh sigmoid relu gelu softmax log_softmax pow layer_norm
""")
LAYER_FUNCTIONS = words("""
    dense conv1d conv2d conv3d conv2d_transpose separable_conv2d fully_connected convolution2d
    linear batch_norm batch_normalization layer_norm
""")


@register
class UnboundedLoopGradient(Rule):
    code = "TPU508"
    name = "unbounded-loop-gradient"
    severity = Severity.ERROR
    summary = "a gradient through a loop without maximum_iterations"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            seen: set[object] = set()
            for call in gradient_calls(computation):
                for loop, is_sure, remedy in unbounded_loops(program, computation, call):
                    if loop.site in seen:
                        continue
                    seen.add(loop.site)
                    report(
                        loop.site.span,
                        f"`{call.last}` takes the gradient through this loop, for which XLA needs a"
                        f" bound of its rounds{remedy}",
                        certainty=compiled_if(program, computation, call.context, is_sure),
                        trace=(
                            traces.entry(computation),
                            traces.device_step(loop.site, "loops on the device"),
                            traces.device_step(call.site, "takes the gradient through it"),
                        ),
                    )


def gradient_calls(computation: Computation) -> Iterator[ApiCall]:
    """Yield the calls of device code that take a gradient."""
    for call in (*computation.calls, *computation.updates):
        if call.last in LOSSES and is_compiled(call.context):
            owner = call.receiver
            is_tape = isinstance(owner, ExternalObject) and owner.last == "GradientTape"
            if call.last != "gradient" or is_tape:
                yield call


def unbounded_loops(
    program: Program, computation: Computation, gradient: ApiCall
) -> Iterator[tuple[Scope, bool, str]]:
    """Yield the loops without a bound that a gradient flows through.

    Each comes with whether the gradient certainly needs all of its rounds, and what to do.
    """
    loss = gradient.value(*LOSSES[gradient.last])
    stops = set[int]()
    for call in computation.calls:
        function = call.arguments[0].value if call.arguments else None
        # Also `tf.nest.map_structure(tf.stop_gradient, ...)`.
        is_mapped = isinstance(function, External) and function.last in STOPS
        if call.last in STOPS or (call.last == "map_structure" and is_mapped):
            stops |= {id(tensor.operation) for tensor in tensors(call.result)}
    around = set(map(id, gradient.context.scopes))
    upstream = before(loss or UNKNOWN, stops)
    scopes = {
        id(scope): scope
        for operation in upstream.values()
        for scope in operation.context.since(COMPUTATION)
        if scope.kind == WHILE and id(scope) not in around
    }
    for scope in scopes.values():
        inside = [operation for operation in upstream.values() if _is_in(operation.context, scope)]
        needed = _closed(inside, stops)
        remedy = remedy_of(program, computation, scope) if is_trained(computation, needed) else ""
        if remedy:
            reached = all(place.context.reached_whenever(gradient.context) for place in inside)
            # One loss, and no other in its place; what a loop began with leaves the loop, too.
            is_alone = loss is not None and all(
                tensor.site == scope.site or not other for tensor, other in with_alternatives(loss)
            )
            is_sure = reached and multiplies(computation, scope) and is_alone
            yield scope, is_sure, remedy


def before(value: Value, stops: set[int]) -> dict[int, Operation]:
    """Return the operations that a gradient of `value` flows back through."""
    starts = [tensor.operation for tensor, _ in with_alternatives(value)]
    return _closed(filter(None, starts), stops)


def _closed(operations: Iterable[Operation], stops: set[int]) -> dict[int, Operation]:
    def outside(operations: Iterable[Operation]) -> list[Operation]:
        return [it for it in operations if id(it) not in stops and it.operator not in COMPARES]

    def taken(operation: Operation) -> list[Operation]:
        takes_some = operation.unseen and len(operation.sources) > LABELS_AND_OUTPUT
        return [] if takes_some else outside(operation.sources)

    return {id(operation): operation for operation in reachable(outside(operations), taken, id)}


def _is_in(context: Context, scope: Scope) -> bool:
    return any(other is scope for other in context.scopes)


def is_trained(computation: Computation, needed: dict[int, Operation]) -> bool:
    """Return whether the gradient reaches a variable, or a layer that makes its own."""
    return any(
        access.mode == "read"
        and access.variable.sort in ("variable", "weights")
        and not access.variable.counts
        and id(access.operation) in needed
        for access in computation.accesses
    ) or any(
        # tensorflow/python/layers, and tf.contrib.layers: functions of TensorFlow 1.
        call.last in LAYER_FUNCTIONS
        and ".layers." in call.path
        and any(id(tensor.operation) in needed for tensor in tensors(call.result))
        for call in computation.calls
    )


# AutoGraph makes the length of a `tf.range` the bound: tensorflow/python/autograph/operators/
# control_flow.py, `_tf_range_for_stmt`.
def remedy_of(program: Program, computation: Computation, scope: Scope) -> str:
    """Return what to do about a loop without a bound; "" where it has one."""
    if scope.converted:
        has_options = any(
            call.last == "set_loop_options" and _is_in(call.context, scope)
            for call in computation.calls
        )
        is_while = scope.site.module.node_at(scope.site.place, While) is not None
        is_unbounded = is_while and not has_options
        makers = program.by_result.get(id(scope.payload), ())
        arguments = [it for maker in makers if maker.last == "range" for it in maker.arguments]
        bounds = [it.value for it in arguments if it.keyword not in NO_BOUNDS]
    else:
        here = [call for call in computation.calls if call.site == scope.site]
        loops = [call for call in here if call.last == "while_loop"]
        is_unbounded = any(map(_is_unbounded, loops))
        bounds = [call.value("maximum_iterations") or NONE for call in loops]
    if is_unbounded:
        return ": pass `maximum_iterations`, or loop over `tf.range`"
    if any(map(is_data, bounds)):
        return (
            ", and this one depends on data: pass a constant, and mask the rounds that are unused"
        )
    return ""


def _is_unbounded(call: ApiCall) -> bool:
    """Return whether a `while_loop` surely gets no `maximum_iterations`, and keeps its gradient."""
    plain = [argument for argument in call.arguments if argument.keyword is None]
    # Keras has the bound at the fourth place, TensorFlow behind the seventh.
    may_be_bound = len(plain) > (3 if "keras" in call.path else 7) or call.is_starred
    if may_be_bound or "training_loop" in call.path:
        return False
    has_gradient = call.value("back_prop", 5) != Const(False)
    return has_gradient and call.value("maximum_iterations") in (None, NONE)


def multiplies(computation: Computation, scope: Scope) -> bool:
    """Return whether an operation of the loop needs for its gradient what a round has computed."""
    weighs = MULTIPLIES | LAYERS_WITH_WEIGHTS
    touches, calls = computation.accesses, computation.calls
    return any(it.how in weighs and _is_in(it.context, scope) for it in touches) or any(
        it.last in MULTIPLIES and _is_in(it.context, scope) for it in calls
    )
