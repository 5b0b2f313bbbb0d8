"""`replicate` and its nearest kin: one computation, run on every replica."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from tpulint.runtime import hardware, results
from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.errors import PaddingWarning, UnfetchableError, as_fault
from tpulint.runtime.execute import step
from tpulint.runtime.internal import ours, partly_ours
from tpulint.runtime.mark import replicate as marking
from tpulint.runtime.mark import runnable
from tpulint.runtime.mark.marked import Mode, Ran
from tpulint.runtime.mark.request import Request
from tpulint.runtime.place import is_called_by_strategy
from tpulint.runtime.stepping import current_options
from tpulint.runtime.undifferentiable import undifferentiable, undifferentiable_value


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
        return tfi.tensorflows_replicate(
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
    request = Request(
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
        return _eagerly(request)
    is_function = isinstance(tfi.default_graph(), tfi.FuncGraph)
    return _in_graph(request, "function" if is_function else "graph")


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


def _eagerly(request: Request) -> list[Any]:
    """Trace an eager call and run it once. An operation becomes None: it has run."""
    traced: list[list[Any]] = []

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def tpu_step() -> Any:
        traced.append(_in_graph(request, "eager"))
        return tf.nest.map_structure(_without_operation, traced[-1])

    with tfi.no_recording():
        values = tpu_step()
    for symbol, value in zip(_flat(traced[-1]), _flat(values), strict=True):
        if value is not None:
            results.remember_same(symbol, value)
            undifferentiable_value(value, symbol)
    return list(values)


def _flat(structure: Any) -> list[Any]:
    return tf.nest.flatten(structure, expand_composites=True)  # type: ignore[no-any-return]


def _without_operation(value: Any) -> Any:
    return None if isinstance(value, tf.Operation) else value


def _in_graph(request: Request, mode: Mode) -> list[Any]:
    with partly_ours():
        outcome = marking.mark(request, mode)
    if outcome is None:
        return []
    runnable.check(outcome.context, outcome.marked, request.device_assignment)
    _warn_of_idle_padding(request, outcome)
    if mode == "graph":
        _guard_fetches(outcome.marked.graph)
    with _beside_the_users_nodes():
        # Tapes are to see the marked nodes.
        with tfi.no_recording(), ours():
            ran = step.run_marked(outcome.marked, current_options())
            status = tf.constant(b"") if request.use_tpu else tf.no_op()
        results.remember(status, outcome.marked, outcome.compile_status)
        return [status, _results(outcome, ran)]


def _results(outcome: marking.Outcome, ran: Ran) -> list[Any]:
    """Return the runnable results of each replica, in the computation's structure."""
    if isinstance(outcome.results[0], tf.Operation):
        return [
            _standing_for(outcome, tf.group(done), twin)
            for done, twin in zip(ran.done, outcome.results, strict=True)
        ]
    twins = [[twin for twin in replica if twin is not None] for replica in outcome.results]
    packed = []
    for replica, tensors in zip(
        outcome.results, undifferentiable(ran.outputs, outcome.marked, twins), strict=True
    ):
        rest = iter(tensors)
        flat = [
            twin if twin is None else _standing_for(outcome, next(rest), twin) for twin in replica
        ]
        packed.append(tfi.nest.pack_sequence_as(outcome.structure, flat, expand_composites=True))
    return packed


def _standing_for(outcome: marking.Outcome, executable: Any, twin: Any) -> Any:
    results.remember(executable, outcome.marked, twin)
    return executable


@contextmanager
def _beside_the_users_nodes() -> Iterator[None]:
    """Keep the step's operations out of the user's name, device and colocation scopes."""
    with tf.name_scope("tpulint/"), tf.device(None), tfi.no_colocation():
        yield


def _guard_fetches(graph: Any) -> None:
    """Make `Session.run` raise tpulint's error where `graph.prevent_fetching` forbids a fetch."""
    if getattr(graph, "_tpulint_guards_fetches", False):
        return
    graph._tpulint_guards_fetches = True
    fetchable = graph.is_fetchable

    def is_fetchable(tensor_or_op: Any) -> bool:
        if not fetchable(tensor_or_op):
            raise _refused(tensor_or_op)
        return True

    graph.is_fetchable = is_fetchable


def _refused(op: Any) -> UnfetchableError:
    return as_fault(
        UnfetchableError,
        tfi.InaccessibleTensorError(
            f"Operation {op.name} has been marked as not fetchable. Typically this happens when "
            "it is defined in another function or code block. Use return values, explicit "
            "Python locals or TensorFlow collections to access it."
        ),
    )


def _warn_of_idle_padding(request: Request, outcome: marking.Outcome) -> None:
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
    warnings.warn(PaddingWarning(f"padding_spec has no effect {why}"), stacklevel=2)
