"""What runs where: the calls and accesses of device code, and the host clusters in it.

What is compiled, and what touches one variable; what clusters are given to run, whether it takes
its arguments, and how they nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as SequenceOf
from typing import NamedTuple

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain.events import (
    FOR,
    Access,
    ApiCall,
    Argument,
    Arguments,
    Cluster,
    Computation,
    Context,
    Tensor,
    Variable,
)
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.site import Site, start_of
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, all_tensors
from tpulint.absint.domain.values import Choice, Const, External, Opaque, Value
from tpulint.file_facts import ON
from tpulint.frontends.tensorflow.program import Program, answered_once
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.syntax.nodes import CallNode, For, first_place, guards_creation

OPENED_BY_CALL = ("outside_compilation", "map_outside_compilation")


def is_after_step(context: Context) -> bool:
    """Return whether this is a `host_call` or `eval_metrics` function, which has no TPU context."""
    payloads = [
        scope.payload for scope in context.since(scopes.COMPUTATION) if scope.kind == scopes.CLUSTER
    ]
    return any(isinstance(it, Cluster) and it.kind not in OPENED_BY_CALL for it in payloads)


def is_graph_mode(cluster: Cluster) -> bool:
    """Return whether the cluster is built in a plain graph, where TensorFlow refuses a nested one.

    The body of a tf.function, and of a V2 conditional or loop, is a graph of its own.
    """
    computation = cluster.computation
    if computation is None or computation.mode != "graph":
        return False
    between = cluster.context.since(scopes.COMPUTATION)
    return not any(scope.kind in (scopes.FUNCTION, scopes.COND, scopes.WHILE) for scope in between)


def guards_nesting(context: Context) -> bool:
    """Return whether a test of the open contexts leads here: it may be a guard against nesting."""
    return any(key.kind == scopes.STATE for key, _ in context.conditions)


def may_be_guarded(inner: Cluster, outer: Cluster) -> bool:
    """Return whether an unknown test between the two, in a computation, may separate them.

    Where one wrapper opens both, its own test may have another answer the second time.
    """
    # The tests inside the outer function are the ones that may keep the inner call away.
    around = outer.context
    if inner.site == outer.site:
        assert inner.computation is not None
        around = inner.computation.context
    between = inner.context.conditions - around.conditions
    return any(key.kind in (scopes.GUARD, scopes.PLACE) for key, _ in between)


def is_behind_guard(computation: Computation, context: Context) -> bool:
    """Return whether a test in the computation leads here that asks whether it was done already."""
    inner = context.conditions - computation.context.conditions
    return any(
        key.kind == scopes.GUARD
        and key.test is not None
        and guards_creation(key.test, branch is True)
        for key, branch in inner
    ) or any(scope.kind == scopes.ONCE for scope in context.since(scopes.COMPUTATION))


def called_in_place(program: Program, cluster: Cluster) -> Argument | None:
    """Return the call whose result a host cluster is given as its function, if there is one."""
    is_by_call = cluster.kind in OPENED_BY_CALL
    return cluster.given if is_by_call and is_result_of_call(program, cluster.given) else None


def is_result_of_call(program: Program, function: Argument | None) -> bool:
    """Return whether an argument, due to be a function, is a call that certainly gives none."""
    if function is None or not isinstance(function.node, CallNode):
        return False
    return all(_is_no_function(program, value) for value in function.value.options)


def _is_no_function(program: Program, value: Value) -> bool:
    """Return whether this certainly cannot be called."""
    if not isinstance(value, Tensor):
        return isinstance(value, (Const, Sequence, Mapping))
    if value.sort == "unseen" or value.single or value.dtype is not None:
        return value.sort != "unseen"
    # Without a tensor to compute with, a call of TensorFlow may load or choose a function.
    makers = program.by_result.get(id(value), ())
    return not makers or any(all_tensors(it.value for it in call.arguments) for call in makers)


# The reason why a callee refuses its arguments; None where they fit, or where that is not known.
ArityFault = Callable[[Value, Arguments], str | None]


class ArityMismatch(NamedTuple):
    """A callee that refuses its arguments, with the reason. is_certain: no other may be called."""

    callee: Value
    reason: str
    is_certain: bool


def arity_mismatch(cluster: Cluster, fault: ArityFault) -> ArityMismatch | None:
    """Return the first of the cluster's callees for which `fault` has a reason."""
    reasons = [(option, fault(option, cluster.arguments)) for option in cluster.callee.options]
    is_certain = all(reason for _, reason in reasons) and not cluster.context.is_guess
    mismatches = (ArityMismatch(it, reason, is_certain) for it, reason in reasons if reason)
    return next(mismatches, None)


