"""Operations, their attributes and inputs, and the stack they are made in."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from traceback import walk_stack
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals import graphs, modules
from tpulint.runtime.tensorflow_internals.patching import after_install, patch, set_default

Operation = Any
Tensor = Any

pad_to_bound = modules.tf2xla.remove_dynamic_dimension_size
"""Return a tensor, in code that XLA compiles, padded along an axis to the bound of its size."""
registered_kernels = modules.kernels.get_all_registered_kernels
"""Return the KernelDefs of this process. XLA's are there once something has been compiled."""
name_of = modules.c_api.TF_OperationName

PYTHON_FUNCTIONS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
# They pass tensors into and out of branches and loops of TensorFlow 1.
PLUMBING = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})

ORIGINALS = "_tpulint_originals"
"""The attribute of a graph: by the names of copies in it, the operations that the user made."""
_INDEPENDENT = "_tpulint_independent"
_DEPENDENCIES = "_tpulint_dependencies"
"""The attribute of a graph that was being traced at the first use: its automatic dependencies."""


def operations_of(graph: Any) -> list[Operation]:
    """Return the operations of `graph`, in the order in which they were made."""
    # In 2.12, a loop's condition holds some that do not know their own inputs (while_v2.py).
    return [op for op in graph.get_operations() if type(op).__name__ != "_OperationWithOutputs"]


def set_attr(op: Operation, name: str, value: str | bool | Sequence[str]) -> None:
    """Set the attribute `name` of `op`."""
    attr = tf.compat.v1.AttrValue()
    if isinstance(value, bool):
        attr.b = value
    elif isinstance(value, str):
        attr.s = value.encode()
    else:
        attr.list.s.extend(text.encode() for text in value)
    op._set_attr(name, attr)


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
        "function": tf.compat.v1.AttrValue(func={"name": function.name}),
    }
    return _call("XlaLaunch", function, [*constants, *arguments], name, attrs)


def call_function(function: Any, arguments: Sequence[Tensor], name: str) -> list[Tensor]:
    """Return the results of `function`, run by TensorFlow's kernels."""
    attrs = {
        "Tin": _types([argument.dtype for argument in arguments]),
        "Tout": _types([output.dtype for output in function.outputs]),
        "f": tf.compat.v1.AttrValue(func={"name": function.name}),
    }
    return _call("StatefulPartitionedCall", function, arguments, name, attrs)


def _call(
    kind: str, function: Any, arguments: Sequence[Tensor], name: str, attrs: dict[str, Any]
) -> list[Tensor]:
    graph = tf.compat.v1.get_default_graph()
    function.add_to_graph(graph)
    results = [output.dtype for output in function.outputs]
    operation = graph.create_op(kind, list(arguments), results, name=name, attrs=attrs)
    return list(operation.outputs)


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
    context = modules.eager_context.context()
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
_NAMES_PLATFORMS = (
    "platform_name" in signature(modules.eager_context.Context.get_compiler_ir).parameters
)
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


def _types(dtypes: Sequence[tf.DType]) -> Any:
    listed = tf.compat.v1.AttrValue.ListValue(type=[dtype.as_datatype_enum for dtype in dtypes])
    return tf.compat.v1.AttrValue(list=listed)


@functools.cache
def xla_compares_sizes() -> bool:
    """Return whether XLA for the CPU refuses two dynamic dimensions of separate sizes as unequal.

    Tried out, for it is XLA's own affair: 2.15 does so, 2.21 does not.
    """

    def with_size(size: Tensor) -> Tensor:
        return modules.tf2xla.set_dynamic_dimension_size(tf.zeros([2]), 0, size)

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
    return [(frame.filename, frame.lineno) for frame in modules.tf_stack.extract_stack()]


def runs_independently(op: Operation) -> None:
    """Keep functions from making `op` wait for earlier operations, as TensorFlow's enqueues."""
    dependencies = getattr(op.graph, _DEPENDENCIES, None)
    if dependencies is not None:
        dependencies.run_independently(op)
    set_default(op.graph, _INDEPENDENT, []).append(op)


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
    for frame, _ in walk_stack(sys._getframe()):
        for value in frame.f_locals.values():
            if type(value) is modules.AutomaticControlDependencies:
                setattr(value._graph, _DEPENDENCIES, value)
