"""The results that the user holds: their marked nodes, their gradients, and what is no result."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import UnfetchableError, as_fault
from tpulint.runtime.extract.region import skip_identities, sources_of
from tpulint.runtime.mark.marked import Marked, is_marked
from tpulint.runtime.tensorflow_internals import gradients, graphs, operations, patching
from tpulint.runtime.tensorflow_internals.tracebacks import InaccessibleTensorError, frames_hidden

_of_eager: dict[int, Any] = {}
"""By the id of an eager value that lives; in TensorFlow 2.12 its attributes would never go."""
_OF_GRAPH = "_tpulint_marked_results"


def register_result(executable: Any, twin: Any) -> Any:
    """Return `executable`, which the user gets, noted as what replaces the marked `twin`."""
    if isinstance(executable, graphs.EagerTensor):
        _of_eager[id(executable)] = twin
        # At exit nobody asks any more.
        weakref.finalize(executable, _of_eager.pop, id(executable), None).atexit = False
    else:
        patching.set_default(executable.graph, _OF_GRAPH, {})[executable.name] = twin
    return executable


def counterparts_in(graph: Any) -> dict[str, Any]:
    """Return by name the marked nodes that tensors and operations of `graph` stand for."""
    counterparts: dict[str, Any] = getattr(graph, _OF_GRAPH, {})
    return counterparts


def nodes_without_kernel(graph: Any) -> set[Any]:
    """Return the marked nodes that `graph` itself holds; none where other nodes use them.

    Those others cannot run either, and TensorFlow must be able to say so.
    """
    twins = (twin for twin in counterparts_in(graph).values() if twin.graph is graph)
    nodes = {getattr(twin, "op", twin) for twin in twins}
    if not nodes:
        return nodes
    ops = graph.get_operations()
    nodes |= {op for op in ops if is_marked(op)}
    is_used = any(op not in nodes and not nodes.isdisjoint(sources_of(op)) for op in ops)
    return set() if is_used else nodes


_made = threading.local()
"""The graph of the Defun that a thread makes now: the C function that follows does not name it."""
_WITHOUT_MARKED = "functions made by Defun leave out the marked nodes, which have no kernel"


@patching.patch("tensorflow.python.framework.function.func_graph_from_py_func", why=_WITHOUT_MARKED)
def _build_defun(build: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    _made.graph = build(*args, **kwargs)
    return _made.graph


@patching.after_install
def _note_open_defun() -> None:
    """Note the graph of the Defun that this thread makes now, whose beginning was not replaced."""
    _made.graph = tf.compat.v1.get_default_graph()


@patching.patch_value("tensorflow.python.framework.function.c_api", why=_WITHOUT_MARKED)
def _leave_out_marked(library: Any) -> patching.Changed:
    # A function runs all of its operations that have an effect, also those that nothing needs.
    make = library.TF_GraphToFunction_wrapper

    def make_function(c_graph: Any, name: Any, append_hash: Any, ops: Any, *args: Any) -> Any:
        if ops is None:
            ops = _runnable(_made.graph)
        return make(c_graph, name, append_hash, ops, *args)

    return patching.Changed(library, TF_GraphToFunction_wrapper=make_function)


def _runnable(graph: Any) -> list[Any] | None:
    """Return the C operations of `graph` without those that cannot run, or None for all."""
    left_out = nodes_without_kernel(graph)
    if not left_out or any(tensor.op in left_out for tensor in graph.outputs):
        return None
    left_out |= {tensor.op for tensor in graph.inputs}
    return [op._c_op for op in graph.get_operations() if op not in left_out]


def marked_graph(outputs: Any) -> Any:
    """Return the `tf.Graph` that holds the marked nodes of a TPU computation.

    `outputs` is what `replicate` or one of its family returned (any part of it), or a
    `tf.function`'s ConcreteFunction, or a graph, in which a computation was built. In a plain
    graph the marked nodes are in the user's own graph; in a function, and for an eager call,
    they have a graph of their own.

    Raises:
        ValueError: nothing in `outputs` comes from a TPU computation.
    """
    for value in tf.nest.flatten(outputs, expand_composites=True):
        if isinstance(value, graphs.EagerTensor):
            twin = _of_eager.get(id(value))
        elif isinstance(value, (tf.Operation, tf.Tensor)):
            twin = counterparts_in(value.graph).get(value.name)
        else:
            graph = value if isinstance(value, tf.Graph) else getattr(value, "graph", None)
            twin = next(iter(counterparts_in(graph).values()), None)
        if twin is not None:
            return twin.graph
    raise ValueError(
        "no output of a TPU computation is among these values; of a tf.function, give the "
        "ConcreteFunction that was built"
    )


_GUARDED = "_tpulint_guards_fetches"


def guard_fetches(graph: Any) -> None:
    """Note that the operations of `graph` that cannot be fetched are those of computations."""
    setattr(graph, _GUARDED, True)


@patching.patch_value(
    "tensorflow.python.framework.ops.Graph.is_fetchable",
    why="a fetch of what a computation has not returned raises an error that names the rule",
)
def _check_fetches(original: Callable[..., bool]) -> Callable[..., bool]:
    @frames_hidden
    def is_fetchable(graph: Any, tensor_or_op: Any) -> bool:
        if original(graph, tensor_or_op):
            return True
        if getattr(graph, _GUARDED, False):
            error = InaccessibleTensorError(
                f"Operation {tensor_or_op.name} has been marked as not fetchable. Typically this "
                "happens when it is defined in another function or code block. Use return values, "
                "explicit Python locals or TensorFlow collections to access it."
            )
            raise as_fault(UnfetchableError, error)
        return False

    return is_fetchable


_GRADIENT = "TpulintReplicatedOutput"
_OUTPUT = "_tpulint_output"
_MESSAGE = (
    "No gradient defined for operation'{}' (op type: TPUReplicatedOutput). In general every "
    "operation must have an associated `@tf.RegisterGradient` for correct autodiff, which this "
    "op is lacking. If you want to pretend this operation is a constant in your program, you "
    "may insert `tf.stop_gradient`. This can be useful to silence the error in cases where you "
    "know gradients are not needed, e.g. the forward pass of tf.custom_gradient. Please see "
    "more details in https://www.tensorflow.org/api_docs/python/tf/custom_gradient."
)


def refuse_gradients(
    executed: tuple[tuple[Any, ...], ...], marked: Marked, marked_results: list[list[Any]]
) -> list[list[Any]]:
    """Return the results `executed[replica][output]`, as the user gets them.

    A gradient by a source of the marked output is a LookupError, with `tf.gradients` and with a
    tape; by anything else it is None. `marked_results` are the marked results.
    """
    results: list[list[Any]] = [[] for _ in executed]
    for number, output in enumerate(marked.replicated_outputs):
        # They pass through one operation, as through the marked `output`.
        with graphs.default_graph().gradient_override_map({"IdentityN": _GRADIENT}):
            tensors = tf.identity_n([replica[number] for replica in executed])
        operations.set_attr(tensors[0].op, _OUTPUT, output.name)
        gradients.redirect_gradient_search(tensors[0].op, output)
        for replica, tensor in enumerate(tensors):
            result = tf.identity(tensor, name=f"output_{number}_shard_{replica}")
            result.set_shape(marked_results[replica][number].shape)
            results[replica].append(result)
    if gradients.is_recording():
        for executed_result, marked_result in zip(results, marked_results, strict=True):
            gradients.pass_gradients_through(executed_result, marked_result)
    return results


def refuse_gradients_of_value(value: Any, symbol: Any) -> None:
    """Do the same for the eager `value` of the result `symbol` of a traced call."""
    if gradients.is_recording() and value.dtype.is_floating:
        message = _refusal(skip_identities(symbol).op)

        def refuse(*_: Any) -> None:
            raise LookupError(message)

        gradients.refuse_on_tapes(value, symbol, refuse)


@tf.RegisterGradient(_GRADIENT)  # type: ignore[untyped-decorator]
def _gradient(op: Any, *_: Any) -> None:
    raise LookupError(_refusal(op))


def _refusal(op: Any) -> str:
    return _MESSAGE.format(op.get_attr(_OUTPUT).decode())
