"""Operations, their attributes and inputs, and the stack they are made in."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals import graphs
from tpulint.runtime.tensorflow_internals.modules import (
    AutomaticControlDependencies,
    c_api,
    eager_context,
    kernels,
    tf2xla,
    tf_stack,
)
from tpulint.runtime.tensorflow_internals.patching import after_install, patch

Operation = Any
Tensor = Any

PYTHON_FUNCTIONS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
# They pass tensors into and out of branches and loops of TensorFlow 1.
PLUMBING = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})

_INDEPENDENT = "_tpulint_independent"
_DEPENDENCIES = "_tpulint_dependencies"
"""The attribute of a graph that was being traced at the first use: its automatic dependencies."""


def operations_of(graph: Any) -> list[Operation]:
    """Return the operations of `graph`, in the order in which they were made."""
    # In 2.12, a loop's condition holds some that do not know their own inputs (while_v2.py).
    return [op for op in graph.get_operations() if type(op).__name__ != "_OperationWithOutputs"]


def set_attr(op: Operation, name: str, value: Any) -> None:
    """Set the attribute `name` of `op` to the AttrValue `value`."""
    op._set_attr(name, value)


def exempt_from_grappler(op: Operation) -> None:
    """Let TensorFlow's optimizer of graphs (grappler) leave `op` as it is, and where it is.

    Where something waits for it alone, constant folding may move a constant beyond it, as in
    (x + 1) + 1, and leave a graph with a circle, of which nothing ever runs (seen with 2.21).
    """
    op._set_attr("_grappler_do_not_remove", tf.compat.v1.AttrValue(b=True))


def replace_control_inputs(op: Operation, control_inputs: list[Operation]) -> None:
    """Make `control_inputs` the only control inputs of `op`."""
    op._remove_all_control_inputs()
    op._add_control_inputs(control_inputs)


def add_control_inputs(op: Operation, earlier: Sequence[Operation]) -> None:
    """Make `op` wait for the operations `earlier` of its own graph."""
    op._add_control_inputs(list(earlier))


def update_input(op: Operation, index: int, tensor: Tensor) -> None:
    """Make `tensor` the data input `index` of `op`."""
    op._update_input(index, tensor)


def launch_with_xla(
    function: Any, constants: Sequence[Tensor], arguments: Sequence[Tensor], name: str
) -> list[Tensor]:
    """Return the results of `function`, compiled for the values of `constants` alone.

    A call of a function with `jit_compile` is compiled anew for each value of an argument that a
    kernel needs when it is compiled, such as a shape. A TPU's program is compiled before it has
    any value, and so is this one. The handles of variables are the last arguments.
    """
    dtypes = [argument.dtype for argument in arguments if argument.dtype != tf.resource]
    attrs = {
        "Tconstants": _types([constant.dtype for constant in constants]),
        "Targs": _types(dtypes),
        "Nresources": tf.compat.v1.AttrValue(i=len(arguments) - len(dtypes)),
        "Tresults": _types([output.dtype for output in function.outputs]),
    }
    return _call("XlaLaunch", function, [*constants, *arguments], name, attrs | _named(function))


def call_function(function: Any, arguments: Sequence[Tensor], name: str) -> list[Tensor]:
    """Return the results of `function`, run by TensorFlow's kernels."""
    attrs = {
        "Tin": _types([argument.dtype for argument in arguments]),
        "Tout": _types([output.dtype for output in function.outputs]),
    }
    attrs |= _named(function, "f")
    return _call("StatefulPartitionedCall", function, arguments, name, attrs)


def _call(
    kind: str, function: Any, arguments: Sequence[Tensor], name: str, attrs: dict[str, Any]
) -> list[Tensor]:
    graph = tf.compat.v1.get_default_graph()
    function.add_to_graph(graph)
    results = [output.dtype for output in function.outputs]
    operation = graph.create_op(kind, list(arguments), results, name=name, attrs=attrs)
    return list(operation.outputs)


def _named(function: Any, attr: str = "function") -> dict[str, Any]:
    return {attr: tf.compat.v1.AttrValue(func={"name": function.name})}


def can_be_compiled(
    function: Any, data: Sequence[tf.TensorSpec], variables: Sequence[tf.TensorSpec]
) -> bool:
    """Return whether XLA accepts `function`, which takes arguments `data` and then `variables`.

    It translates the function, which takes none of the minutes that its compiler may take.
    """
    with graphs.registered(function):
        text = _translate(function, data, variables, tf.zeros)
        # Where a shape must be known, this translation takes a variable's value for a constant,
        # which a step does not: then no operation takes the variable, and values make a difference.
        if text is None or _takes_all_arguments(text):
            return text is not None
        return text == _translate(function, data, variables, tf.ones)


def _takes_all_arguments(text: bytes) -> bool:
    """Return whether each argument of a computation in XLA's language has a user."""
    entry = text[text.rindex(b"ENTRY ") :]
    uses = Counter(re.findall(rb"%[\w.-]+", entry))
    arguments = re.findall(rb"(%[\w.-]+) = .* parameter\(\d+\)", entry)
    return bool(arguments) and all(uses[argument] > 1 for argument in arguments)