# Contexts that lead out of the computation: what is built in them is not the device's.
LEADS_OUT = frozenset([scopes.CLEARS, scopes.GRAPH, scopes.INIT_SCOPE])
LOOPS = (scopes.LOOP, scopes.WHILE)
DEVICES = ("list_logical_devices", "list_physical_devices")
GPU = Const("GPU")
SETS_PLACEMENT = "set_soft_device_placement"


Calls = SequenceOf[tuple[Computation, ApiCall]]


@answered_once
def compiled_calls(program: Program) -> Calls:
    """Return the calls of code outside the project that a TPU compiles."""
    return _calls_of_computations(program, are_moved=False)


@answered_once
def moved_calls(program: Program) -> Calls:
    """Return the calls in device code that run on the host where a TPU has no kernel for them."""
    return _calls_of_computations(program, are_moved=True)


def device_calls(program: Program) -> list[tuple[Computation, ApiCall]]:
    """Return the calls in device code of functions that the project does not define.

    `compiled_calls` leaves out those in computations with soft placement: TensorFlow may move these
    to the host.
    """
    return [*compiled_calls(program), *moved_calls(program)]


def _calls_of_computations(program: Program, *, are_moved: bool) -> Calls:
    return [
        (computation, call)
        for computation in program.computations
        if is_softly_placed(program, computation) is are_moved
        for call in _calls_on_device(program, computation)
    ]


def _calls_on_device(program: Program, computation: Computation) -> Iterator[ApiCall]:
    gpus = {
        call.site
        for call in computation.calls
        if call.last in DEVICES and any(argument.value == GPU for argument in call.arguments)
    }
    # What is called where it should be passed is TPU205, and meant for the host.
    in_place = (called_in_place(program, cluster) for cluster in computation.clusters)
    host_calls = {call.site for call in in_place if call is not None}
    is_on_device: dict[tuple[scopes.Scope, ...], bool] = {}  # many calls are in few places
    for call in computation.calls:
        stack = call.context.scopes
        if stack not in is_on_device:
            # A loop over the GPUs, of which a TPU's host has none, is not the device's.
            loops = [
                scope for scope in call.context.since(scopes.COMPUTATION) if scope.kind in LOOPS
            ]
            is_over_gpus = any(getattr(loop.payload, "site", None) in gpus for loop in loops)
            is_on_device[stack] = is_compiled(call.context) and not is_over_gpus
        # Neither one of the calls for the host, nor part of what one does.
        way = [call.site, *(step.site for step in call.context.call_chain)] if host_calls else []
        if is_on_device[stack] and host_calls.isdisjoint(way):
            yield call


def is_compiled(context: Context) -> bool:
    """Return whether what is built at `context` is the device's, as far as one sees."""
    return context.on_device and LEADS_OUT.isdisjoint(entered_effects(context))


NEXT = "builtins.next"


def iterated_by(call: ApiCall) -> tuple[Value | None, Site]:
    """Return what `for` or `next` takes the items of, and where; None for other calls."""
    if call.path not in (FOR, NEXT) or not call.arguments:
        return None, call.site
    module = call.site.module
    loop = module.node_at(call.site.place, For) if call.path == FOR else None
    place = call.site if loop is None else Site(module, first_place(loop.iterated))
    return call.arguments[0].value, place


TAKES_NEXT = frozenset(["get_next", "get_next_as_optional"])  # methods of iterators


