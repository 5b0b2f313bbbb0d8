"""Graphs: those being built, what they capture, and the functions that they call and hold."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from traceback import walk_stack
from typing import Any, NamedTuple, TypeVar

import tensorflow as tf

from tpulint.ordering import reachable
from tpulint.runtime.tensorflow_internals import modules
from tpulint.runtime.tensorflow_internals.modules import random_seed as random_seed
from tpulint.runtime.tensorflow_internals.patching import (
    When,
    installed,
    patch_value,
    set_default,
    with_attributes,
)

Graph = Any
Tensor = Any
Operation = Any

# 2.12 has it in `ops`.
_handle_data = (
    getattr(modules.handle_data_util, "get_handle_data", None) or modules.ops.get_handle_data
)
FuncGraph = modules.func_graph.FuncGraph
EagerTensor = modules.ops.EagerTensor
DeviceSpec = modules.pydev.DeviceSpec
canonical_device = modules.device_util.canonicalize
copy_handle_data = modules.handle_data_util.copy_handle_data
default_graph = modules.ops.get_default_graph
eager_mode = modules.eager_context.eager_mode
without_colocation = functools.partial(modules.ops.colocate_with, None, ignore_existing=True)
ControlFlowContext = modules.control_flow_ops.ControlFlowContext
XLAControlFlowContext = modules.control_flow_ops.XLAControlFlowContext
shard_context = modules.tpu_function.tpu_shard_context
_Result = TypeVar("_Result")


def graphs_outwards(graph: Graph | None) -> Iterator[Graph]:
    """Yield `graph` and the graphs that it is nested in, innermost first."""
    while graph is not None:
        yield graph
        graph = getattr(graph, "outer_graph", None)


def cache_per_graph(function: Callable[[Graph], _Result]) -> Callable[[Graph], _Result]:
    """Make `function` keep its result in the graph that it gets: it goes when the graph goes."""

    @functools.wraps(function)
    def result(graph: Graph) -> _Result:
        results: dict[object, _Result] = set_default(graph, "_tpulint_kept", {})
        if function not in results:
            results[function] = function(graph)
        return results[function]

    return result


def add_automatic_dependencies(graph: Graph) -> None:
    """Add the control inputs that TensorFlow adds to the operations of a tf.function at its end.

    None are added where the FuncGraph `graph` is traced without them (`wrap_function`).
    """
    if not graph._add_control_dependencies:
        return
    with graph.as_default():
        dependencies = modules.AutomaticControlDependencies()
        dependencies._graph = graph
        # As if its `with` statement had begun before the first operation.
        dependencies._n_operations = 0
        dependencies.__exit__(None, None, None)


def variable_spec(handle: Tensor) -> tf.TensorSpec | None:
    """Return shape and dtype of the variable that `handle` is of; None if it is no variable's.

    The handles of tables, queues and iterators are resources, too, and have no data.
    """
    data = _handle_data(handle)
    if data is None or not data.is_set or not data.shape_and_type:
        return None
    variable = data.shape_and_type[0]
    return tf.TensorSpec(tf.TensorShape(variable.shape), tf.as_dtype(variable.dtype))


def is_symbolic_tensor(value: Any) -> bool:
    """Return whether `value` is a tensor of a graph."""
    return isinstance(value, tf.Tensor) and not isinstance(value, EagerTensor)


def register_replicate_context(context_class: type[Any]) -> None:
    """Make `isinstance(c, TPUReplicateContext)` in TensorFlow's own code accept `context_class`.

    TPUStrategy's variables find their context that way. TensorFlow's class is an ABC.
    """
    modules.tpu_replication.TPUReplicateContext.register(context_class)
    # In 2.12 there is a second class of that name.
    if hasattr(modules.tensorflow_tpu, "TPUReplicateContext"):
        modules.tensorflow_tpu.TPUReplicateContext.register(context_class)


def context_of(graph_or_op: Any) -> Any:
    """Return the control-flow context of a graph now, or in which an operation was made."""
    return graph_or_op._get_control_flow_context()


def contexts_outwards(context: Any) -> Iterator[Any]:
    """Yield `context` and the contexts around it in the same graph, innermost first."""
    while context is not None:
        yield context
        context = context.outer_context


def contexts_around() -> Iterator[Any]:
    """Yield the control-flow contexts around this place, past nested functions, innermost first."""
    for graph in graphs_outwards(default_graph()):
        yield from contexts_outwards(context_of(graph))


control_flow_v2 = functools.partial(installed, When.BUILDING)
"""Return a context in which `tf.cond` and `tf.while_loop` make operations of TensorFlow 2."""


@patch_value(
    "tensorflow.python.ops.control_flow_util.ENABLE_CONTROL_FLOW_V2",
    why="tf.cond and tf.while_loop make operations that hold functions, which can be cut",
    when=When.BUILDING,
)
def _enable_control_flow_v2(_: Any) -> bool:
    return True


def device_of_graph(graph: Graph) -> Any:
    """Return the DeviceSpec that an operation made now in `graph` would get."""
    probe = _DeviceProbe()
    graph._apply_device_functions(probe)
    return DeviceSpec.from_string(probe.device)


class _DeviceProbe:
    """The part of an operation that device functions use."""

    # A device function that tells variables from others looks at the type.
    type = "FakeOp"
    device = ""

    def _set_device(self, device: Any) -> None:
        self.device = device.to_string() if isinstance(device, DeviceSpec) else device

    def _set_device_from_string(self, device: str) -> None:
        self.device = device


def current_device() -> Any:
    """Return the DeviceSpec that an operation made now would get."""
    if tf.executing_eagerly():
        return DeviceSpec.from_string(modules.eager_context.context().device_name or "")
    graph = default_graph()
    # Colocation is stronger than a device scope.
    for op in graph._colocation_stack.peek_objs():
        if op.device:
            return DeviceSpec.from_string(op.device)
    return device_of_graph(graph)


@contextmanager
def without_device(name: str) -> Iterator[None]:
    """Make operations in the context without a device or colocation."""
    with tf.name_scope(name), tf.device(None), without_colocation():
        yield


def is_context_initialized() -> bool:
    """Return whether TensorFlow has set up its devices, after which they cannot be configured."""
    return bool(modules.eager_context.context()._initialized)


def without_callbacks() -> AbstractContextManager[None]:
    """Call no operation callback on what is built here: `enable_check_numerics` adds checks."""
    return with_attributes(modules.eager_context.context(), invoking_op_callbacks=True)


def function_graph(graph: Graph, name: str) -> Graph:
    """Return the FuncGraph of the function `name` that `graph`, or one around it, calls."""
    function, holder = _function(graph, name)
    if hasattr(function, "graph"):
        return function.graph
    # `Defun` keeps a definition only. Its graph is kept with the function, as what is derived of a
    # graph is kept with the graph.
    if not hasattr(function, "_tpulint_graph"):
        # The function may call others, which only the graph around it has.
        with holder.as_default():
            function._tpulint_graph = modules.function_def_to_graph.function_def_to_graph(
                function.definition
            )
    return function._tpulint_graph


def _function(graph: Graph, name: str) -> tuple[Any, Graph]:
    """Return the function `name`, and the graph that has it: `graph`, or one around it."""
    for holder in graphs_outwards(graph):
        function = holder._functions.get(name)
        if function is not None:
            return function, holder
    raise KeyError(name)


def is_function(graph: Graph, name: str) -> bool:
    """Return whether `name` is a function of `graph`, or of one around it.

    An operation whose type is a function's name calls it: so do the functions of `Defun`.
    """
    return not _is_operation(name) and any(
        name in holder._functions for holder in graphs_outwards(graph)
    )


@functools.cache
def _is_operation(name: str) -> bool:
    """Return whether TensorFlow has an operation `name`: then no function has that name."""
    return modules.op_def_registry.get(name) is not None


def functions_by_name(op: Any) -> dict[str, Graph]:
    """Return the FuncGraphs of the functions that `op` holds, by name."""
    names = _function_names(op.graph, op.node_def)
    return {name: function_graph(op.graph, name) for name in names}


def share_functions(source: Graph, nodes: Iterable[Any]) -> None:
    """Make the functions that the NodeDefs `nodes`, of `source`, call known in this graph."""
    target = default_graph()
    for node in nodes:
        for name in _function_names(source, node):
            if target._is_function(name):
                continue
            function, _ = _function(source, name)
            if hasattr(target, "_add_function_recursive"):
                target._add_function_recursive(function)
            else:  # 2.12
                function.add_to_graph(target)


def _function_names(graph: Graph, node: Any) -> list[str]:
    """Return the functions of `graph` that the NodeDef `node` calls or holds."""
    # TensorFlow 1 calls a function by an operation whose type is its name.
    return [*([node.op] if is_function(graph, node.op) else []), *_names_in_attributes(node)]


def _names_in_attributes(node: Any) -> Iterator[str]:
    for attr in node.attr.values():
        yield from (function.name for function in (*attr.list.func, attr.func) if function.name)


ON_OP_DEVICE = "_OutputsOnOpDevice"
MUST_COMPILE = "_XlaMustCompile"


def function_names(graph: Any) -> Iterable[str]:
    """Return the names of the functions that `graph` has, including those that these call."""
    return map(text_of, graph._functions)


def text_of(name: Any) -> str:
    """Return the name of a function, which some releases give as bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)


