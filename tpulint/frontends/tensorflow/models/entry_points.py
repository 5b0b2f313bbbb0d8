"""`replicate` and its family: the functions that build a TPU computation, and what they trace."""

from __future__ import annotations

from dataclasses import replace

from tpulint.absint.domain import values
from tpulint.absint.domain.context import COMPUTATION, WHILE, Scope
from tpulint.absint.domain.events import Argument, Computation, Tensor, Variable
from tpulint.absint.domain.objects import Mapping, Sequence, function_of
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Choice, Const, Opaque, Value, join
from tpulint.absint.interpreter import calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.deferred import force_data
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.models.table import Call, model, snapshot


# tensorflow/python/tpu/tpu.py: a function is traced once, for all replicas.
def trace(
    call: Call,
    kind: str,
    callee: Value,
    arguments: list[Argument] | None,
    opaque: frozenset[str] = frozenset(),
    *,
    certainty: Certainty = Certainty.DEFINITE,
    mode: str = "graph",
    host_modes: frozenset[str] = frozenset(),
    predicts: bool = True,
    inside: tuple[Scope, ...] = (),
) -> Value:
    """Build the computation of `callee`; `arguments` None means one tensor a parameter.

    inside: what is around the callee's code in the computation.
    """
    frame = call.frame
    callee = call.force(callee)
    computation = Computation(kind, call.site, frame.context, callee, call.record, certainty, mode)
    computation.host_modes, computation.predicts = host_modes, predicts
    program = frame.session.program
    is_run = kind in tf_names.STRATEGY_RUN
    if not frame.context.is_unrecorded:
        outer = frame.context.computation
        if outer is not None:
            outer.inner.append(computation)
        program.computations.append(computation)
    results = []
    with frame.scopes_closed():
        frame.open(Scope(COMPUTATION, call.site, computation), *inside)
        for option in callee.options:
            args = arguments
            if args is None:
                args = tensor_arguments(option, call.site, opaque)
            inputs = tuple(
                argument._replace(value=as_input(frame, argument.value, call.site, is_whole=is_run))
                for argument in args
            )
            computation.parameters = tuple(argument.value for argument in inputs)
            results.append(calls.call(frame, option, inputs, call.site))
        computation.result = transfer.each_tensor(
            join(results), lambda tensor: transfer.read_here(frame, tensor, call.site)
        )
    return computation.result


def run_on_device(call: Call) -> Value:
    """Build the computation of the first argument, with the other arguments as its inputs.

    A team's own function does so, as `TPUStrategy.run` would. The dotted name is the computation's
    kind, so no rule takes it for a function of TensorFlow, whose arguments it knows.
    """
    if not call.arguments:
        return UNKNOWN
    first, *inputs = call.arguments
    return trace(call, call.path, first.value, inputs, mode="function")


def as_input(frame: Frame, value: Value, site: Site, *, is_whole: bool = False) -> Value:
    """Return the computation's own tensors for an input, in the same structure.

    is_whole: each replica gets all of a tensor, so that its shape stays.
    """

    def own(item: Value) -> Value:
        return as_input(frame, item, site, is_whole=is_whole)

    if isinstance(value, Choice):
        return join(map(own, value.options))
    if isinstance(value, Opaque):
        force_data(frame, value, site)
    if isinstance(value, Sequence) and not value.open:
        return Sequence(value.kind, list(map(own, value.items)))
    if isinstance(value, Mapping) and not value.open:
        return Mapping({key: own(item) for key, item in value.items.items()})
    is_known = isinstance(value, Const) and value.value is not None
    number = is_known or isinstance(value, (values.Number, values.Scaled))
    if isinstance(value, (Sequence, Mapping, Opaque, Tensor)) or value is UNKNOWN or number:
        if isinstance(value, Opaque) and value.is_static:
            return Opaque(value.path)
        # Whether a replica's share differs from the others' is not known before the pipeline is
        # read: each replica has its own of a tensor, or of a structure of them.
        tensor = Tensor(frame.context, site, "structure", per_replica=True, data=True)
        if isinstance(value, Tensor):
            tensor.split = value.of_all is not None
            if value.sort == "tensor" and (tensor.split or is_whole):
                tensor.dtype, tensor.shape = value.dtype, value.shape
                tensor.sort = "tensor" if tensor.split else tensor.sort
                tensor.single = tensor.split and value.single
            if value.uniform and not is_whole:
                tensor.per_replica, tensor.uniform = False, True
        # One tensor of the host, which each replica gets, is no PerReplica.
        is_of_host = (
            isinstance(value, Tensor)
            and value.sort == "tensor"
            and not (value.of_all is not None or value.data or value.per_replica)
        )
        if is_whole and (number or is_of_host):
            tensor.per_replica, tensor.uniform = False, True
        return tensor
    return value


def tensor_arguments(callee: Value, site: Site, opaque: frozenset[str]) -> list[Argument]:
    """Return one argument per required parameter; those named in `opaque` are no tensors.

    Without such names there may be more arguments, for parameters with defaults.
    """
    function = function_of(callee)
    if function is None:
        return [Argument(None, "*", UNKNOWN, site)]
    code = function.code.parameters
    rows = code.by_position
    if isinstance(callee, Bound):
        rows = rows[1:]
    arguments = []
    for name, default in rows:
        if name in opaque:
            arguments.append(Argument(name, "", Opaque(name, is_static=True), site))
        elif default is None:
            arguments.append(Argument(None, "", UNKNOWN, site))
    if code.star is not None or not opaque:
        arguments.append(Argument(None, "*", UNKNOWN, site))
    return arguments