def batches_taken_by(call: ApiCall) -> tuple[ExternalObject, Site] | None:
    """Return the dataset of all replicas, or its iterator, that a call or loop takes items of."""
    taken, site = (call.receiver, call.site) if call.last in TAKES_NEXT else iterated_by(call)
    if isinstance(taken, ExternalObject) and taken.last == "DistributedDataset":
        return taken, site
    return None


def entered_effects(context: Context) -> list[str]:
    """Return the effects of the `with` blocks around `context`, inside the computation."""
    return [
        scope.effect for scope in context.since(scopes.COMPUTATION) if scope.kind == scopes.WITH
    ]


def is_softly_placed(program: Program, computation: Computation) -> bool:
    """Return whether every program that runs this moves what has no kernel to the host."""
    return soft_placement(program, computation) == ON


def soft_placement(program: Program, computation: Computation) -> str | None:
    """Return the soft placement of the programs that run the computation, found at each start.

    What was set on the way to the computation holds in it: a builder sets it for its step, and
    where it makes the strategy that runs the step.
    """
    ways = [computation.context]
    strategy = computation.call.receiver
    if isinstance(strategy, Strategy) and isinstance(strategy.made, Context):
        ways.append(strategy.made)
    for call in program.named.get(SETS_PLACEMENT, ()):
        on_the_way = [
            way
            for way in ways
            if call.context.run == way.run and call.context.conditions <= way.conditions
        ]
        if on_the_way and call.value("enabled", 0) == Const(True):
            return ON
    # The program is the module in which the outermost call is.
    first = start_of(computation.context.call_chain, computation.site)
    return program.soft_placement.get(first.module.path)


def is_order_relevant(first: Access, second: Access) -> bool:
    """Return whether their order matters: one variable, of which one writes, on one run.

    One variable may be among the weights that the other is.
    """
    left, right = first.variable, second.variable
    return (
        (left is right or left.whole is right or right.whole is left)
        and not first.mode == second.mode == "read"
        and not first.context.excludes(second.context)
    )


def is_certain_access(access: Access) -> bool:
    """Return whether it is known that this variable, and no other, is touched at this place."""
    return (
        not access.variable.assumed
        and access.mode != "unknown"
        and not access.context.is_guess
        and is_in_own_round(access.variable, access.context)
    )


def is_in_own_round(variable: Variable, context: Context) -> bool:
    """Return whether what a Python loop made is taken in its own round.

    The loop is read once for all its rounds.
    """
    # A variable without a place of creation is no object of a loop.
    if variable.made is None:
        return True
    around = {id(scope) for scope in context.scopes}
    return all(id(scope) in around for scope in variable.made.scopes if scope.kind == scopes.LOOP)


def share_loop(left: Context, right: Context) -> bool:
    """Return whether a Python loop, read once, repeats both."""
    around = {id(scope) for scope in left.scopes if scope.kind == scopes.LOOP}
    return any(id(scope) in around for scope in right.scopes)


def is_data(value: Value) -> bool:
    """Return whether the value, or a dimension in it, is known at run time only.

    One that may be a setting instead is not: who compiles for a TPU gives it.
    """
    if isinstance(value, Tensor):
        return value.data
    if isinstance(value, Choice):
        is_setting = any(isinstance(option, (Opaque, External)) for option in value.options)
        return not is_setting and any(map(is_data, value.options))
    return isinstance(value, Sequence) and any(map(is_data, value.items))


def is_text_of_device(program: Program, text: Value, depth: int = 0) -> bool:
    """Return whether this is a string of Python, a constant of the device, or is taken from one."""
    if not isinstance(text, Tensor):
        return isinstance(text, Const) and isinstance(text.value, (str, bytes))
    if text.dtype != "string" or depth == MAX_STRUCTURE_DEPTH:
        return False
    return any(
        call.last == "constant"
        or any(
            is_text_of_device(program, tensor, depth + 1)
            for tensor in all_tensors(argument.value for argument in call.arguments)
        )
        for call in program.by_result.get(id(text), ())
        if is_compiled(call.context)
    )
