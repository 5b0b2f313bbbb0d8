"""Calls that no other model answers: an operation of TensorFlow, an object, or unknown.

Here are also the facts of `calls.toml`, and tensors whose dtype and shape are in the source.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from tpulint.absint.domain.context import CALLED, ConditionKey
from tpulint.absint.domain.events import ApiCall, Arguments, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Instance, Sequence, TraceTimeValue
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import all_tensors, is_scalar, of_scalars, uniform
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Const, External, Value
from tpulint.absint.interpreter import calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import OUTSIDE, UNKNOWN_FUNCTION, UNREAD, Certainty
from tpulint.frontends.tensorflow import keras_models, shapes
from tpulint.frontends.tensorflow.hooks import Hooks, weights
from tpulint.frontends.tensorflow.keras_models import is_loss, reduction_of
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.operations import may_lack_kernel
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow, words
from tpulint.frontends.tensorflow.models import keras
from tpulint.frontends.tensorflow.models.table import CALLABLE, Call, arity, model, observe

# Why a call is not followed.
UNRESOLVED = ("nothing tells which function it is", UNKNOWN_FUNCTION)


def answer(call: Call) -> Value:
    """Return the result of a call that no model answers."""
    if isinstance(call.receiver, ExternalObject):
        return _of_object(call, call.receiver)
    if isinstance(call.receiver, TraceTimeValue):
        return call.receiver  # a method of an array or of a date gives another form of it
    if call.receiver is not None:
        note_method(call)
        return unseen(call)
    match result_kind(call.path):
        case "operation":
            return call.operation("operation")
        case "object":
            return make_object(call)
        case "tensor":
            return make_tensor(call)
        case "unknown":
            return UNKNOWN
    note_outside(call.frame, call.path, call.values, call.site)
    return unseen(call)


@lru_cache(maxsize=4096)
def result_kind(path: str) -> str:
    """Return what a call of a dotted name that no model has returns, judged by its spelling."""
    name = path.rpartition(".")[2]
    is_own = is_tensorflow(path)
    if path.startswith("builtins."):
        return "object" if name[:1].isupper() else "unknown"  # exceptions
    if is_own and name.startswith("assert_"):
        return "operation"
    if name.lstrip("_")[:1].isupper() or naming.DATASET_MAKER.is_in(path):
        return "object"
    return "tensor" if is_own else "unseen"


@model("tf.stop_gradient")
def _stop_gradient(call: Call) -> Value:
    tensor = call.operation()
    tensor.trail = None  # the gradient does not run through a host cluster any more
    tensor.dtype = shapes.result_dtype(call.record)
    return tensor


@model("tf.Print", "tf.compat.v1.Print")
def _print(call: Call) -> Value:
    """Return the first argument, as TensorFlow 1 does."""
    tensor = make_tensor(call)
    if call.values:
        tensor.dtype, tensor.shape = shapes.described(call.values[0])
    return tensor


def make_tensor(call: Call, takes_shape: bool = False, is_ordered: bool = False) -> Tensor:
    """Build an operation of TensorFlow.

    takes_shape: it looks at the shape of what it takes, and not at its values. is_ordered: it has
    an effect and no resource, so a tf.function runs it in program order.
    """
    _call_arguments(call)
    tensor = call.operation()
    is_random = naming.RANDOM.is_in(call.path)
    if tensor.operation is not None:
        tensor.operation.ordered = is_ordered
    computation = call.frame.context.computation
    # One program has one shape on all replicas; of a TPUStrategy, a last batch may be smaller.
    has_equal_shapes = computation is not None and computation.kind not in tf_names.STRATEGY_RUN
    tensor.uniform = not is_random and (uniform(call.values) or (takes_shape and has_equal_shapes))
    tensor.data = not takes_shape and (tensor.data or is_random)
    tensor.split = tensor.split and not takes_shape
    first = call.values[0] if len(call.values) == 1 and call.name in UNARY else None
    kept = first.shape if isinstance(first, Tensor) and is_tensorflow(call.path) else None
    tensor.shape = () if gives_scalar(call.record) else kept
    tensor.single = shapes.gives_one_tensor(call.path)
    tensor.dtype = shapes.result_dtype(call.record)
    return tensor


def make_object(call: Call) -> Value:
    """Return an object of an outside class. What it is given it may keep."""
    transfer.touch(call.frame, call.values, call.site, call.name, Certainty.POSSIBLE, "unknown")
    return call.new_object()


def _call_arguments(call: Call) -> None:
    """Call the functions that an operation without a model is given: it may, on tensors.

    What the device was to run as Python is never traced: the operation itself is what fails there
    (TPU501).
    """
    if call.name in tf_names.PYTHON_IN_GRAPH and call.frame.context.on_device:
        return
    for value in call.values:
        if isinstance(value, CALLABLE) and not _may_be_data(value):
            with call.frame.when(ConditionKey(CALLED, call.site), True):
                element = Tensor(call.frame.context, call.site, "structure")
                call.call_with(value, *[element] * arity(value))


def _may_be_data(value: Value) -> bool:
    """Return whether it is an attribute of an outside object: `flags.batch_size` is no function."""
    if not isinstance(value, Bound) or not isinstance(value.function, External):
        return False
    owner = value.receiver
    return not isinstance(owner, ExternalObject) or not is_tensorflow(owner.path)


def run_given(call: Call) -> Value:
    """Call the function of `assertRaises(error, function, *arguments)`."""
    for position, value in enumerate(call.values):
        if isinstance(value, CALLABLE):
            calls.call(call.frame, value, call.arguments[position + 1 :], call.site)
    return UNKNOWN


@model("?.__call__")
def _call_layer(call: Call) -> Value | None:
    """Model `super().__call__(...)` in a layer of the project, which calls its `call`."""
    if not isinstance(call.receiver, Instance):
        return None
    return call.frame.library.call_instance(call.frame, call.receiver, call.arguments, call.site)


def _of_object(call: Call, receiver: ExternalObject) -> Value:
    """Call a method of an outside object: a layer reads its weights, a dataset gives another."""
    if call.name in tf_names.METRIC_METHODS and ".metrics." in receiver.path:
        mode = tf_names.METRIC_METHODS[call.name]
        transfer.access(call.frame, weights(receiver), mode, call.name, call.site)
        if call.name == "result" and call.frame.context.on_device:
            tensor = transfer.result(call.frame, [], call.site)
            tensor.data = tensor.per_replica = True
            return tensor
    note_outside(call.frame, f"{receiver.path}.{call.name}", call.values, call.site)
    certainty = Certainty.DEFINITE if is_tensorflow(receiver.path) else Certainty.POSSIBLE
    transfer.touch(call.frame, call.values, call.site, call.name, certainty, "unknown")
    if all_tensors(call.values):
        if call.name in ("call", "__call__", "apply"):
            return call_object(call.frame, receiver, call.arguments, call.site)
        return transfer.result(call.frame, call.values, call.site, "unseen")
    return ExternalObject(f"{receiver.path}.{call.name}", call.site, call.frame.context)


def call_object(frame: Frame, callee: ExternalObject, args: Arguments, site: Site) -> Value:
    """Call an outside object: a layer reads its weights and gives a tensor."""
    frame.count_possible_operation()
    items = [argument.value for argument in args]
    note_outside(frame, callee.path, items, site)
    transfer.touch(frame, items, site, callee.last)
    owned = weights(callee)
    if owned.sort == "weights":
        if ".metrics." in callee.path:  # keras/src/metrics/metric.py: `__call__` updates it
            transfer.access(frame, owned, "write", "update_state", site)
        transfer.access(frame, owned, "read", callee.last, site)
        if callee.last in tf_names.LAYERS_WITH_AVERAGES:
            keras_models.note_averages(frame, callee, args, owned, site)
    layer_result = keras.call_layer(frame, callee, args, site)
    if layer_result is not None:
        return layer_result
    tensor = transfer.result(frame, items, site)
    if tensor.operation is not None and callee.callee is not None and callee.last.islower():
        tensor.operation.unseen = True  # what a function of a skipped module has returned
    is_casting = "keras" in callee.path and callee.last in tf_names.COMPUTING_LAYERS
    has_policy = isinstance(frame.library, Hooks) and frame.library.has_policy
    if is_casting and has_policy and not keras_models.may_have_own_dtype(callee):
        tensor.dtype = tf_names.COMPUTE_DTYPE
    if is_loss(callee):
        tensor.shape = () if reduction_of(callee) in ("sum", "mean") else None
    takes_text = any(taken.dtype == "string" for taken in all_tensors(items))
    path = f"{callee.path}.__call__"
    # Rules ask how a loss reduces, what a layer builds, and what takes a text.
    is_asked_for = takes_text or is_loss(callee) or may_lack_kernel(path)
    if is_asked_for and frame.recorded is not None:
        frame.recorded.calls.append(ApiCall(path, site, frame.context, args, callee, tensor))
    return keras_models.noted(frame, callee, args, site, tensor)


@observe(*(f"?.{name}" for name in tf_names.SETS_POLICY))
def _note_policy(call: Call) -> None:
    if isinstance(call.frame.library, Hooks):
        call.frame.library.has_policy = True


@observe("keras.layers.Layer.__init__", "keras.Model.__init__")
def _note_dtype(call: Call) -> None:
    """Note the dtype of `super().__init__(dtype=...)` in a class of layers."""
    if isinstance(call.receiver, Instance):
        keras_models.note_dtype(call.receiver, call.arguments)


def unseen(call: Call) -> Value:
    """Call something that is not seen: tensors may go in, and a tensor may come out."""
    values = call.values
    transfer.touch(call.frame, values, call.site, call.name, Certainty.POSSIBLE, "unknown")
    if all_tensors(values):
        return transfer.result(call.frame, values, call.site, "unseen")
    if any(isinstance(it, ExternalObject) and it.last.endswith("Optimizer") for it in values):
        return make_object(call)  # a wrapper of what it is given, by all that is seen of it
    return UNKNOWN


# Roots of names whose code no program expects to be followed.
NOT_FOLLOWED = tf_names.BUILDS_NOTHING | tf_names.KERAS_PACKAGES


def note_outside(frame: Frame, path: str, values: Iterable[Value], site: Site) -> None:
    """Note that device code hands tensors to a function that is not in the project."""
    if not frame.context.on_device:
        return
    root = path.lstrip(".").partition(".")[0]
    if not root or root in NOT_FOLLOWED or is_tensorflow(path):
        return
    if path[0] == "." or frame.session.project.files.locate(frame.module.path, root, 0):
        transfer.note_unread(frame, path, "its module was not read", UNREAD, values, site)
    else:
        transfer.note_unread(frame, path, f"`{root}` is not in the project", OUTSIDE, values, site)


# Methods of Python's types and of TensorFlow's classes: the project need not define them.
OWN_METHODS = frozenset().union(
    *map(dir, (dict, list, str)),
    tf_names.VARIABLE_METHODS,
    tf_names.OPTIMIZER_UPDATES,
    tf_names.METRIC_METHODS,
    ("get_scaled_loss", "get_unscaled_gradients"),
)
OF_BASES = ("call", "build")  # `super().call(...)`: the class in the project has none of its own


def note_method(call: Call) -> None:
    """Note that device code hands tensors to a method, or a function in an attribute, not seen."""
    of_class = isinstance(call.receiver, (Instance, Bound)) and call.name not in OF_BASES
    if (of_class or call.receiver is UNKNOWN) and call.name not in OWN_METHODS:
        name = call.name.lstrip("?.")
        transfer.note_unread(call.frame, name, *UNRESOLVED, call.values, call.site)


FILLED = frozenset(["fill", "zeros", "ones", "zeros_like", "ones_like"])
COPIES = frozenset(["identity", "convert_to_tensor", "cast"])
OF_SHAPES = frozenset(["zeros_like", "ones_like"])


def _make_constant(call: Call, dtype: str | None, shape: shapes.Shape | None) -> Tensor:
    tensor = call.operation()
    tensor.dtype, tensor.shape = dtype, shape
    varies = naming.RANDOM.is_in(call.path) or call.name.startswith("placeholder")
    # Of a range, a size that is not seen is a setting: else it were a tensor.
    values = [value for value in call.values if call.name != "range" or value is not UNKNOWN]
    tensor.uniform = not varies and uniform(values)
    first = call.values[0] if call.arguments else NONE
    is_copy = call.name in COPIES and isinstance(first, Tensor) and first.filled
    tensor.filled = call.name in FILLED or is_copy
    tensor.data = call.name not in OF_SHAPES and (tensor.data or varies)
    tensor.split = tensor.split and call.name not in OF_SHAPES
    return tensor


# tensorflow/python/framework/constant_op.py, ops/array_ops.py, random_ops.py: where the positions
# of `dtype` and `shape` are.
@model("tf.constant")
def _constant(call: Call) -> Value:
    dtype, shape = shapes.described(call.get("value", 0) or NONE)
    wanted = call.get("shape", 2)
    if wanted not in (None, NONE):
        shape = shapes.shape_of(wanted)
    return _make_constant(call, _dtype(call, 1, dtype), shape)


@model("tf.zeros", "tf.ones", "tf.random.uniform", "tf.random.normal", "tf.random.truncated_normal")
@model(
    *(f"tf.compat.v1.{name}" for name in ("random_uniform", "random_normal", "truncated_normal"))
)
def _make_by_shape(call: Call) -> Value:
    dtype = _dtype(call, 1 if call.name in FILLED else 3, "float32")
    return _make_constant(call, dtype, shapes.shape_of(call.get("shape", 0)))


@model("tf.fill")
def _fill(call: Call) -> Value:
    dtype = shapes.described(call.get("value", 1) or NONE)[0]
    return _make_constant(call, dtype, shapes.shape_of(call.get("dims", 0)))


@model("tf.compat.v1.placeholder")
def _placeholder(call: Call) -> Value:
    dtype = shapes.dtype_of(call.get("dtype", 0))
    return _make_constant(call, dtype, shapes.shape_of(call.get("shape", 1)))


@model("tf.compat.v1.placeholder_with_default")
def _placeholder_with_default(call: Call) -> Value:
    dtype = shapes.described(call.get("input", 0) or NONE)[0]
    return _make_constant(call, dtype, shapes.shape_of(call.get("shape", 1)))


@model("tf.zeros_like", "tf.ones_like", "tf.identity", "tf.convert_to_tensor", "tf.cast")
def _like(call: Call) -> Value:
    dtype, shape = shapes.described(call.values[0] if call.arguments else NONE)
    return _make_constant(call, _dtype(call, 1, dtype), shape)


@model("tf.range")
def _range(call: Call) -> Value:
    bounds = [it.value for it in call.arguments if it.keyword not in ("dtype", "name")]
    numbers = {shapes.described(bound)[0] for bound in bounds[:3]}
    # One float makes all of them floats.
    dtype = "float32" if numbers == {"int32", "float32"} else None
    if len(numbers) == 1:
        dtype = numbers.pop()
    return _make_constant(call, _dtype(call, 3, dtype), (None,))


def _dtype(call: Call, position: int, default: str | None) -> str | None:
    dtype = call.get("dtype", position)
    return default if dtype in (None, NONE) else shapes.dtype_of(dtype)


# tensorflow/python/eager/backprop.py: a tensor for one source, else what `sources` looks like.
@model("tf.GradientTape.gradient")
def _gradient(call: Call) -> Value | None:
    if not all_tensors(call.values):
        return None
    transfer.touch(call.frame, call.values, call.site, call.name, Certainty.POSSIBLE, "unknown")
    sort = "tensor" if isinstance(call.get("sources", 1), (Tensor, Variable)) else "structure"
    gradients = transfer.result(call.frame, call.values, call.site, sort)
    gradients.data = True
    return gradients


# `tf.nest`: it asks for the structure of an argument, and takes no tensor of it


@model("tf.nest.pack_sequence_as")
def _pack_sequence_as(call: Call) -> Value:
    structure = call.get("structure", 0) or UNKNOWN
    flat = call.get("flat_sequence", 1) or UNKNOWN

    def part(_: Value) -> Value:
        """Return a part of what is packed, of which nothing tells which it is."""
        transfer.touch(call.frame, [flat], call.site, call.name)
        return transfer.result(call.frame, [flat], call.site, "structure")

    return transfer.each_tensor(structure, part) if all_tensors([structure]) else part(flat)


# Methods of tensors

CHANGES_OF_DICTS = frozenset(["update", "setdefault"])
OF_DICTS = frozenset(["get", "pop", "values", "keys", "items", "copy"])


# tensorflow/python/framework/tensor.py
@model("tf.Tensor.*")
def _tensor_method(call: Call) -> Value:
    """Call a method of a tensor, an operation on it; of a structure of tensors, a part of it."""
    receiver = call.receiver
    assert isinstance(receiver, Tensor)
    if receiver.sort == "structure" or call.name in OF_DICTS:  # no tensor has such methods
        if call.name == "items":  # its keys are no tensors
            return Sequence("list", [Sequence("tuple", [UNKNOWN, replace(receiver)])], True)
        if call.name in OF_DICTS and call.name != "keys":
            return replace(receiver)
        if call.name in CHANGES_OF_DICTS:
            receiver.of_all = None  # one may be reduced
        return UNKNOWN
    values = [receiver, *call.values]
    transfer.touch(call.frame, values, call.site, call.name, Certainty.DEFINITE)
    return transfer.result(call.frame, values, call.site)


# Calls that certainly give scalars: reductions over everything, losses, decays. The facts:
# tensorflow/python/ops/math_ops.py (reductions), ops/losses/losses_impl.py (the losses of
# TensorFlow 1 reduce to one number unless told `Reduction.NONE`), training/learning_rate_decay.py.


REDUCTIONS = words("""
    reduce_mean reduce_sum reduce_max reduce_min reduce_prod reduce_all reduce_any reduce_logsumexp