SHARDED = frozenset(["shard", "split_compile_and_shard", "batch_parallel", "rewrite"])

# The position of an infeed queue where it is not the third.
QUEUES = {"batch_parallel": 3, "shard": 6, "split_compile_and_shard": 6}


# A name that only the TPU's module has is enough; the others follow the name of such a module.
NAMES = [f"?.{name}" for name in sorted(tf_names.REPLICATE_FAMILY & tf_names.UNMISTAKABLE)] + [
    f"{module}.{name}"
    for name in sorted(tf_names.REPLICATE_FAMILY - tf_names.UNMISTAKABLE)
    for module in ("tpulint.runtime", *(f"?.{module}" for module in sorted(tf_names.TPU_MODULES)))
]


# tensorflow/python/tpu/tpu.py
@model(*NAMES)
def _replicate(call: Call) -> Value:
    inputs = None if call.name in SHARDED else call.get("inputs", 1)
    if isinstance(inputs, Sequence) and not inputs.open and not inputs.items:
        return Sequence("list", [])  # of no replicas: TensorFlow calls nothing then
    call.record.arguments = snapshot(call.arguments)
    callee = call.get("computation", 0) or UNKNOWN
    mode = "function" if call.frame.context.traced else "graph"
    trace(call, call.name, callee, _inputs(call), mode=mode)
    return Tensor(call.frame.context, call.site, "structure")


def _inputs(call: Call) -> list[Argument] | None:
    """Return the arguments of one replica, None where their number is not known."""
    if call.get("infeed_queue", QUEUES.get(call.name, 2)) not in (None, NONE):
        return None
    inputs = call.get("inputs", 1)
    if inputs is None or inputs == NONE:
        return []
    if call.name not in SHARDED:
        if not isinstance(inputs, Sequence) or not inputs.items:
            return None
        inputs = _first_replica_inputs(call, inputs)
        if inputs == NONE:
            return []
    elif isinstance(inputs, Tensor):
        return list(calls.by_position(call.site, _shard(inputs)))
    if not isinstance(inputs, Sequence) or inputs.open:
        return None
    items = [_convert_input(item) for item in inputs.items]
    if call.name in SHARDED:
        items = [_shard(item) for item in items]
    return list(calls.by_position(call.site, *items))


def _shard(value: Value) -> Value:
    """Return one shard of an input: equal on all replicas where all elements are equal."""
    return transfer.each_tensor(value, lambda tensor: replace(tensor, uniform=tensor.filled))


def _first_replica_inputs(call: Call, inputs: Sequence) -> Value:
    """Return the first replica's inputs, of which each says whether all replicas get the same."""
    first = inputs.items[0]
    if not isinstance(first, Sequence) or first.open:
        return first
    rows = [replica.items if isinstance(replica, Sequence) else [] for replica in inputs.items]
    depth = len(call.frame.context.scopes)
    items: list[Value] = []
    for position, item in enumerate(first.items):
        if not isinstance(item, Tensor):
            items.append(item)
            continue
        same = all(position < len(row) and row[position] is item for row in rows)
        outside = item.made is not None and len(item.made.scopes) <= depth
        repeated = position in inputs.alike or not inputs.open
        items.append(replace(item, uniform=repeated and same and outside))
    return Sequence(first.kind, items, False, first.site)


# `tpu.replicate` calls ops.convert_to_tensor on each input, on the host.
def _convert_input(value: Value) -> Value:
    """TensorFlow makes tensors of inputs before the computation: a variable is read out there."""
    if isinstance(value, Variable):
        return UNKNOWN
    if isinstance(value, Choice):
        return join(_convert_input(option) for option in value.options)
    if isinstance(value, Sequence) and not value.open:
        return Sequence(value.kind, [_convert_input(item) for item in value.items])
    if isinstance(value, Mapping) and not value.open:
        return Mapping({key: _convert_input(item) for key, item in value.items.items()})
    return value


# tensorflow/python/tpu/training_loop.py: a loop on the device, around steps that an infeed feeds.
@model("?.training_loop.while_loop", "?.training_loop.repeat")
def _training_loop(call: Call) -> Value:
    """Model `training_loop.repeat(n, body, inputs)` and `.while_loop(condition, body, inputs)`.

    TensorFlow makes tensors of the inputs: numbers, too.
    """
    inputs = call.get("inputs", 2)
    values: list[Value] = [UNKNOWN]
    if isinstance(inputs, Sequence) and not inputs.open:
        values = list(inputs.items)
        for position, item in enumerate(inputs.items):
            if isinstance(item, Const):
                values[position] = tensor = transfer.result(call.frame, [], call.site)
                tensor.uniform = True
    scope = Scope(WHILE, call.site)
    called = [(1, "body")] if call.name == "repeat" else [(0, "condition"), (1, "body")]
    callees = [call.get(keyword, position) for position, keyword in called]
    functions = [it for it in callees if it is not None and not isinstance(it, Tensor)]
    results = [call.run_inside(scope, function, values) for function in functions]
    # The next iteration takes what the body returns, and so does who asks for the loop's result.
    outputs = [transfer.leave_control(call.frame, result, [], call.site) for result in results]
    transfer.touch(call.frame, call.values, call.site, call.name)
    return transfer.result(call.frame, [*call.values, *outputs], call.site)
