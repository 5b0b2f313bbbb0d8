"""The marking of one TPU computation, from the user's function to TensorFlow's nodes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime import errors
from tpulint.runtime.mark import inputs, validate, variables
from tpulint.runtime.mark import marked as marks
from tpulint.runtime.mark.context import TPUReplicateContext, enclosing_context
from tpulint.runtime.mark.scratch_graph import ScratchGraph
from tpulint.runtime.source_location import is_called_by_strategy
from tpulint.runtime.tensorflow_internals import graphs, operations, tpu


def metadata_values(request: marks.ReplicateRequest) -> dict[str, Any]:
    """Return the attributes of the metadata operation, except `num_replicas` and `use_tpu`."""
    values: dict[str, Any] = {}
    assignment = request.device_assignment
    if assignment is not None:
        values["topology"] = assignment.topology.serialized()
        values["device_assignment"] = assignment.core_assignment.flatten().tolist()
        values["num_cores_per_replica"] = assignment.num_cores_per_replica
    values["allow_soft_placement"] = tf.config.get_soft_device_placement()
    values["step_marker_location"] = getattr(
        request.computation, "step_marker_location", "STEP_MARK_AT_ENTRY"
    )
    options = request.xla_options or tpu.XLAOptions()
    values["use_spmd_for_xla_partitioning"] = options.use_spmd_for_xla_partitioning
    if hasattr(options, "use_shardy_partitioner"):  # not in 2.12
        values["use_shardy_partitioner"] = options.use_shardy_partitioner
    return values


@dataclass(frozen=True, eq=False)
class Outputs:
    """Flat `tensors` (None stays None), `operations` that run too, the `structure` to pack."""

    tensors: list[Any]
    operations: list[Any]
    structure: Any


def process_outputs(returned: Any, by_device: bool) -> Outputs:
    """Return the outputs of a computation that returned `returned`.

    `by_device` places each output on its own device, or core 0 where it has none.

    Raises:
        OutputOrderError: an operation comes before a tensor, or is in a nested structure.
        ValueError: a value is neither an operation nor convertible to a tensor.
    """
    if tpu.is_flat(returned):
        return _process_flat(returned, by_device)
    values = tpu.nest.flatten(returned, expand_composites=True)
    return Outputs([_nested_output(value, by_device) for value in values], [], returned)


def _process_flat(returned: Any, by_device: bool) -> Outputs:
    # A flat return value comes back as a list, even a single one: TensorFlow's legacy.
    returned = () if returned is None else returned
    structure = tpu.nest.flatten(returned, expand_composites=False)
    values = tpu.nest.flatten(returned, expand_composites=True)
    # Fetching any output must run the whole computation.
    values += (tf.no_op(),)
    with tf.device(tpu.core(0)) if by_device else nullcontext():
        values = [
            value if value is None or isinstance(value, tf.Operation) else _tensor(value, "{}")
            for value in values
        ]
    operations = [value for value in values if isinstance(value, tf.Operation)]
    tensors = [value for value in values if not isinstance(value, tf.Operation)]
    if any(isinstance(value, tf.Operation) for value in values[: len(tensors)]):
        raise errors.OutputOrderError(
            "TPU functions must return zero-or more Tensor values followed by "
            "zero or more Operations."
        )
    if len(operations) > 1:
        structure = structure[: 1 - len(operations)]
    tied = [None if tensor is None else _tie(tensor, by_device) for tensor in tensors]
    return Outputs(tied, operations, structure)


def _tensor(value: Any, quoted: str) -> Any:
    """Return `value` as a tensor; `quoted` is how TensorFlow quotes an error at this place."""
    try:
        return tf.convert_to_tensor(value)
    except Exception as error:
        raise ValueError(
            "TPU function return values must all either be Operations or "
            f"convertible to Tensors. Got error: {quoted.format(error)}"
        ) from error


def _nested_output(value: Any, by_device: bool) -> Any:
    if value is None:
        return None
    if isinstance(value, tf.Operation):
        raise errors.OutputOrderError(
            "tpu.rewrite does not support Operation as return value in non-flat output "
            "structure. You can set returned Operations as control dependencies of returned "
            "Tensors so Operations are triggered when Tensors are evaluated. Operation found: "
            f'"{value.name}"'
        )
    tensor = _tensor(value, '"{}"')
    tied = _tie(tensor, by_device)
    with tf.device(tensor.device or tpu.core(0)) if by_device else nullcontext():
        return tf.identity(tied)


def _tie(tensor: Any, by_device: bool) -> Any:
    """Return `tensor` through an Identity, so that no input bypasses the computation."""
    with tf.device(tensor.device or tpu.core(0)) if by_device else nullcontext():
        tied = tf.identity(tensor)
    operations.set_attr(tied.op, marks.OUTPUT_IDENTITY, True)
    return tied


_building = threading.local()


@dataclass(frozen=True, eq=False)
class MarkResult:
    """A marked computation and the results for its caller.

    `results[replica]` are the marked outputs (None for None), or the marked no-op of a
    computation without output tensors. `structure` packs one replica's flat outputs.
    `is_padded`: whether `maximum_shapes` has padded an input. `context` made the marks.
    """

    marked: marks.Marked
    compile_status: Any
    structure: Any
    results: list[Any]
    is_padded: bool
    context: TPUReplicateContext


def is_building() -> bool:
    """Return whether a TPU computation is being built in this thread."""
    return getattr(_building, "depth", 0) > 0


def mark(request: marks.ReplicateRequest) -> MarkResult | None:
    """Build the marked nodes of `request`; None where there are no replicas.

    They go into the default graph; for a function's graph, into a scratch graph inside it.
    """
    graph = graphs.default_graph()
    # A computation inside another fails on its first node: it needs no graph of its own.
    if not isinstance(graph, graphs.FuncGraph) or enclosing_context():
        return _mark(request)
    # No kernel runs the marked nodes, so they must not stay in the user's function.
    scratch = ScratchGraph(graph)
    with scratch.activate():
        return _mark(request)


def _mark(request: marks.ReplicateRequest) -> MarkResult | None:
    metadata_attributes = metadata_values(request)
    inputs_by_replica = [[]] if request.inputs is None else request.inputs
    inputs.check_is_per_replica(inputs_by_replica)
    if not inputs_by_replica:
        return None
    flattened = inputs.flatten_inputs(inputs_by_replica)
    inputs.check_arity(request.computation, flattened, request.infeed_queue)
    flat, padded = _pad(request, flattened)
    fan_in = inputs.fan_in(flat)

    graph = graphs.default_graph()
    is_function = isinstance(graph, graphs.FuncGraph)
    cluster = graph.unique_name(f"cluster_{graph.name}" if is_function else "cluster")
    # Operations without inputs depend on it, so that they belong to the cluster.
    pivot = tf.no_op(name=f"{cluster}/pivot")
    operations.set_attr(pivot, marks.PIVOT, cluster)
    context = TPUReplicateContext(cluster, len(flat), pivot)
    with _enter(context):
        info = tpu.tpu_ops.tpu_replicate_metadata(
            num_replicas=len(flat), use_tpu=request.use_tpu, **metadata_attributes
        )
        with _shard_context(len(flat)), tf.control_dependencies([info]):
            args = _arguments(request, flattened, fan_in, padded)
            with variables.resource_variables_only(), validate.report_escapes():
                returned = request.computation(*args)
            returned = tpu.convert_variables_to_tensors(returned)
        with validate.report_escapes():
            outputs = process_outputs(returned, by_device=not _is_partitioned(request))
        context.ExitResult(outputs.tensors)
    if context.clusters.cores:
        operations.set_attr(info, marks.HOST_COMPUTE_CORE, context.clusters.cores)
    status = _compile_status(request, info, cluster)
    fan_out, results = _fan_out(outputs, len(flat))
    marked = marks.Marked(
        graph=graph,
        cluster=cluster,
        num_replicas=len(flat),
        replicated_inputs=tuple(tensor.op for tensor in fan_in),
        outputs=tuple(tensor for tensor in outputs.tensors if tensor is not None),
        replicated_outputs=tuple(fan_out),
        # TensorFlow runs them all for any output, by the no-op among its outputs.
        control_outputs=tuple(
            op for op in context.operations if op.op_def.is_stateful or op in outputs.operations
        ),
        metadata=info,
        variable_names=context.variable_names,
    )
    return MarkResult(marked, status, outputs.structure, results, bool(padded), context)


def _pad(
    request: marks.ReplicateRequest, flattened: inputs.Inputs
) -> tuple[list[list[Any]], list[inputs.PaddedDimension]]:
    if not request.maximum_shapes:
        return flattened.flat, []
    if request.infeed_queue:
        raise errors.MaximumShapesError("Dynamic input shapes are not supported with infeed queues")
    shapes = inputs.flat_maximum_shapes(flattened, request.maximum_shapes)
    return inputs.pad_inputs(flattened.flat, shapes, request.padding_spec)


@contextmanager
def _enter(context: TPUReplicateContext) -> Iterator[None]:
    _building.depth = getattr(_building, "depth", 0) + 1
    try:
        context.Enter()
        yield
    finally:
        _building.depth -= 1
        context.report_unsupported_operations()
        context.Exit()


@contextmanager
def _shard_context(num_replicas: int) -> Iterator[None]:
    with ExitStack() as leave:
        with errors.raised_as(errors.NestedComputationError, NotImplementedError):
            leave.enter_context(graphs.shard_context(num_replicas))
        yield


def _arguments(
    request: marks.ReplicateRequest,
    flattened: inputs.Inputs,
    fan_in: list[Any],
    padded: list[inputs.PaddedDimension],
) -> list[Any]:
    """Return the arguments of the computation: tensors inside it."""
    tensors = list(fan_in)
    options = request.xla_options or tpu.XLAOptions()
    for dimension in padded if options.enable_xla_dynamic_padder else ():
        shape = tensors[dimension.input].shape
        tensors[dimension.input] = tpu.set_dynamic_dimension_size(
            tensors[dimension.input], dimension.dimension, tensors[dimension.size_input]
        )
        tensors[dimension.input].set_shape(shape)
    # Each input is consumed, used or not. The mark lets TensorFlow prune an unused one; with
    # padding it must not, since the padded dimensions are given by the number of an input.
    tensors = [tf.identity(t, name=f"replicated_input_{i}") for i, t in enumerate(tensors)]
    for tensor, is_composite in zip(tensors, flattened.is_composite, strict=False):
        if not padded or is_composite:
            operations.set_attr(tensor.op, marks.INPUT_IDENTITY, True)
    values = [None if none else t for none, t in zip(flattened.is_none, tensors, strict=False)]
    args: list[Any] = tpu.nest.pack_sequence_as(flattened.structure, values, expand_composites=True)
    queue = request.infeed_queue
    if queue is not None:
        queue.set_number_of_shards(len(flattened.flat))
        for tensor in queue.generate_dequeue_op():  # a tuple cannot take them, as in TensorFlow
            args.append(tensor)
    return args


def _is_partitioned(request: marks.ReplicateRequest) -> bool:
    """Return whether XLA's SPMD partitioner places the outputs, not a device scope."""
    options = request.xla_options or tpu.XLAOptions()
    assignment = request.device_assignment
    return bool(
        options.use_spmd_for_xla_partitioning
        and assignment is not None
        and assignment.num_cores_per_replica > 1
    )


