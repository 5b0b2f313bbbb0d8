"""TPU711: what holds a tensor of each replica is used as if it were one tensor."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from tpulint.absint.domain import objects
from tpulint.absint.domain.context import DATA, FUNCTION, GUESSES, NO_KNOWN_CALLER, UNSEEN
from tpulint.absint.domain.events import ApiCall, Computation, Context, Tensor, Variable
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import STRUCTURES, parts
from tpulint.absint.domain.values import NONE, UNKNOWN, Choice, Const, Value
from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.frontends.tensorflow.branch_tests import asks_about
from tpulint.frontends.tensorflow.keras_models import CALLED, is_model, is_optimizer
from tpulint.frontends.tensorflow.knowledge import naming, strategies, tf_names
from tpulint.frontends.tensorflow.strategy import SCOPE, Strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import batches_taken_by
from tpulint.queries.eager_calls import input_signatures, may_be_tpus
from tpulint.queries.entry_calls import is_number
from tpulint.queries.strategies import is_for_many, is_on_replica, is_run, reduced_by, strategy_of
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import CallNode, Display, last_name

INSTEAD = "reduce it with `strategy.reduce`, or take it apart with `experimental_local_results`"
IN_ARGUMENTS = "pass it in `args` of `run`, which gives each replica its own"
IN_RUN = "call it in the function that `run` is given"
TO_KERAS = "pass the dataset to `fit`, `evaluate` or `predict`"
IN_STEP = "apply the gradients in the function that `run` is given"
TENSOR = "tensor"
CURRENT = "get_strategy"
REPLICA_CONTEXT = "get_replica_context"
JOINS_REPLICAS = ("all_reduce", "all_gather")
LEN = "builtins.len"
MAKE_OF_NUMBERS = frozenset(["constant", "fill", "ones", "zeros"])
COMPARES_ARGUMENTS = ("builtins.max", "builtins.min")
# keras/src/trainers/trainer.py. `predict_on_batch` takes a value of all replicas with Keras 3.
KERAS_TAKES = frozenset(["fit", "evaluate", "predict", "train_on_batch", "test_on_batch"])
SYNTAX = {"formats": "the format of a number", "subscript": "`[...]`", "iteration": "a loop"}


class Taken(NamedTuple):
    """A value of all replicas that something takes: at `site`, by what is called `taker`.

    of_structures: a structure of such values could be taken so, too, as a list is by `+`.
    takes_apart: a structure of such values is taken apart so. It is a fault only where the step
    returns one tensor.
    instead: what to do.
    """

    tensor: Tensor
    site: Site
    context: Context
    taker: str
    of_structures: bool = False
    takes_apart: bool = False
    instead: str = INSTEAD


@register
class PerReplicaValueAsTensor(Rule):
    code = "TPU711"
    name = "per-replica-value-as-tensor"
    severity = Severity.ERROR
    summary = "values of all replicas where a single tensor is needed"

    def check(self, program: Program, report: Report) -> None:
        _check_plain_numbers(program, report)
        _check_arguments(program, report)
        _check_signatures(program, report)
        for taken in (*taken_by_calls(program), *taken_by_operators(program)):
            source = taken.tensor.of_all  # None where an item was stored in it later
            if source is None:
                continue
            certainty = certainty_of(program, taken, source)
            if certainty is None:
                continue
            is_result = source.last in tf_names.STRATEGY_RUN
            step = taken.context.computation
            instead = taken.instead if step is None else IN_ARGUMENTS
            way = () if step is None else traces.calls(DEVICE_LANE, step.context, taken.context)
            lane = HOST_LANE if step is None else DEVICE_LANE
            subject = f"the result of `{source.last}`" if is_result else "an element of the dataset"
            origin = "gives one value per replica" if is_result else "distributes the dataset"
            report(
                taken.site.span,
                f"{subject} holds a value of each replica, so {taken.taker} cannot take it as a"
                f" tensor: {instead}",
                certainty=certainty,
                trace=(
                    traces.host_step(source.site, origin),
                    *way,
                    traces.step(lane, taken.site, "uses what holds all values as a tensor"),
                ),
            )


# tensorflow/python/distribute/cross_device_ops.py, `reduce_non_distributed_value`
def _check_plain_numbers(program: Program, report: Report) -> None:
    """Check that what is summed over the replicas is no number or tensor of the host."""
    for call, strategy, value in reduced_by(program, "SUM"):
        if strategy.kind != "tpu":
            continue
        is_sum_of_one = is_number(value.value) and value.value not in (Const(0), Const(0.0))
        if is_sum_of_one or is_tensor_of_host(program, call, value.value):
            kind = "number" if is_sum_of_one else "tensor"
            report(
                value.site.span,
                f"`reduce` adds up what each replica has, and the host has this {kind} only once:"
                " pass what `run` returns",
                certainty=definite_if(
                    is_for_many(program, strategy, call.context),
                    not call.context.is_guess and not call.context.hides_faults,
                ),
                trace=(traces.host_step(call.site, "adds up one value per replica"),),
            )


def is_tensor_of_host(program: Program, call: ApiCall, value: Value) -> bool:
    """Return whether `reduce` sums one tensor that the host has made, by an operation or operator.

    With an axis it sums the tensor's rows. A sum that a loop adds to was a number before.
    """

    def is_of_host(option: Value) -> bool:
        if not isinstance(option, Tensor):
            return is_number(option)
        return option.of_all is None and (
            option.single
            or any(
                maker.last in MAKE_OF_NUMBERS and tf_names.is_tensorflow(maker.path)
                for maker in program.by_result.get(id(option), ())
            )
        )

    if call.value("axis", 2) != NONE or call.context.computation is not None:
        return False
    alternatives = value.options
    has_tensor = any(isinstance(option, Tensor) for option in alternatives)
    return has_tensor and all(map(is_of_host, alternatives))


# The arguments of `run` by position, what each of them is, and the mistake that was made with it.
TAKEN_APART = {
    1: ("args", "tuple of arguments", "a single argument without its comma: write `args=(x,)`"),
    2: ("kwargs", "dictionary of arguments", "one of them: write all in `args=(x, y)`"),
}


def _check_arguments(program: Program, report: Report) -> None:
    """Check that a step gets its arguments in a tuple and a dictionary, and no value itself."""
    for computation, position in product(filter(is_run, program.computations), TAKEN_APART):
        keyword, due, advice = TAKEN_APART[position]
        arguments = computation.call.argument(keyword, position)
        value = UNKNOWN if arguments is None else arguments.value
        if arguments is None or not isinstance(value, Tensor) or not is_certainly_one(value):
            continue
        context, origin = computation.context, value.of_all
        if origin is not None:
            taken = Taken(value, arguments.site, context, "")
            certainty = certainty_of(program, taken, origin)
        # The rows of an eager tensor can be unpacked. A test may ask what the value is.
        elif context.forks or not context.traced:
            continue
        else:
            is_step = computation.certainty is Certainty.DEFINITE
            certainty = definite_if(is_step, not context.is_guess)
        if certainty is None:
            continue
        steps = []
        if origin is not None:
            steps.append(traces.host_step(origin.site, "gives one value per replica"))
        steps.append(traces.host_step(arguments.site, "unpacks it"))
        report(
            arguments.site.span,
            f"`{computation.kind}` takes a {due}, but this is {advice}",
            certainty=certainty,
            trace=tuple(steps),
        )


# tensorflow/python/eager/polymorphic_function/function_type_utils.py, `bind_function_inputs`
def _check_signatures(program: Program, report: Report) -> None:
    """Check that no `input_signature` has one tensor for what holds a tensor of each replica."""
    for computation in program.computations:
        outer = next((it for it in computation.context.scopes if it.kind == FUNCTION), None)
        if outer is None or not is_run(computation):
            continue
        traced, items = outer.payload, getattr(computation.call.value("args", 1), "items", ())
        if not isinstance(traced, objects.TracedCall) or not takes_tensors_only(traced.function):
            continue
        held = (item for item in items if isinstance(item, Tensor) and item.of_all is not None)
        value = next(held, None)
        # What the function itself makes of a dataset or of another step is none of its arguments.
        if value is None or value.of_all is None or outer in value.of_all.context.scopes:
            continue
        taken = Taken(value, outer.site, computation.context, "")
        certainty = certainty_of(program, taken, value.of_all)
        if certainty is not None:
            report(
                outer.site.span,
                f"the `input_signature` of `{traced.function.name}` names one tensor, but this"
                " argument holds one for each replica: write the `element_spec` of the distributed"
                " dataset there, or leave it out",
                certainty=certainty,
                trace=(
                    traces.host_step(value.of_all.site, "gives one value per replica"),
                    traces.host_step(outer.site, "passes it where one tensor is due"),
                ),
            )


def takes_tensors_only(function: objects.Function) -> bool:
    """Return whether a decorator lists a `TensorSpec` for each argument of a function."""
    return any(
        isinstance(signature, Display)
        and bool(signature.items)
        and all(
            isinstance(item, CallNode) and last_name(item.callee) == "TensorSpec"
            for item in signature.items
        )
        for signature in input_signatures(function)
    )


def takes_what_may_hold_all(call: ApiCall) -> bool:
    """Return whether an argument may be, or hold, what holds a value of each replica."""
    for argument in call.arguments:
        value = argument.value
        if isinstance(value, STRUCTURES) or (isinstance(value, Tensor) and value.of_all):
            return True
    return False


def taken_by_calls(program: Program) -> Iterator[Taken]:
    """Yield what methods of tensors, Python's numbers, TensorFlow and metrics are given."""
    for call in program.all_calls():
        if isinstance(call.receiver, Tensor):
            is_method = call.last in tf_names.METHODS
            receiver = value_of_all(receiver_of(program, call)) if is_method else None
            if receiver is not None:
                yield Taken(receiver, call.site, call.context, f"`.{call.last}()`")
            continue
        if not takes_what_may_hold_all(call):
            continue  # most calls
        if call.last == "apply_gradients" and is_optimizer(call.receiver):
            yield from gradients_applied(call)
        is_keras = call.last in KERAS_TAKES and is_model(call.receiver)
        for value, site in data_due(call) if is_keras else values_due(call):
            tensor = value_of_all(value)
            if tensor is not None:
                instead = TO_KERAS if is_keras else INSTEAD
                yield Taken(
                    tensor,
                    site,
                    call.context,
                    f"`{call.last}`",
                    takes_apart=call.path == LEN,
                    instead=instead,
                )


