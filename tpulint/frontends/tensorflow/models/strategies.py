"""Distribution strategies: which kind, their scope, what `run` traces, and what replicas share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tpulint.absint.domain import objects
from tpulint.absint.domain.context import TRY, WITH, Scope
from tpulint.absint.domain.events import Argument, Arguments, Tensor
from tpulint.absint.domain.objects import ContextManagerValue, ExternalObject, Mapping, Sequence
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Opaque, Value
from tpulint.absint.interpreter import calls, transfer
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.branch_tests import is_for_another
from tpulint.frontends.tensorflow.hooks import settings_of
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import SCOPE_BY_HAND
from tpulint.frontends.tensorflow.models.entry_points import trace
from tpulint.frontends.tensorflow.models.table import Call, Model, model
from tpulint.frontends.tensorflow.shapes import described
from tpulint.frontends.tensorflow.strategy import (
    CROSS_REPLICA,
    EACH_REPLICA,
    HOSTS,
    OTHER_STRATEGY,
    SCOPE,
    Strategy,
    scope_strategy,
)
from tpulint.ordering import AGREEMENT_CALLS


def methods(*names: str) -> Callable[[Callable[[Call, Strategy], Value | None]], Model]:
    """Enter a model under these methods of strategies; it is given the one that is called."""

    def enter(function: Callable[[Call, Strategy], Value | None]) -> Model:
        def answer(call: Call) -> Value | None:
            strategy = strategy_of(call)
            return None if strategy is None else function(call, strategy)

        owners = ("tf.distribute.Strategy", "?")
        return model(*(f"{owner}.{name}" for owner in owners for name in names))(answer)

    return enter


def strategy_of(call: Call) -> Strategy | None:
    """Return the strategy that a method is called on, None where the receiver is something else.

    An opaque receiver is one by its name, the same strategy each time.
    """
    receiver = call.receiver
    if isinstance(receiver, Strategy):
        return receiver
    if not isinstance(receiver, Opaque):
        return None
    if not (naming.STRATEGY.is_in(receiver.last) or receiver.last == "extended"):
        return None
    strategy = receiver.inferred_as.get(Strategy)
    if not isinstance(strategy, Strategy):
        kind = "tpu" if settings_of(call.frame).assume_tpu else "unknown"
        strategy = Strategy(kind, call.site, receiver.path)
        receiver.inferred_as[Strategy] = strategy
    return strategy


def made_by_unseen_code(call: Call) -> Value:
    """Return what a call of unseen code gives: a value that may be a strategy by the call's name.

    It keeps its identity, so that `strategy_of` recognizes it or one of its items where its methods
    are called. Of a program that names no TPU, it is no TPU's strategy.
    """
    if not naming.STRATEGY.is_in(call.name) or not call.names_a_tpu():
        return UNKNOWN
    return Opaque(call.path)


# tensorflow/python/distribute/tpu_strategy.py, and Sonnet's TpuReplicator.
@model(*(f"?.{name}" for name in sorted(tf_names.TPU_STRATEGIES)))
def _tpu_strategy(call: Call) -> Value | None:
    if not _makes(call):
        return None
    resolved = call.get("tpu_cluster_resolver", 0) or NONE
    return Strategy("tpu", call.site, call.path, resolved, call.frame.context)


# Of the others only one thing matters: what they run is no TPU's.
@model(*(f"?.{name}" for name in sorted(tf_names.OTHER_STRATEGIES)))
def _other_strategy(call: Call) -> Value | None:
    return Strategy("other", call.site, call.path) if _makes(call) else None


# tensorflow/python/distribute/cluster_resolver/tpu/tpu_cluster_resolver.py. `connect` returns one,
# too.
@model("?.TPUClusterResolver", "?.TPUClusterResolver.connect")
def _resolver(call: Call) -> Value | None:
    return call.new_object() if _makes(call) else None


# Of a TPU of this machine that is empty: `cluster_spec().as_dict()["worker"]` is a KeyError there.
@model("?.cluster_spec")
def _cluster_spec(call: Call) -> Value | None:
    resolver = call.receiver
    if not isinstance(resolver, ExternalObject):
        return None
    here, created = call.frame.context, resolver.context
    tried = [scope for scope in here.scopes if scope.kind == TRY]
    if tried != [scope for scope in created.scopes if scope.kind == TRY]:
        return None
    is_always_there = here.reached_whenever(created) and not here.is_guess
    return resolver.attributes.setdefault(HOSTS, Opaque(HOSTS)) if is_always_there else None


@model("?.as_dict")
def _as_dict(call: Call) -> Value | None:
    receiver = call.receiver
    return receiver if isinstance(receiver, Opaque) and receiver.path == HOSTS else None


def _makes(call: Call) -> bool:
    """Return whether this may be a class of a module, and no attribute of a value of Python's."""
    return call.receiver is None or isinstance(call.receiver, (Opaque, ExternalObject))


# tensorflow/python/distribute/distribute_lib.py: the innermost scope's strategy, or the default
# one.
@model("tf.distribute.get_strategy", "?.distribute.get_strategy")
def _get_strategy(call: Call) -> Value:
    """Return the current strategy, of a kind that may be guessed where no scope is seen.

    A module is run under none: there it is the default one, for one device, unless another was
    set. A function may be called under one.
    """
    frame = call.frame
    strategy = scope_strategy(frame.context)
    if strategy is not None:
        return strategy
    is_default = frame.function is None and not any(
        recorded.last in SCOPE_BY_HAND for recorded in frame.session.program.calls
    )
    kind = "tpu" if settings_of(frame).assume_tpu else "other" if is_default else "unknown"
    return Strategy(kind, call.site, call.path)


