"""`replicate` and its nearest kin: one computation, run on every replica."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import tensorflow as tf

from tpulint.runtime import driver, hardware, results
from tpulint.runtime.errors import EagerExecutionError
from tpulint.runtime.mark.marked import Mode, ReplicateRequest, StepOutputs
from tpulint.runtime.mark.replicate import MarkResult
from tpulint.runtime.source_location import is_called_by_strategy
from tpulint.runtime.stepping import current_options
from tpulint.runtime.tensorflow_internals import gradients, graphs, tpu, tracebacks
from tpulint.runtime.undifferentiable import undifferentiable, undifferentiable_value

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
    found: list[Any] = split_compile_and_replicate(
        computation,
        inputs,
        infeed_queue,
        device_assignment,
        name,
        maximum_shapes=maximum_shapes,
        padding_spec=padding_spec,
        xla_options=xla_options,
    )[1]
    return found


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
    if hardware.real_tpu():
        return tpu.tensorflows_replicate(
            computation,
            inputs,
            infeed_queue,
            device_assignment,
            name,
            use_tpu,
            maximum_shapes,
            padding_spec,
            xla_options,
        )
    request = ReplicateRequest(
        computation,
        inputs,
        infeed_queue,
        device_assignment,
        use_tpu,
        maximum_shapes,
        padding_spec,
        xla_options,
    )
    if tf.executing_eagerly():
        if is_called_by_strategy():
            raise EagerExecutionError(_NO_EAGER_STEP)
        return _eagerly(request)
    is_function = isinstance(graphs.default_graph(), graphs.FuncGraph)
    return _in_graph(request, "function" if is_function else "graph")


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
    return replicate(
        computation,
        None if inputs is None else [inputs],
        infeed_queue=infeed_queue,
        device_assignment=device_assignment,
        name=name,
        xla_options=xla_options,
    )[0]


def _eagerly(request: ReplicateRequest) -> list[Any]:
    """Trace an eager call and run it once. An operation becomes None: it has run.

    Tapes see what is traced, as in a function of the user's, but not the call of the function.
    """
    traced: list[list[Any]] = []
    inside = gradients.recording_again if gradients.may_record() else nullcontext

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def tpu_step() -> Any:
        with inside():
            traced.append(_in_graph(request, "eager"))
        return tf.nest.map_structure(_without_operation, traced[-1])

    with gradients.no_recording():
        # A function is called operation by operation where the user asks for that.
        traces = not tf.config.functions_run_eagerly()
        values = tpu_step() if traces else tpu_step.get_concrete_function()()
    for symbol, value in zip(_flat(traced[-1]), _flat(values), strict=True):
        if value is not None:
            results.remember_same(symbol, value)
            undifferentiable_value(value, symbol)
    return list(values)


def _flat(structure: Any) -> list[Any]:
    return tf.nest.flatten(structure, expand_composites=True)  # type: ignore[no-any-return]


def _without_operation(value: Any) -> Any:
    return None if isinstance(value, tf.Operation) else value


def _in_graph(request: ReplicateRequest, mode: Mode) -> list[Any]:
    built = driver.run(request, mode, current_options())
    if built is None:
        return []
    outcome, ran = built
    with driver.apart_from_the_users_nodes():
        with gradients.no_recording():
            status = tf.constant(b"") if request.use_tpu else tf.no_op()
        results.remember(status, outcome.marked, outcome.compile_status)
        return [status, _results(outcome, ran)]


def _results(outcome: MarkResult, ran: StepOutputs) -> list[Any]:
    """Return the runnable results of each replica, in the computation's structure."""
    if isinstance(outcome.results[0], tf.Operation):
        return [
            _remembered(outcome, tf.group(done), twin)
            for done, twin in zip(ran.done, outcome.results, strict=True)
        ]
    twins = [[twin for twin in replica if twin is not None] for replica in outcome.results]
    packed = []
    for replica, tensors in zip(
        outcome.results, undifferentiable(ran.outputs, outcome.marked, twins), strict=True
    ):
        rest = iter(tensors)
        flat = [
            twin if twin is None else _remembered(outcome, next(rest), twin) for twin in replica
        ]
        packed.append(tpu.nest.pack_sequence_as(outcome.structure, flat, expand_composites=True))
    return packed


def _remembered(outcome: MarkResult, executable: Any, twin: Any) -> Any:
    results.remember(executable, outcome.marked, twin)
    return executable
