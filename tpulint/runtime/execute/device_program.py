"""A device segment as a function that XLA compiles, with its results, and XLA's refusals.

XLA:CPU keeps the sizes of a tensor whose shape it knows only by its bounds behind its values, and
where one tensor is returned twice (by name, through operations that change nothing, or because XLA
sees that two are equal) it copies the values alone: the second comes out empty, or as garbage. So
several such tensors leave a segment as large as their bounds, each with its shape, and are cut to
that outside.

Operations with no kernel are found earlier (see extract/kernels.py). Only XLA, when the step runs,
finds a shape that is not a compile-time constant, or attributes that a kernel refuses.

With `compile="never"`, XLA only translates the segment, which tells whether it would refuse it, and
TensorFlow's kernels run it. What XLA refuses, or these kernels cannot run, is compiled as always.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import tensorflow as tf

from tpulint.runtime.emulator import Listeners
from tpulint.runtime.errors import RuntimeFault, UnsupportedOpError
from tpulint.runtime.execute.raising import as_tensorflow_error
from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image, scope_of
from tpulint.runtime.extract.constants import (
    ConstantScope,
    device_constant,
    find_slice_bounds,
    recompute,
    shaped_tensors,
)
from tpulint.runtime.extract.copying import Copied, copy_operations, inputs_of
from tpulint.runtime.extract.kernels import can_run_on_cpu
from tpulint.runtime.extract.region import Graph, Operation, Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.schedule import Plan
from tpulint.runtime.source_location import operation_location, user_location
from tpulint.runtime.tensorflow_internals import graphs, operations


def enlarge_to_bounds(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[int]]:
    """Return the results of a segment for `tensors`, and the indices of those to cut outside.

    The shapes of those come last.
    """
    bounded = [
        place
        for place, tensor in enumerate(tensors)
        if tensor.shape.rank
        and tensor.dtype not in (tf.resource, tf.variant)
        and not tensor.shape.is_fully_defined()
    ]
    # One alone comes out right, and with its true shape.
    if len(bounded) < 2:
        return list(tensors), []
    enlarged = list(tensors)
    for place in bounded:
        for axis, size in enumerate(tensors[place].shape.as_list()):
            if size is None:
                enlarged[place] = operations.pad_to_bound(enlarged[place], axis)
    return [*enlarged, *(tf.shape(tensors[place]) for place in bounded)], bounded


_SEGMENT = re.compile(r"tpu_device_segment_\d+")
_NODE = re.compile(r"\[\[(?:\{\{function_node ([^}]+)\}\})?(?:\{\{node )?([^}\]]+)")
_CONVERTED = re.compile(r"while converting ([^\[\s]+)\[")
_BEFORE_WORDS = re.compile(
    r"Graph execution error:\s+|Detected at node .*?(?:<stack traces unavailable>|Node: '[^']*')\n"
    r"|\{\{function_node [^}]*\}\} ?",
    re.DOTALL,
)
_AFTER_WORDS = re.compile(r"\s+(?:Stack trace for op definition:|\[\[)")
_REFUSALS = {
    "must be a compile-time constant": "TPU502",
    "output shapes of loop body do not match": "TPU502",
    "does not support bounded dynamic dimensions": "TPU502",
    "cannot be changed after initialization": "TPU502",
    "left_branch_shape": "TPU502",
    "of then and else branches do not match": "TPU502",
    "Detected unsupported operations": "TPU501",
}
# In a list of unknown length, the gradient of a loop keeps what each round has computed
# (tensorflow/python/ops/while_v2.py names it). A list of the program's own is not meant.
_LIST_SIZE = "requires a fixed tensor list size"
_KEPT_FOR_GRADIENT = "accumulator"
_graphs: WeakValueDictionary[str, Any] = WeakValueDictionary()


class _Node(NamedTuple):
    """A node that a message names; in the function of that name, if it says so."""

    function: str
    name: str


def _register_segment(function: Any, operations: dict[str, Operation]) -> str:
    """Note that `function`, as long as it lives, is a segment; return its name in XLA's messages.

    `operations` has the computation's operations by the names of their images in the function.
    """
    name = function.name.decode() if isinstance(function.name, bytes) else function.name
    shown = _SEGMENT.search(name)
    assert shown is not None, name
    # On the graph itself, so that they go when the function goes.
    function.graph.tpulint_operations = operations
    _graphs[shown[0]] = function.graph
    return shown[0]


def refused_segment(message: str) -> RuntimeFault | None:
    """Return the fault of a segment that an InvalidArgumentError's `message` reports, or None."""
    graph = next((_graphs[name] for name in _SEGMENT.findall(message) if name in _graphs), None)
    operation = None if graph is None else _named_operation(graph, message)
    if operation is None:
        return None
    # What XLA says, without the nodes and the traces around it.
    words = message
    while before := _BEFORE_WORDS.match(words):
        words = words[before.end() :]
    words = _AFTER_WORDS.split(words, maxsplit=1)[0].strip()
    if f"`{operation.name}`" not in words:
        words = f"{operation.type} `{operation.name}`: {words}"
    rule = next((rule for text, rule in _REFUSALS.items() if text in message), "")
    if (_LIST_SIZE in message or rule == "TPU502") and operation.name.endswith(_KEPT_FOR_GRADIENT):
        rule = "TPU508"
    return as_tensorflow_error(
        UnsupportedOpError(words, place=operation_location(operation), rule=rule)
    )


