"""The host's ends of infeed and outfeed, as TensorFlow's functions make them outside computations.

`InfeedQueue.generate_enqueue_ops`, `tf.raw_ops` and their kin end here, so that the replicas on
this CPU get the tuples that they enqueue. Inside a computation, and with a real TPU, they are
unchanged.
The functions have the arguments of the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tpulint.runtime.emulate.system import real_tpu
from tpulint.runtime.emulator import current_options
from tpulint.runtime.execute import feeds
from tpulint.runtime.execute.exchanges import enqueue, queue_at
from tpulint.runtime.extract.program import core_number, cores_of_this_host
from tpulint.runtime.mark.context import enclosing_context
from tpulint.runtime.schedule.locks import Wait
from tpulint.runtime.source_location import user_location
from tpulint.runtime.tensorflow_internals import graphs, patching
from tpulint.runtime.tensorflow_internals.modules import op_def_registry
from tpulint.runtime.tensorflow_internals.operations import operations_of, runs_independently

Tensor = Any


def _infeed_enqueue_tuple(
    inputs: Sequence[Any], shapes: Sequence[Any], device_ordinal: int, name: str | None, **_: Any
) -> Any:
    """Enqueue a tuple for the core `device_ordinal` of the host of the current device scope.

    Raise a ValueError if a tensor has another shape than declared.
    """
    core = _core(device_ordinal)
    with graphs.without_device(name or "feed"):
        return _enqueued(core, _row(inputs, shapes))


def _prelinearize_tuple(
    inputs: Sequence[Any], shapes: Sequence[Any], name: str | None, **_: Any
) -> list[Tensor]:
    """Return the buffer of a tuple, for `InfeedEnqueuePrelinearizedBuffer`."""
    with graphs.without_device(name or "feed"):
        row = _row(inputs, shapes)
        return [tf.raw_ops.TensorListFromTensor(tensor=row, element_shape=_SCALAR)]


def _infeed_enqueue_prelinearized_buffer(
    input: Tensor, device_ordinal: int, name: str | None
) -> Any:
    core = _core(device_ordinal)
    with graphs.without_device(name or "feed"):
        row = tf.raw_ops.TensorListStack(
            input_handle=input, element_shape=_SCALAR, element_dtype=tf.string
        )
        return _enqueued(core, row)


def _outfeed_dequeue_tuple(
    dtypes: Sequence[Any], shapes: Sequence[Any], device_ordinal: int, name: str | None
) -> list[Tensor]:
    """Take the next tuple that the core `device_ordinal` puts into its outfeed."""
    core = _core(device_ordinal)
    with graphs.without_device(name or "feed"):
        return _taken(
            feeds.feed_queue("outfeed", core), f"the outfeed of core {core}", dtypes, shapes
        )


def _outfeed_dequeue_tuple_v2(
    device_ordinal: Any, dtypes: Sequence[Any], shapes: Sequence[Any], name: str | None
) -> list[Tensor]:
    """Take the next tuple of a core whose ordinal may be known when the graph runs."""
    ordinal = tf.get_static_value(tf.convert_to_tensor(device_ordinal))
    if ordinal is not None:
        return _outfeed_dequeue_tuple(dtypes, shapes, int(ordinal), name)
    # The number is known when the graph runs: all queues of this host are there to choose from.
    first = _core(0)
    with graphs.without_device(name or "feed"):
        handles = [
            feeds.feed_queue("outfeed", first + core) for core in range(cores_of_this_host())
        ]
        handle = queue_at(tf.stack(handles), device_ordinal)
        return _taken(handle, "the outfeed of a core", dtypes, shapes)


def _for_one_tensor(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Return the handler of the operation on one tensor, given that of the one on a tuple."""

    def handle_one(**arguments: Any) -> Any:
        for name in arguments.keys() & {"input", "shape", "dtype"}:
            arguments[f"{name}s"] = [arguments.pop(name)]
        return handle(**arguments)

    return handle_one


_SCALAR = np.zeros([0], np.int32)
_HANDLERS: dict[str, Callable[..., Any]] = {
    "InfeedEnqueue": _for_one_tensor(_infeed_enqueue_tuple),
    "InfeedEnqueuePrelinearizedBuffer": _infeed_enqueue_prelinearized_buffer,
    "InfeedEnqueueTuple": _infeed_enqueue_tuple,
    "OutfeedDequeue": _for_one_tensor(_outfeed_dequeue_tuple),
    "OutfeedDequeueTuple": _outfeed_dequeue_tuple,
    "OutfeedDequeueTupleV2": _outfeed_dequeue_tuple_v2,
    "OutfeedDequeueV2": _for_one_tensor(_outfeed_dequeue_tuple_v2),
    "Prelinearize": _for_one_tensor(_prelinearize_tuple),
    "PrelinearizeTuple": _prelinearize_tuple,
}


