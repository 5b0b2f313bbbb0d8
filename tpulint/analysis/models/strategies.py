"""Distribution strategies: which kind, their scope, and what `run` traces."""

from __future__ import annotations

from tpulint.analysis.domain.context import WITH, Scope
from tpulint.analysis.domain.effects import OTHER_STRATEGY, SCOPE
from tpulint.analysis.domain.events import Argument, Tensor
from tpulint.analysis.domain.objects import ContextManagerValue, ExternalObject, Mapping, Sequence
from tpulint.analysis.domain.values import NONE, UNKNOWN, Opaque, Value
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.models.call import Call
from tpulint.analysis.models.tracing import trace
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.branch_tests import is_for_another
from tpulint.frontends.tensorflow.hooks import settings_of
from tpulint.frontends.tensorflow.strategy import Strategy, scope_strategy
from tpulint.knowledge import naming, seam
from tpulint.knowledge.strategies import SCOPE_BY_HAND

# No other object has methods of these names.
METHODS = seam.STRATEGY_RUN | {seam.CALL_FOR_EACH_REPLICA, "scope"}
RESOLVER = "TPUClusterResolver"


def answer(this: Call) -> Value | None:
    if isinstance(this.receiver, Strategy):
        return _method(this, this.receiver)
    if isinstance(this.receiver, Opaque) and this.name in METHODS:
        looks = naming.STRATEGY.is_in(this.receiver.last) or this.receiver.last == "extended"
        if looks:
            return _method(this, _assumed(this, this.receiver))
    if this.receiver is None or isinstance(this.receiver, (Opaque, ExternalObject)):
        return _construct(this)
    return None


def _assumed(this: Call, receiver: Opaque) -> Strategy:
    """Return the strategy that an opaque thing is by its name, the same each time."""
    known = receiver.taken_for.get(Strategy)
    if not isinstance(known, Strategy):
        kind = "tpu" if settings_of(this.frame).assume_tpu else "unknown"
        known = Strategy(kind, this.site, receiver.path)
        receiver.taken_for[Strategy] = known
    return known


def _construct(this: Call) -> Value | None:
    if RESOLVER in this.path:
        resolver = ExternalObject(this.path, this.site, this.frame.context)
        resolver.arguments = tuple((each.keyword, each.value) for each in this.arguments)
        return resolver
    if this.name in seam.TPU_STRATEGIES:
        resolved = this.get("tpu_cluster_resolver", 0) or NONE
        return Strategy("tpu", this.site, this.path, resolved, this.frame.context)
    if this.name in seam.OTHER_STRATEGIES:
        return Strategy("other", this.site, this.path)
    if this.name == "get_strategy" and "distribute" in this.path:
        return scope_strategy(this.frame.context) or Strategy(
            _kind_of_current(this), this.site, this.path
        )
    return None


def _kind_of_current(this: Call) -> str:
    """Return the kind of the current strategy where no scope is seen.

    A module is run under none: there it is the default one, for one device, unless another was
    set. A function may be called under one.
    """
    session = this.frame.session
    if settings_of(this.frame).assume_tpu:
        return "tpu"
    is_default = this.frame.function is None and not any(
        each.last in SCOPE_BY_HAND for each in session.program.calls
    )
    return "other" if is_default else "unknown"


def _method(this: Call, strategy: Strategy) -> Value:
    if this.name in seam.STRATEGY_RUN:
        return _run(this, strategy)
    if this.name == seam.CALL_FOR_EACH_REPLICA:
        return _call_for_each_replica(this, strategy)
    if this.name == "scope":
        return ContextManagerValue(SCOPE, this.site, strategy)
    if this.name in ("reduce", "gather", "experimental_local_results"):
        return this.operation()
    if "dataset" in this.name:
        values = this.values
        return values[0] if values else UNKNOWN
    return UNKNOWN


def _call_for_each_replica(this: Call, strategy: Strategy) -> Value:
    """`call_for_each_replica(fn, args=(), kwargs=None)`: no computation, in whatever strategy."""
    callee, arguments = this.get("fn", 0) or UNKNOWN, tuple(_arguments(this) or ())
    if strategy.kind == "other":
        return this.run_inside(_of_another(this, strategy), callee, arguments)
    return call(this.frame, callee, arguments, this.site, "")


def _of_another(this: Call, strategy: Strategy) -> Scope:
    return Scope(WITH, this.site, strategy, effect=OTHER_STRATEGY)


def _run(this: Call, strategy: Strategy) -> Value:
    """`run(fn, args=(), kwargs=None)`: device code where the strategy is a TPU's."""
    callee = this.get("fn", 0) or UNKNOWN
    arguments = _arguments(this)
    if strategy.kind == "other" and not this.frame.session.opens_clusters:
        this.frame.session.known(callee)  # none of what it does is a TPU's
    elif strategy.kind == "other":
        this.run_inside(_of_another(this, strategy), callee, tuple(arguments or ()))
    else:
        tpu = strategy.kind == "tpu" and not is_for_another(this.frame.context, strategy)
        certainty = Certainty.DEFINITE if tpu else Certainty.POSSIBLE
        trace(this, this.name, callee, arguments, certainty=certainty, mode="function")
    return Tensor(this.frame.context, this.site, "structure")


def _arguments(this: Call) -> list[Argument] | None:
    args = this.get("args", 1)
    if this.name == "experimental_run":
        return None
    found: list[Argument] = []
    if isinstance(args, Sequence) and not args.open:
        found += [given(each, this.site) for each in args.items]
    elif args is not None and args != NONE:
        return None
    kwargs = this.get("kwargs", 2)
    if isinstance(kwargs, Mapping) and not kwargs.open:
        found += [Argument(str(key), "", each, this.site) for key, each in kwargs.items.items()]
    elif kwargs is not None and kwargs != NONE:
        found.append(Argument(None, "**", UNKNOWN, this.site))
    return found