def is_in_scope(call: ApiCall) -> bool:
    return any(scope.effect == SCOPE for scope in call.context.scopes)


# tensorflow/python/distribute/values_util.py, `on_write_assign`: outside the steps, each copy of a
# variable of the strategy takes the value of its own replica.
def is_write(call: ApiCall) -> bool:
    """Return whether this writes a variable which takes one tensor: in a step, or a host's own."""
    variable = call.receiver
    if not isinstance(variable, Variable) or call.last not in tf_names.ASSIGNS:
        return False
    if call.context.computation is not None:
        return True
    created = variable.made
    if variable.sort != "variable" or created is None or created.is_guess:
        return False
    return not created.is_unrecorded and not any(
        scope.kind == NO_KNOWN_CALLER or scope.effect in (SCOPE, UNSEEN) for scope in created.scopes
    )


def gradients_applied(call: ApiCall) -> Iterator[Taken]:
    """Yield the gradients of all replicas that an optimizer gets, the first of a list's.

    Under the strategy's scope the call itself is the fault, which TPU712 reports.
    """
    pairs = call.argument("grads_and_vars", 0)
    if is_in_scope(call) or pairs is None or not isinstance(pairs.value, objects.Sequence):
        return
    for pair in pairs.value.items:
        gradient = pair.items[0] if isinstance(pair, objects.Sequence) and pair.items else None
        tensor = value_of_all(gradient)
        if tensor is not None:
            yield Taken(tensor, pairs.site, call.context, f"`{call.last}`", instead=IN_STEP)
            return


