"""The only file that imports TensorFlow's private modules.

Where they differ between the supported releases (2.12 to the newest), the difference ends here.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla as tf2xla
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.autograph.core import config as autograph_config
from tensorflow.python.client import session
from tensorflow.python.compiler.xla import xla
from tensorflow.python.distribute import device_util
from tensorflow.python.eager import context as eager_context
from tensorflow.python.framework import (
    composite_tensor,
    errors_impl,
    func_graph,
    kernels,
    ops,
)
from tensorflow.python.framework import device as pydev
from tensorflow.python.framework import random_seed as random_seed
from tensorflow.python.ops import (
    control_flow_ops,
    control_flow_util,
    handle_data_util,
    script_ops,
    variable_scope,
)
from tensorflow.python.tpu import tpu as tensorflow_tpu
from tensorflow.python.tpu import tpu_function, tpu_name_util, tpu_replication
from tensorflow.python.tpu import training_loop as training_loop
from tensorflow.python.tpu.ops import tpu_ops as tpu_ops
from tensorflow.python.util import nest as nest
from tensorflow.python.util import tf_stack, variable_utils

try:
    from tensorflow.python.eager import record as tape
except ImportError:  # 2.12
    from tensorflow.python.eager import tape

Graph = Any
Operation = Any
Tensor = Any

CompositeTensor = composite_tensor.CompositeTensor
ControlFlowContext = control_flow_ops.ControlFlowContext
XLAControlFlowContext = control_flow_ops.XLAControlFlowContext
DeviceSpec = pydev.DeviceSpec
InaccessibleTensorError = errors_impl.InaccessibleTensorError
FuncGraph = func_graph.FuncGraph
canonical_device = device_util.canonicalize
check_function_argument_count = xla.check_function_argument_count
convert_variables_to_tensors = variable_utils.convert_variables_to_tensors
core = tpu_name_util.core
current_variable_scope = variable_scope.get_variable_scope
is_flat = xla.is_flat
set_dynamic_dimension_size = tf2xla.set_dynamic_dimension_size
shard_context = tpu_function.tpu_shard_context
XLAOptions = tensorflow_tpu.XLAOptions


def stands_in_for_tensorflows_context(context_class: type[Any]) -> None:
    """Make `isinstance(c, TPUReplicateContext)` in TensorFlow's own code accept `context_class`.

    TPUStrategy's variables find their context that way. TensorFlow's class is an ABC.
    """
    tpu_replication.TPUReplicateContext.register(context_class)
    if hasattr(tensorflow_tpu, "TPUReplicateContext"):  # a second class of that name, in 2.12
        tensorflow_tpu.TPUReplicateContext.register(context_class)


def tensorflows_replicate(*args: Any) -> list[Any]:
    """TensorFlow's own `split_compile_and_replicate`."""
    results: list[Any] = tensorflow_tpu.split_compile_and_replicate(*args)
    return results


def tensorflows_outside_compilation(is_map: bool, *args: Any, **kwargs: Any) -> Any:
    """TensorFlow's own `outside_compilation`, or its `experimental_map_outside_compilation`."""
    if is_map:
        return tpu_replication.experimental_map_outside_compilation(*args, **kwargs)
    return tf.compat.v1.tpu.outside_compilation(*args, **kwargs)


def is_eager_tensor(value: Any) -> bool:
    """Whether `value` is a tensor that has a value now."""
    return isinstance(value, ops.EagerTensor)


def is_recording() -> bool:
    """Whether a GradientTape is active in this thread."""
    return bool(tape.could_possibly_record())


def no_colocation() -> Any:
    """A scope that forgets with what operations are to be colocated."""
    return ops.colocate_with(None, ignore_existing=True)


def is_context_initialized() -> bool:
    """Whether TensorFlow has set up its devices, so that they cannot be configured any more."""
    return bool(eager_context.context()._initialized)


# AutoGraph leaves TensorFlow's own modules as they are. It must leave these, too: the functions
# that a user gives to them are converted or not as if they had been given to TensorFlow's.
autograph_config.CONVERSION_RULES = (
    autograph_config.DoNotConvert("tpulint"),
    *autograph_config.CONVERSION_RULES,
)


# Attributes of operations.


def set_attr(op: Operation, name: str, value: Any) -> None:
    """Set the attribute `name` of `op` to the AttrValue `value`."""
    op._set_attr(name, value)


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


def stack_here() -> list[tuple[str, int]]:
    """(file, line) of each frame we are in, outermost first; AutoGraph's code as the user's."""
    return [(frame.filename, frame.lineno) for frame in tf_stack.extract_stack()]


# Contexts.


def default_graph() -> Graph:
    """The graph that operations are added to now."""
    return ops.get_default_graph()


def context_of(graph_or_op: Any) -> Any:
    """The control-flow context that a graph is in now, or that an operation was made in."""
    return graph_or_op._get_control_flow_context()


def set_context(graph: Graph, context: Any) -> None:
    """Put `graph` into `context`."""
    graph._set_control_flow_context(context)


def contexts_outwards(context: Any) -> Iterator[Any]:
    """`context` and the contexts around it in the same graph, innermost first."""
    while context is not None:
        yield context
        context = context.outer_context


def graphs_outwards(graph: Graph | None) -> Iterator[Graph]:
    """`graph` and the graphs that it is nested in, innermost first."""
    while graph is not None:
        yield graph
        graph = getattr(graph, "outer_graph", None)


