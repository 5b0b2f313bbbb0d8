"""The Python functions that graphs call, in the process of the program."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.pods.devices import on_coordinator
from tpulint.runtime.tensorflow_internals import modules
from tpulint.runtime.tensorflow_internals.graphs import FuncGraph, graphs_outwards
from tpulint.runtime.tensorflow_internals.patching import set_default
from tpulint.runtime.tensorflow_internals.tracebacks import frames_hidden

Tensor = Any
Operation = Any


@on_coordinator()
def python_function(
    function: Callable[..., Any], arguments: Sequence[Tensor], dtypes: Sequence[Any]
) -> list[Tensor]:
    """Return tensors of `dtypes` that `function` computes; it lives as long as this graph.

    It is called in this process, on whatever host the operations around it are.

    `tf.numpy_function` ties it to the outermost graph, which for a tf.function never goes.
    """
    results: list[Tensor] = tf.numpy_function(
        function, list(arguments), list(dtypes), stateful=True
    )
    *_, outermost = graphs_outwards(modules.ops.get_default_graph())
    _keep(outermost._py_funcs_used_in_graph.pop())
    return results


class OwnFunction:
    """A Python function of tpulint's own that graphs call for what it does: it waits for nothing.

    So it needs none of what TensorFlow does for the user's: its results are not converted (of one
    bool that takes longer than most of these functions), and AutoGraph is not asked.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *values: Any) -> list[Any]:
        self._function(*values)
        return []


@on_coordinator()
def own_operation(function: Callable[..., Any], arguments: Sequence[Tensor]) -> Operation:
    """Return an operation, of no results, that calls an `OwnFunction` in this process."""
    own = OwnFunction(function)
    _keep(own)
    token = modules.script_ops._py_funcs.insert(own)
    return modules.gen_script_ops.py_func(input=list(arguments), token=token, Tout=[])


def _keep(function: Any) -> None:
    """Let `function`, of Python, live as long as this graph.

    With asynchronous execution that may be gone when it runs, so the outermost has to keep it.
    """
    here, *around = graphs_outwards(modules.ops.get_default_graph())
    is_async = modules.eager_context.context().is_async()
    graph = here if isinstance(here, FuncGraph) and not is_async else [here, *around][-1]
    set_default(graph, "_py_funcs_used_in_graph", []).append(function)


class _EagerAround(modules.script_ops.EagerFunc):  # type: ignore[misc]
    """An EagerFunc whose call, with the tape of its gradient, is within another function's."""

    _called: Callable[..., Any]

    def __call__(self, device: Any, token: Any, args: Any) -> Any:
        return self._called(device, *args)


def _called(function: Any, token: bytes, device: Any, *args: Any) -> Any:
    """Call `function`, keeping its tape under `token`, where the gradient looks for it."""
    return function(device, token, args)


def wrap_python_function(
    token: bytes, around: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> bytes | None:
    """Return the token of a Python function of the graph that runs `around(function of token)`.

    None where the function no longer lives.
    """
    # The registry has weak references: a function goes with the graph that calls it.
    registered = modules.script_ops._py_funcs.get(token.decode())
    if registered is None:
        return None
    if isinstance(registered, modules.script_ops.EagerFunc):
        replaced = copy.copy(registered)
        replaced.__class__ = _EagerAround
        replaced._called = around(functools.partial(_called, registered, token))
    else:
        replaced = around(registered)
    _keep(replaced)
    return bytes(modules.script_ops._py_funcs.insert(replaced).encode())


def intercept_user_functions(
    run: Callable[..., Any], original: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a `FuncRegistry.__call__` that calls Python functions by `run(original, ...)`.

    Not those of tpulint's own.
    """

    @frames_hidden
    @functools.wraps(original)
    def __call__(self: Any, token: Any, device: Any, args: Any) -> Any:
        if isinstance(self.get(token), OwnFunction):
            return original(self, token, device, args)
        return run(original, self, token, device, args)

    return __call__