def receiver_of(program: Program, call: ApiCall) -> Value:
    """Return what a method is called on: of several things each is recorded as a call."""
    step = call.context.computation
    receivers = [
        other.receiver
        for other in (program.at[call.site] if step is None else step.calls)
        if other.site == call.site
        and other.context.call_chain == call.context.call_chain
        and other.receiver is not None
    ]
    return receivers[0] if len(receivers) == 1 else Choice(tuple(receivers))


def values_due(call: ApiCall) -> Iterator[tuple[Value, Site]]:
    """Yield the arguments of a call for which only a tensor will do."""
    home, _, last = call.path.rpartition(".")
    if call.receiver is not None:
        path = call.receiver.path if isinstance(call.receiver, objects.ExternalObject) else ""
        is_metric = ".metrics." in path and last in ("update_state", "__call__")
        # A replica's context takes that replica's value.
        is_join = path.endswith(REPLICA_CONTEXT) and last in JOINS_REPLICAS
        if not is_metric and not is_write(call) and not (is_join and not is_in_scope(call)):
            return
    elif call.path in COMPARES_ARGUMENTS and len(call.arguments) > 1:
        yield from ((argument.value, argument.site) for argument in call.arguments)
        return
    elif call.path == "builtins.sum":
        summed = call.arguments[0] if call.arguments else None
        if summed is not None and isinstance(summed.value, objects.Sequence):
            yield from ((item, summed.site) for item in summed.value.items)
        return
    elif not (
        (home in ("builtins", "math") and last in strategies.ASK_ONE_NUMBER)
        or (home == "numpy" and last in strategies.NUMPY_NUMBERS)
        or call.path == LEN
        or (tf_names.is_tensorflow(call.path) and last in strategies.OPERATIONS_ON_TENSORS)
    ):
        return
    for argument in call.arguments:
        if isinstance(argument.value, objects.Sequence) and call.path != LEN:
            yield from ((item, argument.site) for item in argument.value.items)
        else:
            yield argument.value, argument.site