# Devices.


def device_stack(graph: Graph) -> Any:
    """The stack of device functions of `graph`, itself, not a copy."""
    return graph._device_function_stack


def set_device_stack(graph: Graph, stack: Any) -> None:
    """Put `stack` in its place."""
    graph._device_function_stack = stack


def function_graph(graph: Graph, name: str) -> Graph:
    """The FuncGraph of the function `name` that `graph`, or one around it, calls."""
    for holder in graphs_outwards(graph):
        function = holder._functions.get(name)
        if function is not None:
            return function.graph
    raise KeyError(name)


def share_functions(source: Graph, nodes: Iterable[Any]) -> None:
    """Make the functions that the NodeDefs `nodes`, of `source`, call known in this graph."""
    target = ops.get_default_graph()
    for node in nodes:
        for attr in node.attr.values():
            for func in (*attr.list.func, *([attr.func] if attr.func.name else [])):
                _share_function(source, target, func.name)


def _share_function(source: Graph, target: Graph, name: str) -> None:
    if target._is_function(name):
        return
    for holder in graphs_outwards(source):
        function = holder._functions.get(name)
        if function is not None:
            if hasattr(target, "_add_function_recursive"):
                target._add_function_recursive(function)
            else:  # 2.12
                function.add_to_graph(target)
            return
    raise KeyError(name)


def sessions_place_only_what_they_run() -> None:
    """Make sessions created from now on leave operations that they do not run unplaced.

    A session places its whole graph, and would refuse one that holds marked nodes: some have no
    kernel.
    """
    original = session.BaseSession.__init__
    if hasattr(original, "of_tensorflow"):
        return

    def __init__(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if config is None or isinstance(config, config_pb2.ConfigProto):
            own = config_pb2.ConfigProto()
            own.CopyFrom(config if config is not None else eager_context.context().config)
            own.graph_options.place_pruned_graph = True
            config = own
        original(self, target, graph, config)

    __init__.of_tensorflow = original  # type: ignore[attr-defined]
    session.BaseSession.__init__ = __init__


def registered_kernels() -> Iterable[Any]:
    """The KernelDefs that this process has. XLA's are there once something has been compiled."""
    kernel_defs: Iterable[Any] = kernels.get_all_registered_kernels().kernel
    return kernel_defs


def errors_become(name: str, find: Callable[[str], Exception | None]) -> None:
    """Where TensorFlow makes its error `name`, let `find(message)` come out, unless it is None.

    What comes out must be of a subclass of that error.
    """
    kind = getattr(errors_impl, name)

    def __new__(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if cls is kind and len(args) > 2:
            found = find(str(args[2]))
            if found is not None:
                return found
        return Exception.__new__(cls, *args)

    kind.__new__ = __new__


def eager_mode() -> Any:
    """A context in which operations run at once, whatever graph is being built around it."""
    return eager_context.eager_mode()


def watched_variables(graph: Graph) -> list[Any]:
    """The variables touched while the FuncGraph `graph` was traced that are still alive."""
    return list(getattr(graph, "_watched_variables", ()))


def around_python_function(
    token: bytes, around: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> bytes | None:
    """The token of a Python function of the graph that runs as `around(function of token)`.

    None where the function no longer lives.
    """
    registered = script_ops._py_funcs.get(token.decode())
    if registered is None:
        return None
    if isinstance(registered, script_ops.EagerFunc):
        replaced = copy.copy(registered)
        replaced._func = around(registered._func)
    else:
        replaced = around(registered)
    graph = ops.get_default_graph()
    if not hasattr(graph, "_py_funcs_used_in_graph"):
        graph._py_funcs_used_in_graph = []
    graph._py_funcs_used_in_graph.append(replaced)
    return bytes(script_ops._py_funcs.insert(replaced).encode())


def is_while(context: Any) -> bool:
    """Whether `context` is of a loop of TensorFlow 1."""
    return bool(context.IsWhileContext())


def is_cond_or_while(context: Any) -> bool:
    """Whether `context` is of a loop or of a branch of a conditional of TensorFlow 1."""
    return bool(context.IsWhileContext() or context.IsCondContext())


def plain_function_graph(name: str) -> Graph:
    """An empty FuncGraph, outside all others, in which nothing is ordered by itself."""
    with tf.Graph().as_default():
        graph = FuncGraph(name)
    graph._add_control_dependencies = False
    return graph


@contextlib.contextmanager
def control_flow_v2() -> Iterator[None]:
    """In here, `tf.cond` and `tf.while_loop` make the operations of TensorFlow 2."""
    saved = control_flow_util.ENABLE_CONTROL_FLOW_V2
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = True
    try:
        yield
    finally:
        control_flow_util.ENABLE_CONTROL_FLOW_V2 = saved


def captured_here(tensor: Tensor) -> Tensor:
    """`tensor`, captured where the current graph is one inside its own."""
    graph = ops.get_default_graph()
    return tensor if tensor.graph is graph else graph.capture(tensor)


def copy_handle_data(source: Tensor, target: Tensor) -> None:
    """Tell `target`, if it is a handle, what `source` is a handle of."""
    handle_data_util.copy_handle_data(source, target)


def stands_for(image: Operation, original: Operation) -> None:
    """Let `image`, a copy, be said to be made where `original` was made."""
    graph = image.graph
    if not hasattr(graph, "_tpulint_originals"):
        graph._tpulint_originals = {}
    graph._tpulint_originals[image.name] = original