def wrap_function(traced: Callable[..., Any], dtypes: Sequence[tf.DType]) -> Callable[..., Any]:
    """Return the function that `traced` builds of tensors of `dtypes`, of any shapes.

    `wrap_function` registers each function that `traced` calls with the eager context once more,
    and never takes it out: it would stay there, as would all that was compiled of it. Here it goes
    with the graph of the function.
    """
    built = tf.compat.v1.wrap_function(traced, [tf.TensorSpec(None, dtype) for dtype in dtypes])
    context, names = modules.eager_context.context(), tuple(built.graph._functions)
    # Where the program resets the context, the names may be those of other functions.
    handle = id(context._context_handle)
    weakref.finalize(built.graph, _unregister, context, handle, names).atexit = False
    return built  # type: ignore[no-any-return]


def _unregister(context: Any, handle: int, names: Sequence[str]) -> None:
    """Take functions out of `context` once, unless it has been set up anew in between."""
    for name in names:
        if id(context._context_handle) == handle and context.has_function(name):
            context.remove_function(name)


@contextmanager
def registered(function: Any) -> Iterator[None]:
    """Let the eager context have the concrete function `function` and those that it calls."""
    context = modules.eager_context.context()
    called = function.graph._functions.values()
    added: list[str] = []
    for definition in [function.function_def, *(other.definition for other in called)]:
        name = definition.signature.name
        if not context.has_function(name):
            context.add_function_def(definition)
            added.append(name)
    try:
        yield
    finally:
        for name in added:
            context.remove_function(name)