def _named_operation(graph: Graph, message: str) -> Operation | None:
    """Return the user's operation that `message` names, or the innermost around it that is sure.

    The message names the operation first, then those whose bodies it is in, then the segment.
    """
    nodes = [_Node(*match) for match in _NODE.findall(message)]
    # What follows the segment is around it, and no operation of the user.
    inside = itertools.takewhile(lambda node: not _SEGMENT.search(node.name), nodes)
    converted = _CONVERTED.findall(message)
    operation = None
    for node in reversed(list(inside)):
        candidates = list(_candidates(graph, operation, node, converted))
        # Where two lines could be meant, neither is named.
        if len({operation_location(candidate) for candidate in candidates}) != 1:
            break
        operation = candidates[0]
    return operation


def _candidates(
    graph: Graph, around: Operation | None, node: _Node, converted: Sequence[str]
) -> Iterator[Operation]:
    """Yield the operations that `node`, in a body of `around` if any, may be."""
    with contextlib.suppress(KeyError):
        if node.function:
            body = graphs.function_graph(graph, node.function)
            yield body.get_operation_by_name(node.name)
            return
        if around is None:
            yield graph.tpulint_operations[node.name]
            return
    bodies = graphs.functions_by_name(around) if around is not None else {}
    named = [name for name in bodies if any(node.startswith(name) for node in converted)]
    for name in named or bodies:
        with contextlib.suppress(KeyError):
            yield bodies[name].get_operation_by_name(node.name)


_listeners: Listeners[str | None, bool] = Listeners()
segments_sent_to = _listeners.including
"""A context that tells a function of each segment that is built.

It gets the user's line that builds the computation, and whether XLA compiles the segment.
"""