@methods("scope")
def _scope(call: Call, strategy: Strategy) -> Value:
    return ContextManagerValue(SCOPE, call.site, strategy)


# These take values of all replicas, which a host reads: an operation on each.
@model(
    "tf.distribute.Strategy.reduce",
    "tf.distribute.Strategy.gather",
    "tf.distribute.Strategy.experimental_local_results",
)
def _reduce(call: Call) -> Value:
    return call.operation()


@methods(tf_names.CALL_FOR_EACH_REPLICA)
def _call_for_each_replica(call: Call, strategy: Strategy) -> Value:
    """Model `call_for_each_replica(fn, args=(), kwargs=None)`: no computation, in any strategy."""
    scope = Scope(WITH, call.site, effect=EACH_REPLICA)
    if strategy.kind == "other":
        scope = Scope(WITH, call.site, strategy, effect=OTHER_STRATEGY)
    return call.run_inside(scope, call.get("fn", 0) or UNKNOWN, _of_one(_arguments(call) or ()))


# tensorflow/python/distribute/tpu_strategy.py, `TPUExtended.tpu_run`: it compiles its function
# even where no tf.function is around it.
@methods(*sorted(tf_names.STRATEGY_RUN))
def _run(call: Call, strategy: Strategy) -> Value:
    """Model `run(fn, args=(), kwargs=None)`: device code where the strategy is a TPU's."""
    callee = call.get("fn", 0) or UNKNOWN
    arguments = _arguments(call)
    if strategy.kind == "other" and not call.frame.session.opens_clusters:
        call.frame.session.known(callee)  # none of what it does is a TPU's
    elif strategy.kind == "other":
        scope = Scope(WITH, call.site, strategy, effect=OTHER_STRATEGY)
        call.run_inside(scope, callee, _of_one(arguments or ()))
    else:
        tpu = strategy.kind == "tpu" and not is_for_another(call.frame.context, strategy)
        certainty = Certainty.DEFINITE if tpu else Certainty.POSSIBLE
        result = trace(call, call.name, callee, arguments, certainty=certainty, mode="function")
        return _of_all_replicas(call, result)
    return Tensor(call.frame.context, call.site, "structure")


# tensorflow/python/distribute/distribute_utils.py, `regroup`: None stays, all else is a PerReplica.
def _of_all_replicas(call: Call, result: Value) -> Value:
    """Return what `run` gives where a step returns `result`: its tensors, of all replicas."""
    if isinstance(result, Sequence) and not result.open and result.items:
        items = [_of_all_replicas(call, item) for item in result.items]
        return Sequence(result.kind, items, site=call.site)
    if isinstance(result, Mapping) and not result.open and result.items:
        by_key = {key: _of_all_replicas(call, item) for key, item in result.items.items()}
        return Mapping(by_key, site=call.site, made=call.frame.context)
    if result == NONE:
        return NONE
    sort = result.sort if isinstance(result, Tensor) else "structure"
    is_one = isinstance(result, Tensor) and (result.single or result.shape is not None)
    return Tensor(call.frame.context, call.site, sort, of_all=call.record, single=is_one)


def _of_one(arguments: Iterable[Argument]) -> Arguments:
    """Return the arguments as one replica gets them."""
    return tuple(
        argument._replace(
            value=transfer.each_tensor(argument.value, lambda tensor: replace(tensor, of_all=None))
        )
        for argument in arguments
    )


def _arguments(call: Call) -> list[Argument] | None:
    if call.name == "experimental_run":
        return None
    args = call.get("args", 1)
    arguments: list[Argument] = []
    if isinstance(args, Sequence) and not args.open:
        arguments += calls.by_position(call.site, *args.items)
    elif args is not None and args != NONE:
        return None
    kwargs = call.get("kwargs", 2)
    if isinstance(kwargs, Mapping) and not kwargs.open:
        arguments += [Argument(str(key), "", item, call.site) for key, item in kwargs.items.items()]
    elif kwargs is not None and kwargs != NONE:
        arguments.append(Argument(None, "**", UNKNOWN, call.site))
    return arguments


# tensorflow/python/distribute/distribute_lib.py, `ReplicaContext`.
@model(*(f"?.{name}" for name in sorted(tf_names.REPLICA_ID)))
def _replica_id(call: Call) -> Value:
    return Tensor(call.frame.context, call.site, per_replica=True, replica_id=True)


# tensorflow/python/tpu/ops/tpu_ops.py and `ReplicaContext`: every replica has to get there.
@model(*(f"?.{name}" for name in sorted(tf_names.COLLECTIVES)))
def _collective(call: Call) -> Value:
    """Call the function of `merge_call(fn, args)` once; the others take tensors."""
    callee = call.get("merge_fn", 0)
    if call.name == "merge_call" and isinstance(callee, (objects.Function, Bound)):
        args = call.get("args", 1)
        items = args.items if isinstance(args, Sequence) else []
        scope = Scope(WITH, call.site, effect=CROSS_REPLICA)
        return call.run_inside(scope, callee, [UNKNOWN, *items])
    tensor = call.operation(certainty=Certainty.DEFINITE)
    if tensor.operation is not None:
        tensor.operation.kept = True
    if call.name == "cross_replica_sum" and call.arguments:
        tensor.shape = described(call.values[0])[1]
    if call.name in AGREEMENT_CALLS:
        return replace(tensor, per_replica=False, replica_id=False, split=False, uniform=True)
    return tensor