def _translate(
    function: Any,
    data: Sequence[tf.TensorSpec],
    variables: Sequence[tf.TensorSpec],
    fill: Callable[..., Tensor],
) -> bytes | None:
    """Return `function` in XLA's language, or None if XLA refuses it."""
    context = eager_context.context()
    options = {"platform_name": None} if _NAMES_PLATFORMS else {}
    with _filled_variables(variables, fill) as handles, contextlib.suppress(ValueError):
        text: bytes = context.get_compiler_ir(
            device_name=tf.constant(0).device,
            function_name=function.name,
            flat_args=list(data),
            captured_inputs=handles,
            stage="hlo",
            **options,
        )
        return text
    return None


# 2.12 knows devices only.
_NAMES_PLATFORMS = "platform_name" in signature(eager_context.Context.get_compiler_ir).parameters
_names = itertools.count()


@contextmanager
def _filled_variables(
    variables: Sequence[tf.TensorSpec], fill: Callable[..., Tensor]
) -> Iterator[list[Tensor]]:
    """Make `variables` for a translation: those of a session could not be reached."""
    handles = []
    for spec in variables:
        name = f"tpulint_check_{next(_names)}"
        handle = tf.raw_ops.VarHandleOp(dtype=spec.dtype, shape=spec.shape, shared_name=name)
        tf.raw_ops.AssignVariableOp(resource=handle, value=fill(spec.shape, spec.dtype))
        handles.append(handle)
    try:
        yield handles
    finally:
        for handle in handles:
            tf.raw_ops.DestroyResourceOp(resource=handle)


def pad_to_bound(tensor: Tensor, axis: int) -> Tensor:
    """Return `tensor`, in code that XLA compiles, padded along `axis` to the bound of its size."""
    return tf2xla.remove_dynamic_dimension_size(tensor, axis)


def _types(dtypes: Sequence[tf.DType]) -> Any:
    listed = tf.compat.v1.AttrValue.ListValue(type=[dtype.as_datatype_enum for dtype in dtypes])
    return tf.compat.v1.AttrValue(list=listed)


@functools.cache
def xla_compares_sizes() -> bool:
    """Return whether XLA for the CPU refuses two dynamic dimensions of separate sizes as unequal.

    Tried out, for it is XLA's own affair: 2.15 does so, 2.21 does not.
    """

    def with_size(size: Tensor) -> Tensor:
        return tf2xla.set_dynamic_dimension_size(tf.zeros([2]), 0, size)

    def added(a: Tensor, b: Tensor) -> Tensor:
        return tf.reduce_sum(with_size(a) + with_size(b))

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        sizes = [tf.constant(1), tf.constant(1)]
        result = tf.function(added, jit_compile=True, autograph=False)(*sizes)
        try:
            session.run(result)
        except tf.errors.InvalidArgumentError:
            return True
    return False


def current_stack() -> list[tuple[str, int]]:
    """Return (file, line) of each current frame, outermost first; AutoGraph's as the user's."""
    return [(frame.filename, frame.lineno) for frame in tf_stack.extract_stack()]


def set_original(image: Operation, original: Operation) -> None:
    """Make tpulint report `image`, a copy, as made where `original` was made."""
    graph = image.graph
    if not hasattr(graph, "_tpulint_originals"):
        graph._tpulint_originals = {}
    graph._tpulint_originals[image.name] = original


def registered_kernels() -> Iterable[Any]:
    """Return the KernelDefs of this process. XLA's are there once something has been compiled."""
    kernel_defs: Iterable[Any] = kernels.get_all_registered_kernels().kernel
    return kernel_defs


def name_of(operation: Any) -> str:
    """Return the name of a TF_Operation."""
    name: str = c_api.TF_OperationName(operation)
    return name


def runs_independently(op: Operation) -> None:
    """Keep functions from making `op` wait for earlier operations, as TensorFlow's enqueues."""
    dependencies = getattr(op.graph, _DEPENDENCIES, None)
    if dependencies is not None:
        dependencies.run_independently(op)
    if not hasattr(op.graph, _INDEPENDENT):
        setattr(op.graph, _INDEPENDENT, [])
    getattr(op.graph, _INDEPENDENT).append(op)


@patch(
    "tensorflow.python.framework.auto_control_deps.AutomaticControlDependencies.__exit__",
    why="an enqueue runs independently of earlier operations, whatever it is made of here",
)
def _exit_automatic_dependencies(original: Callable[..., Any], self: Any, *error: Any) -> Any:
    for op in getattr(self._graph, _INDEPENDENT, ()):
        self.run_independently(op)
    return original(self, *error)


@after_install
def _note_open_dependencies() -> None:
    """Note what adds the control inputs of the functions that this thread traces now.

    Their `with` statements have read the `__exit__` that is replaced above before it was.
    """
    frame = sys._getframe()
    while frame is not None:
        for value in frame.f_locals.values():
            if type(value) is AutomaticControlDependencies:
                setattr(value._graph, _DEPENDENCIES, value)
        frame = frame.f_back  # type: ignore[assignment]