def _row(inputs: Sequence[Any], shapes: Sequence[Any]) -> Tensor:
    return feeds.serialize_tuple(
        [
            tf.ensure_shape(tf.convert_to_tensor(value), shape)
            for value, shape in zip(inputs, shapes, strict=True)
        ]
    )


def _enqueued(core: int, row: Tensor) -> Any:
    """Put a tuple into the infeed of a core, whatever else the function around it does before."""
    handle = feeds.feed_queue("infeed", core)
    done = enqueue(handle, [row])
    if done is not None:
        # A function runs what has an effect in order: an enqueue would wait for the step before it,
        # which may wait for what is enqueued.
        runs_independently(handle.op)
        runs_independently(done)
    return done


def _taken(handle: Tensor, what: str, dtypes: Sequence[Any], shapes: Sequence[Any]) -> list[Tensor]:
    reason = f"waits for {what}, which no device program fills"
    wait = Wait("host", what, reason, user_location(), feeds.FEED_RULE)
    host_take = feeds.HostDequeue(wait, current_options().deadline)
    return feeds.dequeue_tuple(handle, list(map(tf.as_dtype, dtypes)), shapes, host_take.take)


def _core(ordinal: int) -> int:
    """Return the core of an ordinal; -1 is that of the device scope, where TensorFlow places it."""
    device = graphs.current_device()
    if ordinal < 0:
        ordinal = (device.device_index or 0) if device.device_type == "TPU" else 0
    return core_number(device.task or 0, ordinal)


_FEEDS = "the host's end of infeed and outfeed reaches the replicas on this CPU"


def _is_handled(operation: str) -> bool:
    """Return whether TensorFlow is to make `operation` of others, by its handler.

    The handlers get the arguments of the operation and its name. They return a list of its results,
    or an operation if it has none (None if that is done).
    """
    # All functions of TensorFlow that make such an operation, those of `tf.raw_ops` too, end in the
    # two calls that are replaced below.
    return operation in _HANDLERS and not real_tpu() and enclosing_context() is None


class _Handled(NamedTuple):
    """The node that was not made: TensorFlow asks it for what a tape is to record."""

    attributes: Mapping[str, Any]
    inputs: Sequence[Any] = ()

    def get_attr(self, name: str) -> Any:
        """Return an argument of the operation, or None."""
        return self.attributes.get(name)

    def _get_attr_type(self, name: str) -> Any:
        return self.get_attr(name)


@patching.patch_value("tensorflow.python.ops.gen_tpu_ops._op_def_library", why=_FEEDS)
def _handle_in_graphs(library: Any) -> patching.Changed:
    def apply_op_helper(operation: str, name: str | None = None, **arguments: Any) -> Any:
        if not _is_handled(operation):
            return library._apply_op_helper(operation, name=name, **arguments)
        results = _HANDLERS[operation](**arguments, name=name)
        if isinstance(results, list):
            return None, None, _Handled(arguments), results
        return None, None, results, []

    return patching.Changed(library, _apply_op_helper=apply_op_helper)


@patching.patch_value("tensorflow.python.ops.gen_tpu_ops.pywrap_tfe", why=_FEEDS)
def _handle_eagerly(execute: Any) -> patching.Changed:
    def fast_path_execute(ctx: Any, operation: str, name: str | None, *arguments: Any) -> Any:
        if not _is_handled(operation):
            return execute.TFE_Py_FastPathExecute(ctx, operation, name, *arguments)
        definition = op_def_registry.get(operation)
        inputs = [argument.name for argument in definition.input_arg]
        attributes = arguments[len(inputs) :]
        named = dict(zip(inputs, arguments), **dict(zip(attributes[::2], attributes[1::2])))
        results = _HANDLERS[operation](**named, name=name)
        is_tuple = any(argument.type_list_attr for argument in definition.output_arg)
        return results[0] if isinstance(results, list) and not is_tuple else results

    return patching.Changed(execute, TFE_Py_FastPathExecute=fast_path_execute)


# tensorflow/python/training/evaluation.py: the values of metrics are fetched when the hooks that
# feed the TPU have ended.
@patching.emulated_patch(
    "tensorflow.python.training.basic_session_run_hooks.FinalOpsHook.end",
    why="a wait for an outfeed after the last step is an error at once",
)
def _fetch_final_values(original: Callable[..., Any], hook: Any, session: Any) -> Any:
    with feeds.last_reads():
        return original(hook, session)


@patching.after_install
def _refuse_earlier_feeds() -> None:
    """Raise a RuntimeError if TensorFlow has made such an operation, which no CPU runs."""
    for graph in graphs.graphs_outwards(graphs.default_graph()):
        for op in operations_of(graph):
            if op.type in _HANDLERS and not real_tpu():
                raise RuntimeError(
                    f"{op.type} '{op.name}' was made before the first use of tpulint.runtime, and "
                    "TensorFlow has no kernel for it on a CPU: call tpulint.runtime.install() "
                    "before it"
                )
