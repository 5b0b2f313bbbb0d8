"""TPU502: a shape or size that must be a compile-time constant depends on data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tpulint.absint.domain.context import COMPUTATION, FUNCTION, WHILE
from tpulint.absint.domain.events import ApiCall, Argument, Computation, Context, Tensor, Variable
from tpulint.absint.domain.objects import Function, Sequence, TracedCall
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import with_alternatives
from tpulint.absint.domain.values import NONE, Const
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import compiled_at, device_path, device_step, in_argument
from tpulint.frontends.tensorflow.branch_tests import asks_about
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.tf_names import words
from tpulint.frontends.tensorflow.shapes import mixable
from tpulint.queries.certainty import compiled_if, definite_if, doubt_about
from tpulint.queries.device_code import compiled_calls, device_calls, is_compiled, is_data
from tpulint.queries.eager_calls import input_signatures
from tpulint.queries.strategies import is_run
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import CallNode, Constant, Display, Expression, Name, last_name

TENSORFLOW = ("tensorflow.", "keras.")
SEGMENTS = [f"unsorted_segment_{name}" for name in ("max", "mean", "min", "prod", "sqrt_n", "sum")]
# The arguments of which XLA's kernels want the values when they compile (tf2xla/kernels,
# `CompileTimeConstantInput`), by the last name of what builds them: keyword and position.
CONSTANTS = {
    "reshape": (("shape", 1),),
    "fill": (("dims", 0),),
    "zeros": (("shape", 0),),
    "ones": (("shape", 0),),
    "eye": (("num_rows", 0), ("num_columns", 1)),
    "tile": (("multiples", 1),),
    "broadcast_to": (("shape", 1),),
    "broadcast_dynamic_shape": (("shape_x", 0), ("shape_y", 1)),
    "range": (("start", 0), ("limit", 1), ("delta", 2)),
    "linspace": (("num", 2),),
    "one_hot": (("depth", 1),),
    "pad": (("paddings", 1),),
    "slice": (("size", 2),),
    "transpose": (("perm", 1),),
    "repeat": (("repeats", 1),),
    "resize": (("size", 1),),
    "resize_bilinear": (("size", 1),),
    "resize_nearest_neighbor": (("size", 1),),
    "uniform": (("shape", 0),),
    "normal": (("shape", 0),),
    "truncated_normal": (("shape", 0),),
    "random_uniform": (("shape", 0),),
    "random_normal": (("shape", 0),),
    "stateless_uniform": (("shape", 0),),
    "stateless_normal": (("shape", 0),),
    "sequence_mask": (("maxlen", 1),),
    "confusion_matrix": (("num_classes", 2),),
    "scatter_nd": (("shape", 2),),
    "split": (("num_or_size_splits", 1),),
    "categorical": (("num_samples", 1),),
    "stateless_categorical": (("num_samples", 1),),
    "stateless_truncated_normal": (("shape", 0),),
    "non_max_suppression": (("max_output_size", 2),),
    "non_max_suppression_padded": (("max_output_size", 2),),
    "rfft": (("fft_length", 1),),
    "irfft": (("fft_length", 1),),
    "frame": (("frame_length", 1),),
    "pad_to_bounding_box": (("target_height", 3), ("target_width", 4)),
    "TensorArray": (("size", 1),),
    **dict.fromkeys(SEGMENTS, (("num_segments", 2),)),
}
# Those that take the largest value of another argument where the constant is left out.
LARGEST = {
    "sequence_mask": ("lengths", "`maxlen` (by default the largest length)"),
    "confusion_matrix": ("labels", "`num_classes` (by default the largest label and one)"),
}
TRANSPOSED = words("conv_transpose conv1d_transpose conv2d_transpose conv3d_transpose")
MOST_OTHERS = 4  # further operations that need the same tensor, in a trace
LIKE_IMAGES = frozenset(["resize", "resize_bilinear", "resize_nearest_neighbor"])


@register
class DynamicShape(Rule):
    code = "TPU502"
    name = "dynamic-shape"
    severity = Severity.ERROR
    summary = "a shape that must be a compile-time constant depends on data"

    def check(self, program: Program, report: Report) -> None:
        _check_branches(program, report)
        _check_loops(program, report)
        _check_ranks(program, report)
        _check_bounded(program, report)
        for need, others in _by_cause(_needs(program)):
            computation, call, context = need.computation, need.call, need.call.context
            culprit = in_argument(need.argument, need.tensor)
            named = f"`{culprit.name}`, the " if culprit.name and not culprit.is_holder else ""
            report(
                culprit.span,
                f"{named}{need.what} of `{call.last}`{',' if named else ''} must be known when the"
                " computation is compiled, but depends on data: use a static shape, and mask"
                " what is unused",
                certainty=need.certainty,
                trace=device_path(
                    computation,
                    context,
                    device_step(call.site, f"needs {need.what} to compile `{call.last}`"),
                    *(
                        device_step(other.site, f"`{other.last}` needs it, too")
                        for other in others[:MOST_OTHERS]
                    ),
                ),
                doubt=doubt_about(program, computation, context)
                or "unless the values that reach it are settings",
            )


class _Need(NamedTuple):
    """An argument that must be known, and the tensor in it that depends on data."""

    computation: Computation
    call: ApiCall
    argument: Argument
    what: str
    tensor: Tensor
    certainty: Certainty


def _needs(program: Program) -> Iterator[_Need]:
    loops = _loop_sources(program)
    # Soft placement moves what has no kernel, and these operations have one.
    for computation, call in device_calls(program):
        # `tf.range` as a loop's iterable becomes a counter, and no operation with a constant.
        if not needs_constants(call) or call.site in loops:
            continue
        for argument, what in dynamic_arguments(call):
            is_open = isinstance(argument.value, Sequence) and argument.value.open
            alternatives = with_alternatives(argument.value, kinds=True)
            certainty = compiled_if(
                program,
                computation,
                call.context,
                not is_open,
                not any(is_alternative for _, is_alternative in alternatives),
            )
            # A switch like `use_static_shapes` leads elsewhere where the program runs on a TPU.
            if certainty is Certainty.DEFINITE or not asks_about(call.context, naming.SHAPE):
                tensor = next(tensor for tensor, _ in alternatives if tensor.data)
                yield _Need(computation, call, argument, what, tensor, certainty)


def _by_cause(needs: Iterable[_Need]) -> Iterator[tuple[_Need, list[ApiCall]]]:
    """Yield the first need of each tensor, a sure one if there is one, and its other calls."""
    by_tensor: dict[int, list[_Need]] = {}
    for need in needs:
        by_tensor.setdefault(id(need.tensor), []).append(need)
    for same in by_tensor.values():
        first = next((need for need in same if need.certainty is Certainty.DEFINITE), same[0])
        sites = {need.call.site: need.call for need in same if need.call.site != first.call.site}
        yield first, list(sites.values())


# tensorflow/compiler/tf2xla/kernels/if_op.cc: a TPU compiles both branches into one conditional.
def _check_branches(program: Program, report: Report) -> None:
    """Check that the branches of a condition give tensors of one shape."""
    for computation, call in compiled_calls(program):
        shapes = _shapes_of_branches(call) if call.last == "cond" else []
        if len(set(shapes)) < 2:
            continue
        first, second = (str(list(shape)) for shape in shapes)
        report(
            call.site.span,
            f"the branches of `{call.last}` have the shapes {first} and {second}, but the result of"
            " a compiled condition has one shape: make them equal, and mask what is unused",
            **compiled_at(program, computation, call, "gives tensors of two shapes"),
        )


# tensorflow/compiler/tf2xla/kernels/while_op.cc: the body has to give what it gets.
def _check_loops(program: Program, report: Report) -> None:
    """Check that no tensor that a compiled loop carries grows in each round."""
    for computation in program.computations:
        loops: set[Site] = set()
        for before, after, context in computation.carried:
            calls = program.by_result.get(id(after), ()) if is_compiled(context) else ()
            loop = next(scope for scope in context.scopes.since(COMPUTATION) if scope.kind == WHILE)
            for call in calls:
                grows = call.last == "concat" and any(item is before for item in mixable(call))
                if not grows or loop.site in loops:
                    continue
                loops.add(loop.site)
                is_run = is_mode_run(program, computation, context)
                report(
                    call.site.span,
                    "each round of the loop makes this tensor longer, but what a compiled loop"
                    " carries has one shape: write to a `tf.TensorArray` of fixed size, or into"
                    " a tensor that has the final shape",
                    certainty=compiled_if(program, computation, context, is_run),
                    trace=device_path(
                        computation,
                        context,
                        device_step(loop.site, "carries the tensor from round to round"),
                        device_step(call.site, "makes it longer"),
                    ),
                    doubt=doubt_about(program, computation, context)
                    or "if an estimator predicts with it on a TPU",
                )


# Texts are generated in a loop, and often by an Estimator that has no TPU.
# tensorflow/python/distribute/tpu_strategy.py, `TPUExtended._tpu_function_creator`
def _check_ranks(program: Program, report: Report) -> None:
    """Check that no `input_signature` leaves the rank of an argument of `run` open."""
    for computation in program.computations:
        arguments = computation.call.argument("args", 1)
        outer = next((it for it in computation.context.scopes if it.kind == FUNCTION), None)
        if not is_run(computation) or arguments is None or outer is None:
            continue
        if not isinstance(outer.payload, TracedCall) or not isinstance(arguments.node, Display):
            continue
        names = without_rank(outer.payload.function)
        values = getattr(arguments.value, "items", ())
        for node, value in zip(arguments.node.items, values, strict=False):
            # What the function makes itself, under the name of its argument, has a rank.
            if not isinstance(node, Name) or node.id not in names or not isinstance(value, Tensor):
                continue
            if value.made is None or outer in value.made.scopes or value.of_all is not None:
                continue
            report(
                arguments.site.span,
                f"the `input_signature` gives `{node.id}` no rank, and `{computation.kind}` takes"
                " no tensor of unknown rank: name its dimensions in the signature, with None for"
                " those that change",
                certainty=definite_if(
                    computation.certainty is Certainty.DEFINITE, not computation.context.is_guess
                ),
                trace=(traces.host_step(outer.site, "calls the function"),),
            )


def without_rank(function: Function) -> set[str]:
    """Return the parameters for which a decorator's `input_signature` has `TensorSpec(None)`."""
    names = [name for name, _ in function.code.parameters.by_position]
    open_names: set[str] = set()
    for signature in input_signatures(function):
        if isinstance(signature, Display) and len(signature.items) <= len(names):
            # The first one of a method is the object.
            paired = zip(reversed(names), reversed(signature.items), strict=False)
            open_names.update(name for name, spec in paired if is_of_any_rank(spec))
    return open_names


