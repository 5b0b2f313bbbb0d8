"""TensorFlow's infeed and outfeed operations, and the topology that numbers the cores."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tpulint.runtime.tensorflow_internals.graphs import (
    DeviceSpec,
    default_graph,
    device_of_graph,
    no_colocation,
)
from tpulint.runtime.tensorflow_internals.modules import (
    AutomaticControlDependencies,
    eager_context,
    gen_tpu_ops,
    op_def_registry,
    topology,
)
from tpulint.runtime.tensorflow_internals.patching import patched

Operation = Any

_INDEPENDENT = "_tpulint_independent"


class _Changed:
    """A module of which some functions are others."""

    def __init__(self, module: Any, **functions: Callable[..., Any]) -> None:
        self._module = module
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _Handled(NamedTuple):
    """The node that was not made: TensorFlow asks it for what a tape is to record."""

    attributes: Mapping[str, Any]
    inputs: Sequence[Any] = ()

    def get_attr(self, name: str) -> Any:
        """Return an argument of the operation, or None."""
        return self.attributes.get(name)

    def _get_attr_type(self, name: str) -> Any:
        return self.get_attr(name)


@contextlib.contextmanager
def feeds_handled_by(
    handlers: Mapping[str, Callable[..., Any]], unless: Callable[[], bool]
) -> Iterator[None]:
    """Let `handlers`, by the type of an operation, make it of others in the context.

    They are called, unless `unless()`, with the arguments of the operation and its name, and return
    a list of its results, or an operation if it has none (None if that is done). All functions of
    TensorFlow that make such an operation, those of `tf.raw_ops` too, end in the same two calls.
    """
    library, execute = gen_tpu_ops._op_def_library, gen_tpu_ops.pywrap_tfe

    def apply_op_helper(operation: str, name: str | None = None, **arguments: Any) -> Any:
        if operation not in handlers or unless():
            return library._apply_op_helper(operation, name=name, **arguments)
        results = handlers[operation](**arguments, name=name)
        if isinstance(results, list):
            return None, None, _Handled(arguments), results
        return None, None, results, []

    def fast_path_execute(ctx: Any, operation: str, name: str | None, *arguments: Any) -> Any:
        if operation not in handlers or unless():
            return execute.TFE_Py_FastPathExecute(ctx, operation, name, *arguments)
        definition = op_def_registry.get(operation)
        inputs = [argument.name for argument in definition.input_arg]
        attributes = arguments[len(inputs) :]
        named = dict(zip(inputs, arguments), **dict(zip(attributes[::2], attributes[1::2])))
        results = handlers[operation](**named, name=name)
        is_tuple = any(argument.type_list_attr for argument in definition.output_arg)
        return results[0] if isinstance(results, list) and not is_tuple else results

    module = gen_tpu_ops.__name__
    changed_library = _Changed(library, _apply_op_helper=apply_op_helper)
    changed_execute = _Changed(execute, TFE_Py_FastPathExecute=fast_path_execute)
    with (
        patched(f"{module}._op_def_library", changed_library),
        patched(f"{module}.pywrap_tfe", changed_execute),
    ):
        yield


def runs_independently(op: Operation) -> None:
    """Keep functions from making `op` wait for earlier operations, as TensorFlow's enqueues."""
    if not hasattr(op.graph, _INDEPENDENT):
        setattr(op.graph, _INDEPENDENT, [])
    getattr(op.graph, _INDEPENDENT).append(op)


def independent_operations() -> contextlib.AbstractContextManager[None]:
    """Return a context in which functions heed `runs_independently`."""
    original = AutomaticControlDependencies.__exit__

    @functools.wraps(original)
    def __exit__(self: Any, *error: Any) -> Any:
        for op in getattr(self._graph, _INDEPENDENT, ()):
            self.run_independently(op)
        return original(self, *error)

    dependencies = "tensorflow.python.framework.auto_control_deps.AutomaticControlDependencies"
    return patched(f"{dependencies}.__exit__", __exit__)


def device_here() -> Any:
    """Return the DeviceSpec that an operation made now would get."""
    if tf.executing_eagerly():
        return DeviceSpec.from_string(eager_context.context().device_name or "")
    graph = default_graph()
    for op in graph._colocation_stack.peek_objs():
        if op.device:
            return DeviceSpec.from_string(op.device)
    return device_of_graph(graph)


@contextlib.contextmanager
def beside_devices(name: str) -> Iterator[None]:
    """Make operations in the context without a device or colocation."""
    with tf.name_scope(name), tf.device(None), no_colocation():
        yield


def topology_of(serialized: bytes) -> Any:
    """Return the Topology of `serialized`."""
    return topology.Topology(serialized=serialized)


def core_assignment_of(flat: list[int], cores_per_replica: int, of: Any) -> Any:
    """Return the coordinates in `flat`, by replica and logical core."""
    return np.reshape(flat, [-1, cores_per_replica, of.mesh_rank])