_TRACES = modules.func_graph.func_graph_from_py_func.__code__
_LONGEST = 60


def traced_arguments() -> tuple[tuple[str, str], ...] | None:
    """Return names and descriptions of the arguments for which a tf.function is traced now.

    Of nested ones the outermost counts. None where none is traced. A tensor is described by its
    dtype and shape, a number of Python by its value: for each of them there is another trace.
    """
    traces = [frame for frame, _ in walk_stack(sys._getframe()) if frame.f_code is _TRACES]
    if not traces:
        return None
    local = traces[-1].f_locals
    arguments = local.get("func_args", local["args"]) or ()
    named = dict(local.get("func_kwargs", local["kwargs"]) or {})
    names = _parameter_names(local["python_func"], len(arguments))
    return tuple(
        (name, _describe(value)) for name, value in [*zip(names, arguments), *named.items()]
    )


def _parameter_names(function: Any, count: int) -> list[str]:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    names = [name for name in names if name != "self"] if len(names) != count else names
    return names if len(names) >= count else [f"argument {number}" for number in range(count)]


def _describe(value: Any) -> str:
    leaves = tf.nest.flatten(value, expand_composites=True)
    text = ", ".join(map(_describe_leaf, leaves))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _describe_leaf(value: Any) -> str:
    if tf.is_tensor(value):
        shape = value.shape
        sizes = "?" if shape.rank is None else ",".join(str(size or "?") for size in shape)
        return f"{value.dtype.name}[{sizes}]"
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if plain else type(value).__name__


TOKEN = "token"
"""The attribute of an operation that calls a Python function, by which that is found."""


class GraphContents(NamedTuple):
    """What a graph, and the functions that it calls, have in them."""

    tokens: frozenset[str]
    """The tokens of its Python functions."""
    waits_for_others: bool
    """Whether an operation may take its time without computing in this process."""


def contents_of_session(session: Any, names: Sequence[str] | None = None) -> GraphContents:
    """Return what the operations `names` of the graph of `session`, and those before them, have.

    Without `names` what the whole graph has.
    """
    graph = session.graph.as_graph_def()
    nodes = {node.name: node for node in graph.node}
    functions = {function.signature.name: function.node_def for function in graph.library.function}
    needed = nodes.values() if names is None else _needed(nodes, names)
    contents = _contents(needed, lambda name: functions.get(name, ()))
    # A session of another process may wait for anything there.
    return contents._replace(waits_for_others=True) if session._target else contents


def contents_of_function(name: str) -> GraphContents:
    """Return what the function `name` has, and those that it calls."""
    context = modules.eager_context.context()

    @functools.cache
    def nodes_of(function: str) -> Sequence[Any]:
        has = context.has_function(function)
        return context.get_function_def(function).node_def if has else ()

    contents = _contents(nodes_of(name), nodes_of)
    # Parts of the function may run on other machines.
    return contents._replace(waits_for_others=True) if context._server_def else contents


# They run a pipeline, which may read or sleep, read or write files, or ask other processes.
_WAITS_FOR_OTHERS = re.compile(
    "GetNext|ReduceDataset|SingleElement|File|^Reader|Restore|Save|Remote|Collective|Recv"
)
# On the operations of the emulator's own clock, which wait for nothing but time.
CLOCK = "_tpulint_clock"


def _contents(nodes: Iterable[Any], nodes_of: Callable[[str], Sequence[Any]]) -> GraphContents:
    nodes = list(nodes)
    called = reachable(_functions(nodes), lambda name: _functions(nodes_of(name)))
    nodes += [node for name in called for node in nodes_of(name)]
    return GraphContents(
        frozenset(node.attr[TOKEN].s.decode() for node in nodes if TOKEN in node.attr),
        any(CLOCK not in node.attr and _WAITS_FOR_OTHERS.search(node.op) for node in nodes),
    )


def _functions(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        yield node.op  # the name of a function, in calls of TensorFlow 1
        yield from _names_in_attributes(node)


def _needed(nodes: dict[str, Any], names: Sequence[str]) -> Iterator[Any]:
    """Yield the NodeDefs of `names` and of all that they need."""

    def inputs(name: str) -> set[str]:
        return {full.removeprefix("^").partition(":")[0] for full in nodes[name].input}

    return (nodes[name] for name in reachable(names, inputs))