def is_of_any_rank(spec: Expression) -> bool:
    if not isinstance(spec, CallNode) or last_name(spec.callee) != "TensorSpec":
        return False
    shapes = [it.value for it in spec.arguments if it.keyword == "shape"]
    shapes += [it.value for it in spec.arguments[:1] if it.keyword is None and not it.star]
    return any(isinstance(shape, Constant) and shape.value is None for shape in shapes)


def is_mode_run(program: Program, computation: Computation, context: Context) -> bool:
    """Return whether what a test of the mode leads to runs on the TPU, as far as is seen."""
    return not asks_about(context, naming.MODE) or any(
        feed.kind == "predict"
        and feed.owner is computation.call.result
        and feed.context.reached_whenever(computation.call.context)
        for feed in program.feeds
    )


# tensorflow/compiler/tf2xla/kernels: shape_op.cc (Squeeze), conv_op_helpers.cc.
def _check_bounded(program: Program, report: Report) -> None:
    """Check what XLA refuses although it knows a bound of the shape, or all of it but one size."""
    for computation, call in device_calls(program):
        if not call.path.startswith(TENSORFLOW) and not isinstance(call.receiver, Variable):
            continue
        fault = ""
        if call.last == "squeeze" and squeezes_any(program, call):
            fault = (
                "`squeeze` looks at all dimensions, and one of them depends on data, which XLA"
                " refuses: name the `axis`"
            )
        elif call.last == "assign" and makes_longer(program, call):
            fault = (
                "each step makes this variable longer, but a compiled step cannot change the shape"
                " of a variable: make it as long as it becomes, and write into it"
            )
        elif call.last == "bincount" and counts_any(call):
            fault = (
                "the largest value decides how many counts `bincount` returns, but that must be"
                " known when the computation is compiled: pass `minlength` and `maxlength`, both"
                " the same number"
            )
        elif call.last in TRANSPOSED:
            shape = call.value("output_shape", 2)
            if isinstance(shape, Sequence) and Const(-1) in shape.items:
                fault = (
                    f"the `output_shape` of `{call.last}` has a -1, but must be known when the"
                    " computation is compiled: write its size"
                )
        if fault:
            report(
                call.site.span,
                fault,
                **compiled_at(program, computation, call, "is not compiled"),
            )