# tensorflow/python/distribute/values.py: `PerReplicaSpec` cannot be sliced into batches.
def data_due(call: ApiCall) -> Iterator[tuple[Value, Site]]:
    """Yield what a model of Keras would slice into batches: a value, or the first of several."""
    for data in (call.argument("x", 0), call.argument("y", 1)):
        if data is None:
            continue
        value = data.value
        structures = objects.Sequence, objects.Mapping
        for item in parts(value) if isinstance(value, structures) else [value]:
            if value_of_all(item) is not None:
                yield item, data.site
                return


def taken_by_operators(program: Program) -> Iterator[Taken]:
    for use in program.operands:
        taker, place = use.taker, (use.tensor, use.site, use.context)
        if taker in strategies.COMPUTE_WITH_OPERATORS:
            shown = f"`{strategies.COMPUTE_WITH_OPERATORS[taker]}`"
            yield Taken(*place, shown, taker in strategies.ADD_OR_JOIN)
        elif taker in SYNTAX:
            yield Taken(*place, SYNTAX[taker], takes_apart=taker != "formats")
        elif taker in strategies.OF_ONE_TENSOR:
            yield Taken(*place, f"`.{taker}`", takes_apart=True)
        elif taker.endswith(CALLED):
            yield Taken(*place, f"`{taker.removesuffix(CALLED)}`", instead=IN_RUN)


