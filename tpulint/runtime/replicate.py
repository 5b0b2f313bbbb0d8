"""`replicate`, `shard` and their kin: one computation, run on every replica."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import tensorflow as tf

from tpulint.runtime import driver, results
from tpulint.runtime.emulate.system import real_tpu
from tpulint.runtime.emulator import current_options
from tpulint.runtime.errors import EagerExecutionError
from tpulint.runtime.execute.raising import reporting_errors
from tpulint.runtime.mark.marked import ReplicateRequest, StepOutputs
from tpulint.runtime.mark.replicate import MarkResult
from tpulint.runtime.results import refuse_gradients, refuse_gradients_of_value
from tpulint.runtime.source_location import is_called_by_strategy
from tpulint.runtime.tensorflow_internals import gradients, tpu, tracebacks
from tpulint.runtime.tensorflow_internals.modules import tensorflow_tpu

_NO_EAGER_STEP = """\
TPUStrategy.run(fn, ...) does not support pure eager execution. please make sure the function \
passed into `strategy.run` is a `tf.function` or `strategy.run` is called inside a `tf.function` \
if eager behavior is enabled.
  `tf.config.run_functions_eagerly(True)` makes every tf.function run operation by operation, and \
a TPU runs compiled programs only"""


@tracebacks.builder
def replicate(
    computation: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    maximum_shapes: Any = None,
    padding_spec: Any = None,
    xla_options: Any = None,
) -> list[Any]:
    """Run `computation` on each replica, as `tf.compat.v1.tpu.replicate` does on a TPU.

    `inputs[replica]` is the list of the computation's arguments; `name` does nothing. The result
    is a list with one element a replica: a flat return value becomes a list (a single tensor as
    well), a nested one keeps its structure, and a computation without tensors gives an operation.

    Raises:
        InputsNotPerReplicaError: `inputs` is no list of lists or tuples (TPU401).
        UnequalInputsError: the replicas' inputs differ in structure, dtype or shape (TPU402).
        ArityError: the computation cannot take the inputs (TPU403).
        MaximumShapesError: `maximum_shapes` does not fit them (TPU404).
        OutputOrderError: an operation comes before a tensor, or is nested (TPU407).
        DeviceAssignmentError: it is not one for this number of replicas (TPU408).
        NestedComputationError: this is built inside another computation (TPU202).
        EscapedTensorError: a tensor is used outside the graph that made it (TPU303), or outside
            the host cluster that made it and did not return it (TPU207).
    """
    built: list[Any] = split_compile_and_replicate(
        computation,
        inputs,
        infeed_queue,
        device_assignment,
        name,
        maximum_shapes=maximum_shapes,
        padding_spec=padding_spec,
        xla_options=xla_options,
    )[1]
    return built


@tracebacks.builder
def split_compile_and_replicate(
    computation: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    use_tpu: bool = True,
    maximum_shapes: Any = None,
    padding_spec: Any = None,
    xla_options: Any = None,
) -> list[Any]:
    """Run `replicate`, and return [compilation status, results].

    The status is a serialized CompilationResultProto in a string tensor: empty, all went well.
    """
    options = (use_tpu, maximum_shapes, padding_spec, xla_options)
    if real_tpu():
        own: list[Any] = tensorflow_tpu.split_compile_and_replicate(
            computation, inputs, infeed_queue, device_assignment, name, *options
        )
        return own
    request = ReplicateRequest(computation, inputs, infeed_queue, device_assignment, *options)
    if not tf.executing_eagerly():
        return _in_graph(request)
    with reporting_errors():
        if is_called_by_strategy():
            raise EagerExecutionError(_NO_EAGER_STEP)
    return _eagerly(request)


@tracebacks.builder
def rewrite(
    computation: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    xla_options: Any = None,
) -> Any:
    """Run `replicate` with one replica, whose arguments are `inputs`, and unpack its result."""
    per_replica = None if inputs is None else [inputs]
    return replicate(
        computation, per_replica, infeed_queue, device_assignment, name, xla_options=xla_options
    )[0]


def _eagerly(request: ReplicateRequest) -> list[Any]:
    """Trace an eager call and run it once. An operation becomes None: it has run.

    Tapes see what is traced, as in a function of the user's, but not the call of the function.
    """
    traced: list[list[Any]] = []
    inside = gradients.resume_recording if gradients.may_record() else nullcontext

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def tpu_step() -> Any:
        with inside():
            traced.append(_in_graph(request))
        return tf.nest.map_structure(_without_operation, traced[-1])

    with gradients.no_recording():
        # A function is called operation by operation where the user asks for that.
        traces = not tf.config.functions_run_eagerly()
        values = tpu_step() if traces else tpu_step.get_concrete_function()()
    for symbol, value in zip(_flat(traced[-1]), _flat(values), strict=True):
        if value is not None:
            results.register_result(value, results.counterparts_in(symbol.graph)[symbol.name])
            refuse_gradients_of_value(value, symbol)
    return list(values)


def _flat(structure: Any) -> list[Any]:
    return tf.nest.flatten(structure, expand_composites=True)  # type: ignore[no-any-return]


def _without_operation(value: Any) -> Any:
    return None if isinstance(value, tf.Operation) else value


def _in_graph(request: ReplicateRequest) -> list[Any]:
    with reporting_errors():
        built = driver.run(request, current_options())
    if built is None:
        return []
    outcome, ran = built
    with driver.isolated_scopes():
        with gradients.no_recording():
            status = tf.constant(b"") if request.use_tpu else tf.no_op()
        results.register_result(status, outcome.compile_status)
        return [status, _results(outcome, ran)]


def _results(outcome: MarkResult, ran: StepOutputs) -> list[Any]:
    """Return the runnable results of each replica, in the computation's structure."""
    if isinstance(outcome.results[0], tf.Operation):
        return [results.register_result(tf.group(ran.done), twin) for twin in outcome.results]
    marked_results = [[twin for twin in replica if twin is not None] for replica in outcome.results]
    executed = refuse_gradients(ran.outputs, outcome.marked, marked_results)
    of_replicas = []
    for replica, tensors in zip(outcome.results, executed, strict=True):
        rest = iter(tensors)
        flat = [
            twin if twin is None else results.register_result(next(rest), twin) for twin in replica
        ]
        of_replicas.append(
            tpu.nest.pack_sequence_as(outcome.structure, flat, expand_composites=True)
        )
    return of_replicas