def squeezes_any(program: Program, call: ApiCall) -> bool:
    """Return whether no axis is named, and the tensor is what was found in data."""
    axis = call.value("axis", 1) or call.value("squeeze_dims")
    taken = call.value("input", 0)
    if taken is None or axis not in (None, NONE):
        return False
    makers = program.by_result.get(id(taken), ())
    return any(finds_places(maker) for maker in makers if maker.path.startswith("tensorflow."))


def finds_places(call: ApiCall) -> bool:
    """Return whether it gives what is true; `tf.where` does with nothing but a condition."""
    keywords = [argument.keyword for argument in call.arguments if argument.keyword != "name"]
    is_alone = keywords in ([None], ["condition"])
    return call.last == "boolean_mask" or (call.last in ("where", "where_v2") and is_alone)


# tensorflow/compiler/tf2xla/xla_resource.cc, `SetTypeAndShape`.
def makes_longer(program: Program, call: ApiCall) -> bool:
    """Return whether a variable is assigned all of its value and something behind or before it."""
    variable, value = call.receiver, call.value("value", 0)
    if value is None or not isinstance(variable, Variable):
        return False
    joined = [
        item
        for maker in program.by_result.get(id(value), ())
        if maker.last == "concat" and maker.path.startswith(TENSORFLOW)
        for item in mixable(maker)
    ]
    reads = [read for item in joined for read in program.by_result.get(id(item), ())]
    return any(it is variable for it in (*joined, *(read.receiver for read in reads)))