""")
ALWAYS = words("l2_loss global_norm size rank trace")
LOSSES = words("""
    sparse_softmax_cross_entropy softmax_cross_entropy sigmoid_cross_entropy log_loss
    absolute_difference compute_weighted_loss mean_pairwise_squared_error hinge_loss cosine_distance
    get_total_loss get_regularization_loss
""")
LOSSES_OF_V1 = words("mean_squared_error huber_loss")
DECAYS = words("""
    exponential_decay polynomial_decay inverse_time_decay natural_exp_decay cosine_decay
    cosine_decay_restarts linear_cosine_decay noisy_linear_cosine_decay
""")
# Element by element: of scalars they make a scalar, and those with one tensor keep its shape.
UNARY = words("""
    square sqrt rsqrt exp log log1p abs negative sigmoid tanh softplus floor ceil round
    stop_gradient is_nan is_finite logical_not
""")
ELEMENTWISE = UNARY | words("""
    add subtract multiply divide maximum minimum add_n pow to_float logical_and logical_or truediv
    div div_no_nan realdiv to_int32 to_int64 to_double to_bfloat16 greater greater_equal less
    less_equal equal not_equal
""")
SELECTS = words("where where_v2 select")  # of three scalars


def gives_scalar(call: ApiCall) -> bool:
    """Return whether this operation of TensorFlow's certainly gives a scalar."""
    name = call.last
    if name in REDUCTIONS:
        return _reduces_all(call)
    if (name in LOSSES or name in LOSSES_OF_V1) and ".losses." in call.path:
        return _is_reduced_loss(call)
    if name in DECAYS and ".train." in call.path:
        step = call.argument("global_step", 1)
        return step is not None and is_scalar(step.value)
    if name in ELEMENTWISE:
        operands = [it.value for it in call.arguments if it.keyword in (None, "x", "y")]
        # `add_n` is given a list.
        rows = [value.items if isinstance(value, Sequence) else [value] for value in operands]
        return of_scalars(item for row in rows for item in row)
    if name in SELECTS:
        items = [argument.value for argument in call.arguments if argument.keyword != "name"]
        return len(items) == 3 and of_scalars(items)
    return name in ALWAYS and call.receiver is None


def _reduces_all(call: ApiCall) -> bool:
    """Return whether no axis is named, and the dimensions are not kept."""
    if any(argument.star for argument in call.arguments):
        return False
    for keyword, position in (("axis", 1), ("reduction_indices", None)):
        axis = call.argument(keyword, position)
        if axis is not None and axis.value != NONE:
            return False
    keeps_dimensions = call.argument("keepdims", 2) or call.argument("keep_dims")
    return keeps_dimensions is None or keeps_dimensions.value == Const(False)


def _is_reduced_loss(call: ApiCall) -> bool:
    """Return whether this is a loss of TensorFlow 1 with its own reduction."""
    if "keras" in call.path or (call.last in LOSSES_OF_V1 and ".v1." not in call.path):
        return False
    reduction = call.argument("reduction")
    if reduction is None:
        return not any(argument.star for argument in call.arguments)
    named = reduction.value
    return isinstance(named, External) and "Reduction." in named.path and named.last != "NONE"