def value_of_all(value: Value | None) -> Tensor | None:
    """Return what holds a value of each replica: with another strategy it is one tensor.

    Of a choice all must hold one, or come from one place: else it may have been reduced meanwhile.
    """
    if isinstance(value, Tensor):
        return value if value.of_all is not None else None
    if not isinstance(value, Choice):
        return None
    tensors = [option for option in value.options if isinstance(option, Tensor)]
    held = [tensor for tensor in tensors if tensor.of_all is not None]
    if not held or len(tensors) < len(value.options):
        return None
    assert held[0].of_all is not None
    place = held[0].of_all.site
    is_one = all(place == (tensor.of_all or tensor).site for tensor in tensors)
    return held[0] if is_one or len(held) == len(tensors) else None


def certainty_of(program: Program, taken: Taken, source: ApiCall) -> Certainty | None:
    """Return the certainty; None where the place may be one for values that are taken apart."""
    context, strategy = taken.context, strategy_of(source.receiver)
    if strategy is None or is_current(strategy):
        return None
    if asks_about(context, naming.ONE_REPLICA) or asks_about(context, naming.KIND_OF_VALUE):
        return None
    if context.is_inside(DATA):
        return None
    step = context.computation
    if step is not None and not is_captured(step, context, source):
        return None
    computation = next((built for built in program.computations if built.call is source), None)
    if computation is not None and not may_be_tpus(computation):
        return None
    result = computation.result if computation is not None else None
    is_whole = taken.tensor.sort == TENSOR or is_one_tensor(result)
    is_structure = result is not None and not any(
        isinstance(option, Tensor) for option in result.options
    )
    if taken.of_structures and not is_whole and is_structure:
        return None
    tensor = taken.tensor if is_whole or not isinstance(result, Tensor) else result
    if taken.takes_apart and not is_certainly_one(tensor):
        return None
    is_sure = computation is None or computation.certainty is Certainty.DEFINITE
    return definite_if(
        is_sure and (step is None or step.certainty is Certainty.DEFINITE),
        is_for_many(program, strategy, context),
        is_whole or not taken.of_structures,
        not context.hides_faults and not context.with_blocks(UNSEEN),
        all(key.identity == taken.site for key, _ in context.conditions if key.kind in GUESSES),
    )


# tensorflow/python/distribute/values.py, `_per_replica_to_tensor`: a TPU's replica has no number.
def is_captured(step: Computation, context: Context, source: ApiCall) -> bool:
    """Return whether a replica takes, in the function given to `run`, what was made outside it.

    Of a named tuple among the arguments each replica gets its own parts. A step that takes them of
    the dataset itself is TPU705's.
    """
    taken = filter(None, map(batches_taken_by, step.calls))
    arguments = [argument.value for argument in step.call.arguments[1:]]
    return (
        is_run(step)
        and is_on_replica(context)
        and source.context.computation is None
        and not any(iterated.site == source.site for iterated, _ in taken)
        and not any(holds_object(argument) for argument in arguments)
    )


def holds_object(value: Value) -> bool:
    if isinstance(value, STRUCTURES):
        return any(map(holds_object, parts(value)))
    return isinstance(value, objects.Instance)


def is_current(strategy: Strategy) -> bool:
    """Return whether TensorFlow's own `get_strategy` gives it: often the default, of one device."""
    return strategy.path.endswith(CURRENT) and (
        tf_names.is_tensorflow(strategy.path) or strategy.path.endswith(f".distribute.{CURRENT}")
    )


def is_certainly_one(result: Tensor) -> bool:
    """Return whether a step returns one tensor, and no pair that an operation gives."""
    return result.sort == TENSOR and (result.single or result.shape is not None)


def is_one_tensor(result: Value | None) -> bool:
    """Return whether a step returns one tensor; a sum that a loop adds to was a number before."""
    return isinstance(result, (Tensor, Choice)) and all(
        option.sort == TENSOR if isinstance(option, Tensor) else is_number(option)
        for option in result.options
    )