# tensorflow/python/ops/bincount_ops.py: min(maxlength, max(minlength, the largest value + 1)).
def counts_any(call: ApiCall) -> bool:
    """Return whether values of data decide how many there are to count."""
    counted = call.value("arr", 0) or call.value("values", 0)
    limits = [call.value("minlength", 2) or NONE, call.value("maxlength", 3) or NONE]
    if counted is None or not is_data(counted):
        return False
    if NONE in limits:
        return True
    least, most = (limit.value if isinstance(limit, Const) else None for limit in limits)
    return isinstance(least, int) and isinstance(most, int) and least < most


def _shapes_of_branches(call: ApiCall) -> list[tuple[int | None, ...]]:
    """Return the shapes that two branches give, where both are seen."""
    is_traced = isinstance(call.value("pred", 0), Tensor)
    outputs = [output for output in call.result.options if isinstance(output, Tensor)]
    shapes = [output.shape for output in outputs if output.shape is not None]
    are_two = len(call.result.options) == 2 and len(shapes) == 2
    is_open = any(None in shape for shape in shapes)
    return shapes if is_traced and are_two and not is_open else []


def _loop_sources(program: Program) -> set[Site]:
    """Return the places of what loops run over; `for i in tf.range(n)` loops without a range."""
    places = {
        part.context.scopes
        for computation in program.computations
        for parts in (computation.calls, computation.accesses, computation.operations)
        for part in parts
    }
    return {
        site
        for scopes in places
        for scope in scopes.since(COMPUTATION)
        if scope.kind == WHILE and (site := getattr(scope.payload, "site", None)) is not None
    }


def needs_constants(call: ApiCall) -> bool:
    """Return whether it is TensorFlow's operation of that name, and no other's method."""
    if call.last not in CONSTANTS or ".initializers" in call.path:
        return False
    # Methods of NumPy and of projects have the same names.
    is_tensorflows = call.path.startswith(TENSORFLOW) or ".compat." in call.path
    return is_tensorflows and (call.last not in LIKE_IMAGES or ".image" in call.path)


def dynamic_arguments(call: ApiCall) -> Iterator[tuple[Argument, str]]:
    """Yield the arguments that must be constant and are not, with what they are."""
    for keyword, position in CONSTANTS[call.last]:
        argument = call.argument(keyword, position)
        if argument is not None and argument.value != NONE:
            if is_data(argument.value):
                # The only argument of `tf.range` is its limit.
                is_limit = keyword == "start" and len(call.arguments) == 1
                yield argument, f"`{'limit' if is_limit else keyword}`"
        elif call.last in LARGEST:
            name, what = LARGEST[call.last]
            taken = call.argument(name, 0)
            if taken is not None and is_data(taken.value):
                yield taken, what