@tracebacks.builder
def shard(
    computation: Callable[..., Any],
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    xla_options: Any = None,
) -> list[Any]:
    """Run `computation` on `num_shards` replicas, each with its piece of each input.

    Input i is split along `input_shard_axes[i]` (0 by default), output i is concatenated along
    `output_shard_axes[i]` (a scalar is stacked), or is shard 0's where
    `outputs_from_all_shards[i]` is false. `name` does nothing.

    Raises:
        ValueError: `num_shards` is not positive, or a list has not one element an input or output.
        TypeError: `inputs` is no list.
        The errors of `replicate`.
    """
    return split_compile_and_shard(
        computation,
        inputs,
        num_shards,
        input_shard_axes,
        outputs_from_all_shards,
        output_shard_axes,
        infeed_queue,
        device_assignment,
        name,
        xla_options,
    )[1]


@tracebacks.builder
def split_compile_and_shard(
    computation: Callable[..., Any],
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    xla_options: Any = None,
) -> tuple[Any, list[Any]]:
    """Run `shard`, and return (compilation status, results)."""
    pieces = _pieces(inputs, num_shards, input_shard_axes)
    status, outputs = split_compile_and_replicate(
        computation, pieces, infeed_queue, device_assignment, name, xla_options=xla_options
    )
    if outputs[0] is None or isinstance(outputs[0], tf.Operation):
        return status, [outputs[0]]
    return status, _joined(outputs, output_shard_axes, outputs_from_all_shards)


@tracebacks.builder
def batch_parallel(
    computation: Callable[..., Any],
    inputs: list[Any] | None = None,
    num_shards: int = 1,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: str | None = None,
    xla_options: Any = None,
) -> list[Any]:
    """Run `shard` along the batch dimension, dimension 0, of all inputs and outputs."""
    return shard(
        computation,
        inputs,
        num_shards=num_shards,
        infeed_queue=infeed_queue,
        device_assignment=device_assignment,
        name=name,
        xla_options=xla_options,
    )


def _pieces(inputs: Any, num_shards: int, axes: Sequence[int] | None) -> list[list[Any]]:
    """Return the inputs of each replica."""
    if num_shards <= 0:
        raise ValueError(f"num_shards must be a positive integer. Received {num_shards}")
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, list):
        raise TypeError(
            f"tpu.shard()'s inputs must be a list of Tensors or None. Received {type(inputs)}"
        )
    tensors = [tf.convert_to_tensor(value) for value in inputs]
    axes = [0] * len(tensors) if axes is None else axes
    if len(tensors) != len(axes):
        raise ValueError(
            "Length of input_shard_axes must be equal to the number of inputs. Received "
            f"{len(tensors)} inputs and {len(axes)} input_shard_axes."
        )
    if not tensors:
        return [[]] * num_shards
    split = [
        tf.split(tensor, num_shards, axis=axis) for axis, tensor in zip(axes, tensors, strict=True)
    ]
    return [list(of_replica) for of_replica in zip(*split, strict=True)]


def _joined(
    outputs: list[Any], axes: Sequence[int] | None, from_all: bool | Sequence[bool]
) -> list[Any]:
    """Return the replicas' outputs, joined one by one."""
    number = len(outputs[0])
    axes = [0] * number if axes is None else axes
    if number != len(axes):
        raise ValueError(
            "Length of output_shard_axes must be equal to the number of outputs. Received "
            f"{number} outputs and {len(axes)} output_shard_axes."
        )
    flags = [from_all] * number if isinstance(from_all, bool) else from_all
    if number != len(flags):
        raise ValueError(
            "Length of outputs_from_all_shards must be equal to the number of outputs. Received "
            f"{number} outputs  and {len(flags)} outputs_from_all_shards."
        )
    return [
        _join(pieces, axis) if is_sharded else pieces[0]
        for axis, is_sharded, pieces in zip(axes, flags, zip(*outputs, strict=True), strict=True)
    ]


def _join(pieces: Sequence[Any], axis: int) -> Any:
    if pieces[0].shape.ndims == 0:
        return tf.stack(list(pieces))
    return tf.concat(list(pieces), axis=axis)
