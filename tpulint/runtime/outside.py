"""`outside_compilation`: the part of a TPU computation that runs on the host."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime import errors
from tpulint.runtime.emulate import cores
from tpulint.runtime.emulate.system import real_tpu
from tpulint.runtime.mark import clusters, context
from tpulint.runtime.mark.context import enclosing_context
from tpulint.runtime.mark.replicate import is_building
from tpulint.runtime.source_location import note_host_function
from tpulint.runtime.tensorflow_internals import graphs, tracebacks
from tpulint.runtime.tensorflow_internals.modules import tpu_replication


@tracebacks.builder
def outside_compilation(computation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run `computation(*args, **kwargs)` on the host, from inside a TPU computation.

    `args=[...]` gives the positional arguments as a list, as the first version of TensorFlow's
    function did. Outside any TPU computation this is a plain call, with a warning.

    Returns what `computation` returns.

    Raises:
        NestedClusterError: in a host cluster (TPU201); in a `tf.function` TensorFlow accepts it,
            and there is a warning instead.
        ControlFlowContextError: `computation` does not leave the control-flow context as it
            found it (TPU301).
        ClusterCalledError: `computation` is no function, but the result of one (TPU205).
        CalleeArityError: `computation` cannot take the arguments (TPU208).
    """
    return _outside_compilation(False, computation, args, kwargs)


@tracebacks.builder
def experimental_map_outside_compilation(
    computation: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Run `outside_compilation` once for each shard of an input that is split over cores.

    A replica is on one core here, so its tensors are whole: each shard is cut out and given to a
    host cluster of its own, and their results are joined as the first split argument was cut.
    """
    tiles = [] if real_tpu() else [cores.shard_counts(arg) for arg in args]
    split = next((counts for counts in tiles if counts), None)
    if split is None:
        return _outside_compilation(True, computation, args, kwargs)
    shards = [_cut(arg, counts) if counts else None for arg, counts in zip(args, tiles)]
    results = []
    for index in range(max(len(cut) for cut in shards if cut is not None)):
        arguments = [arg if cut is None else cut[index] for arg, cut in zip(args, shards)]
        results.append(_outside_compilation(True, computation, tuple(arguments), dict(kwargs)))
    return tf.nest.map_structure(lambda *shards: cores.join_shards(shards, split), *results)


def _outside_compilation(
    is_map: bool, computation: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if real_tpu():
        if is_map:
            return tpu_replication.experimental_map_outside_compilation(
                computation, *args, **kwargs
            )
        return tf.compat.v1.tpu.outside_compilation(computation, *args, **kwargs)
    # The first version of TensorFlow's function took its arguments so.
    if "args" in kwargs and not args and not _takes_args(computation):
        args = tuple(kwargs.pop("args") or ())

    def build() -> Any:
        if tf.executing_eagerly():
            return _called(computation, args, kwargs)
        graph = graphs.default_graph()
        first = len(graph.get_operations())
        result = _called(computation, args, kwargs)
        note_host_function(graph, first, computation)
        return result

    in_function = isinstance(graphs.default_graph(), graphs.FuncGraph)
    if enclosing_context() is None:
        if is_building():
            errors.warn(errors.ContextClearedWarning(_CLEARED))
        else:
            errors.warn(errors.OutsideCompilationNoOpWarning(_NO_CONTEXT))
        return (
            build()
            if in_function or tf.executing_eagerly()
            else context.build_in_graph(build, is_map)
        )
    if tf.executing_eagerly():  # in init_scope, where a tf.function's graph is no longer built
        errors.warn(errors.ContextClearedWarning(_CLEARED))
    if not in_function:
        return context.build_in_graph(build, is_map)
    cluster_class = clusters.OutsideCompilationV2Context
    if any(isinstance(entered, cluster_class) for entered in graphs.contexts_around()):
        errors.warn(errors.NestedClusterWarning(_NESTED))
    return context.build_in_function(build, is_map)


_NESTED = "outside_compilation inside another one: in a tf.function the inner cluster wins"
_CLEARED = "outside_compilation where the TPU context has been cleared does nothing"
_NO_CONTEXT = (
    "Outside compilation attempted outside TPUReplicateContext scope. As no enclosing "
    "TPUReplicateContext can be found, returning the result of `computation` as is."
)


def _takes_args(computation: Callable[..., Any]) -> bool:
    """Return whether `args` is a parameter of the user's own function."""
    try:
        parameter = inspect.signature(computation).parameters.get("args")
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind is not inspect.Parameter.VAR_POSITIONAL


def _called(computation: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return computation(*args, **kwargs)
    except TypeError as error:
        if not callable(computation):
            raise errors.as_fault(errors.ClusterCalledError, error) from None
        if not _fits(computation, args, kwargs):
            raise errors.as_fault(errors.CalleeArityError, error) from error
        raise


def _fits(computation: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(computation).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:
        pass  # a builtin without a signature
    return True


def _cut(tensor: Any, counts: Sequence[int]) -> list[Any]:
    """Return the shards of `tensor`, `counts` along its axes, the last axis fastest."""
    shards = [tensor]
    for axis, count in enumerate(counts):
        shards = [part for shard in shards for part in tf.split(shard, count, axis=axis)]
    return shards