def _compile_status(request: marks.ReplicateRequest, info: Any, cluster: str) -> Any:
    with tf.control_dependencies([info]):
        if not request.use_tpu:
            return tf.no_op(name="compilation_status")
        status = tpu.tpu_ops.tpu_compilation_result()
        operations.set_attr(status.op, marks.COMPILATION_STATUS, cluster)
        return status


def _fan_out(outputs: Outputs, num_replicas: int) -> tuple[list[Any], list[Any]]:
    """Return the `TPUReplicatedOutput`s, and for each replica its marked results."""
    if not outputs.tensors:
        groups = [tf.group(outputs.operations, name=f"shard_{i}") for i in range(num_replicas)]
        return [], groups
    fan_out: list[Any] = []
    results: list[list[Any]] = [[] for _ in range(num_replicas)]
    for number, tensor in enumerate(outputs.tensors):
        if tensor is None:
            for replica in results:
                replica.append(None)
            continue
        copies = tpu.tpu_ops.tpu_replicated_output(tensor, num_replicas, name=f"output{number}")
        fan_out.append(copies[0].op)
        with tf.control_dependencies(outputs.operations):
            for i, replica in enumerate(results):
                replica.append(tf.identity(copies[i], name=f"output_{number}_shard_{i}"))
    return fan_out, results


def warn_of_idle_padding(request: marks.ReplicateRequest, outcome: MarkResult) -> None:
    """Warn of a `padding_spec` that pads nothing."""
    # A strategy gives the same to each trace, whatever the shapes of its inputs.
    if request.padding_spec is None or is_called_by_strategy():
        return
    if not request.maximum_shapes:
        why = "without maximum_shapes"
    elif outcome.marked.num_replicas == 1:
        why = "with one replica"
    elif not outcome.is_padded:
        why = "with inputs of static and equal shapes"
    else:
        return
    errors.warn(errors.PaddingWarning(f"padding_spec has no effect {why}"))