class DeviceProgram:
    """The function of the segment of `ops`, whose results are the images of `wanted`."""

    def __init__(
        self,
        planned: Plan,
        ops: Sequence[Operation],
        wanted: Sequence[Tensor],
        images: TensorMap,
        *,
        compiles: bool,
    ) -> None:
        self._planned, self._ops, self._wanted = planned, ops, wanted
        self._region = planned.region
        scope = scope_of(self._region, images)
        self._inputs = inputs_of(self._ops)
        self._constants = {
            name: value
            for name, tensor in self._inputs.items()
            if (value := device_constant(scope, tensor))
        }
        self._taken = {
            name: constant_or_image(self._region, name, images, on_host=False)
            for name in self._inputs
            if name not in self._constants
        }
        self._shaped = {
            _key_of_shape(around, tensor): around.image(tensor.name)
            for value in self._constants.values()
            for around, tensor in shaped_tensors(value)
            if around.image is not None
        }
        self._bounds = [
            bound
            for bound in find_slice_bounds(self._region, self._ops)
            if any(name in self._taken for name in bound.sources)
        ]
        self._fixed = {
            name: self._taken[name]
            for bound in self._bounds
            for name in bound.sources
            if name in self._taken
        }
        # XLA takes variables last, and none twice; a loop returns the handles that it was given.
        arguments = sorted(
            (*self._taken.values(), *self._shaped.values()),
            key=lambda image: bool(image.dtype == tf.resource),
        )
        self._arguments = {image.name: image for image in arguments}
        self._to_cut: list[int] = []
        self._operations: dict[str, Operation] = {}
        accepted = None if compiles else self._accepted_function()
        self._is_compiled = accepted is None
        _listeners(user_location(), self._is_compiled)
        self._function = accepted or self._trace(compiled=True)
        self._name = _register_segment(self._function, self._operations)

    def launch(self) -> tuple[list[Tensor], Operation]:
        """Return the results of a call of the function here, and the call."""
        constants, arguments = list(self._fixed.values()), list(self._arguments.values())
        if self._is_compiled:
            results = operations.launch_with_xla(self._function, constants, arguments, self._name)
        else:
            results = operations.call_function(self._function, arguments, self._name)
        number = len(results) - len(self._to_cut)
        tensors = list(results[:number])
        for place, shape in zip(self._to_cut, results[number:], strict=True):
            tensors[place] = tf.slice(tensors[place], tf.zeros_like(shape), shape)
        return tensors, results[0].op

    def _accepted_function(self) -> Callable[..., Tensor] | None:
        """Return the function if XLA accepts it and TensorFlow's kernels can run it, or None."""
        # XLA is asked before there are values, and so shapes and bounds have to be known.
        if self._fixed or not can_run_on_cpu(self._region, self._ops):
            return None
        shapes = {image.name: image.shape for image in self._arguments.values()}
        variables = []
        for name, image in self._taken.items():
            if image.dtype == tf.resource:
                variables.append(graphs.variable_spec(self._inputs[name]))
            else:
                shapes[image.name] = self._inputs[name].shape
        data = [
            tf.TensorSpec(shapes[name], image.dtype)
            for name, image in self._arguments.items()
            if image.dtype != tf.resource
        ]
        specs = [*data, *variables]
        if None in specs or not all(spec.shape.is_fully_defined() for spec in specs):
            return None
        function = self._trace(compiled=False)
        with graphs.eager_mode(), tf.device(devices.COORDINATORS_CPU):
            is_accepted = operations.can_be_compiled(function, data, variables)
        return function if is_accepted else None

    def _trace(self, *, compiled: bool) -> Callable[..., Tensor]:
        def tpu_device_segment(*parameters: Tensor) -> list[Tensor]:
            fixed = dict(zip(self._fixed, parameters))
            inside = dict(zip(self._arguments, parameters[len(fixed) :], strict=True))
            return self._results(fixed, inside, compiled)

        parameters = (*self._fixed.values(), *self._arguments.values())
        return tf.function(  # type: ignore[no-any-return]
            tpu_device_segment,
            jit_compile=compiled,
            autograph=False,
            input_signature=[tf.TensorSpec(None, image.dtype) for image in parameters],
        ).get_concrete_function()

    def _results(
        self, fixed: dict[str, Tensor], inside: dict[str, Tensor], compiled: bool
    ) -> list[Tensor]:
        """Build the segment; `fixed` has what bounds depend on, `inside` the arguments."""

        def shaped(scope: ConstantScope, tensor: Tensor) -> Tensor:
            return inside[self._shaped[_key_of_shape(scope, tensor)].name]

        images = {name: recompute(value, shaped) for name, value in self._constants.items()}
        for name, image in self._taken.items():
            images[name] = inside[image.name]
            for tensor in (images[name], *([fixed[name]] if name in fixed else [])):
                tensor.set_shape(self._inputs[name].shape)
        copied = self._copy(self._ops, images)
        self._operations.update({copied.operations[op.name].name: op for op in self._ops})
        outside = {**images, **copied.tensors, **fixed}
        for bound in self._bounds:
            computed = self._copy(list(bound.ops.values()), outside).tensors
            tensor = {**outside, **computed}[bound.tensor.name]
            copied.operations[bound.op.name]._update_input(bound.index, tensor)
        wanted = [copied.tensors[out.name] for out in self._wanted]
        # Shapes that were set, not inferred, are lost in a copy: behind an input that was padded
        # no rank is known, and `enlarge_to_bounds` would take such a result for one with no bound.
        for tensor, out in zip(wanted, self._wanted, strict=True):
            tensor.set_shape(out.shape)
        # Known only now, when the segment is traced; `launch` needs it for the results.
        results, self._to_cut[:] = enlarge_to_bounds(wanted) if compiled else (wanted, [])
        return results or [tf.constant(True)]

    def _copy(self, ops: Sequence[Operation], images: dict[str, Tensor]) -> Copied:
        return copy_operations(
            self._region, ops, images.__getitem__, self._planned.before, on_device=True
        )


def _key_of_shape(scope: ConstantScope, tensor: Tensor) -> tuple[int, str]:
    return id(scope.region), tensor.name
