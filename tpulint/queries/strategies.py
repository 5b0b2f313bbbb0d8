"""Strategies: the one that a method is called on, and what is created outside its scope."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tpulint.absint.domain.context import COMPUTATION, DATA, DEVICE, NO_KNOWN_CALLER, UNSEEN, WITH
from tpulint.absint.domain.events import (
    Access,
    ApiCall,
    Argument,
    Computation,
    Context,
    LayerCall,
    Tensor,
    Variable,
)
from tpulint.absint.domain.objects import (
    ContextManagerValue,
    ExternalObject,
    Instance,
    Sequence,
    made_at,
)
from tpulint.absint.domain.site import Module, Site, shared_length, start_of
from tpulint.absint.domain.values import Const, External, Opaque, Value
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.branch_tests import asks_about, is_for_another, is_of_setting
from tpulint.frontends.tensorflow.keras_models import (
    LAYERS,
    attributes_of,
    compiles_model,
    has_slots,
    is_made_with_weights,
    is_metric,
    is_model,
    is_of_hub,
    is_optimizer,
    is_preprocessor,
    is_pretrained,
    parts_of,
    reached_from,
    steps,
)
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import (
    INPUT_SHAPES,
    INPUTS,
    MAKE_VARIABLES,
    MODELS_WITH_VARIABLES,
    RUNS_CELL,
    SCOPE_BY_HAND,
)
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import CROSS_REPLICA, SCOPE, Strategy, scope_strategy
from tpulint.queries.certainty import definite_if, is_guessed, is_met_anyway
from tpulint.queries.device_code import LEADS_OUT
from tpulint.queries.eager_calls import is_built_in_graph


def strategy_of(receiver: Value | None) -> Strategy | None:
    """Return the strategy that `receiver` is, or that something unknown is by what it ran."""
    if isinstance(receiver, Strategy):
        return receiver
    if isinstance(receiver, Opaque):
        strategy = receiver.parent if receiver.last == "extended" else receiver
        inferred = strategy.inferred_as.get(Strategy) if strategy is not None else None
        return inferred if isinstance(inferred, Strategy) else None
    return None


def is_for_many(program: Program, strategy: Strategy, context: Context) -> bool:
    """Return whether this is a TPU's strategy, and nothing says that it has a single replica."""
    if strategy.kind != "tpu" or is_for_another(context, strategy):
        return False
    return not any(
        call.argument("experimental_device_assignment", 1) or call.argument("device_assignment")
        for call in program.by_result.get(id(strategy), ())
    )


# tensorflow/python/distribute/reduce_util.py takes any case.
SPELLINGS = {"SUM": ("SUM", "Sum", "sum"), "MEAN": ("MEAN", "Mean", "mean")}


def reduced_by(program: Program, operation: str) -> Iterator[tuple[ApiCall, Strategy, Argument]]:
    """Yield the calls of `reduce` by an operation, "SUM" or "MEAN", with strategy and value."""
    for call in program.named.get("reduce", ()):
        strategy, value = call.receiver, call.argument("value", 1)
        member = call.value("reduce_op", 0)
        spelling = member.last if isinstance(member, External) else getattr(member, "value", None)
        if isinstance(strategy, Strategy) and value and spelling in SPELLINGS[operation]:
            yield call, strategy, value


def is_run(computation: Computation) -> bool:
    """Return whether `run` of a strategy builds it; Keras's `fit` builds one by other arguments."""
    return computation.kind in tf_names.STRATEGY_RUN and computation.call.last == computation.kind


def is_on_replica(context: Context) -> bool:
    """Return whether the context is that of a replica, and no test on the way asks for it."""
    within = list(context.since(COMPUTATION))
    entered = {scope.effect for scope in within if scope.kind == WITH}
    if entered & {CROSS_REPLICA, *LEADS_OUT} or any(scope.kind == DATA for scope in within):
        return False
    return not asks_about(context, naming.REPLICA)


TRAINS = "fit"
UPDATES = frozenset(["apply_gradients", "minimize", "apply"])
WEIGHTED = "weighted_metrics"
FREEZES = frozenset(["trainable"])
CLASSES = tf_names.TPU_STRATEGIES | tf_names.OTHER_STRATEGIES


@dataclass(frozen=True)
class Misplaced:
    """Something that is created outside the scope of the strategy that uses it.

    kind: "optimizer", "metric", "model", "layer" or "variable". created, site: where that is. use:
    the device code that takes it, or `compile` under the scope. compiled: `compile` makes or takes
    it under no scope, for a model of the strategy. unused: it is a model that trains without the
    strategy.
    """

    kind: str
    name: str
    created: Context
    site: Site
    use: ApiCall | Access
    certainty: Certainty
    compiled: bool = False
    unused: bool = False


class Scopes:
    """The scopes of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.entered = program.named.get("scope", [])
        self.by_hand = any(map(_is_of_strategy, program.named_any(SCOPE_BY_HAND)))

    @cached_property
    def made(self) -> dict[int, ApiCall]:
        """The call that made a value, by the value's identity."""
        return {id(call.result): call for call in self.program.calls}

    @cached_property
    def _built_outside(self) -> set[int]:
        """The (ids of the) values that make their variables under no scope, with their parts.

        A model that was made under one has them by then, unless it is built explicitly.
        """
        holders = {
            id(call.receiver): call.receiver
            for call in self.program.named_any(MAKE_VARIABLES)
            if not call.context.with_blocks(SCOPE)
            and (call.last == "build" or not _is_made_in_scope(call.receiver))
        }
        return {id(value) for holder in holders.values() for value in [holder, *parts_of(holder)]}

    def misplaced(self) -> Iterator[Misplaced]:
        # A scope that is entered by hand may be open anywhere.
        if self.by_hand:
            return
        for computation in self.program.computations:
            if computation.kind in tf_names.STRATEGY_RUN and not is_built_in_graph(computation):
                yield from self._used_by(computation)
        for call in self.program.named.get("compile", ()):
            yield from self._metrics(call)
        for call in self.program.named_any(["compile", TRAINS]):
            is_models = is_model(call.receiver)
            if call.last == TRAINS:
                if is_models:
                    yield from self._trained_in_scope(call)
                yield from self._trained_outside(call)
            elif call.context.with_blocks(SCOPE):
                yield from self._compiled(call)
            elif is_models:
                yield from self._compiled_outside(call)

    def place(self, misplaced: Misplaced) -> Site:
        """Return the outermost call that could be put under the missing scope.

        Inside a function that enters the scope itself, that is the creating call.
        """
        call_chain = misplaced.created.call_chain
        depth = shared_length(call_chain, misplaced.use.context.call_chain)
        for call in self.entered:
            length = len(call.context.call_chain)
            if length > depth and call.context.call_chain == call_chain[:length]:
                depth = length
        return call_chain[depth].site if depth < len(call_chain) else misplaced.site

    def _used_by(self, computation: Computation) -> Iterator[Misplaced]:
        strategy = computation.call.receiver
        for call in computation.calls:
            optimizer = call.receiver
            is_update = call.last in UPDATES and call.context.on_device
            if (
                is_update
                and optimizer is not None
                and is_optimizer(optimizer)
                and has_slots(optimizer)
            ):
                is_sure = definite_if(not is_guessed(call.context, computation))
                least = _least(computation.certainty, is_sure)
                yield from self._taken(call, optimizer, "optimizer", strategy, least)
        # What the host uses, too, was made for it: sharing it is another fault.
        on_host = {it.variable for it in computation.accesses if not it.context.on_device}
        for access in computation.accesses:
            if access.variable not in on_host:
                yield from self._variable(access, computation)

    def _variable(self, access: Access, computation: Computation) -> Iterator[Misplaced]:
        variable = access.variable
        if variable.made is None or variable.site is None:
            return
        # What device code creates is TPU104.
        if variable.made.computation is not None:
            return
        # Most variables are made under a scope, and a guess takes long to judge.
        certainty = self.is_outside(variable.made, computation.call.receiver)
        if certainty is None:
            return
        if is_guessed(access.context, computation) and not is_met_anyway(access, computation):
            return
        kind = "variable"
        if variable.sort == "weights":
            kind = "metric" if access.how == "update_state" else "model"
            # Reading the weights of a model that was made elsewhere is allowed.
            if kind == "model" and access.how not in UPDATES:
                return
            if kind == "model" and not has_variables(self.program, variable):
                certainty = Certainty.POSSIBLE
        elif variable.sort != "variable":
            return
        elif access.how not in UPDATES:
            # Whether it was explicitly placed on a CPU.
            devices = [scope.payload for scope in variable.made.with_blocks(DEVICE)]
            names = [str(device.value) for device in devices if isinstance(device, Const)]
            if access.mode != "write" and not any(map(naming.CPU.is_in, names)):
                return
            certainty = Certainty.POSSIBLE
        certainty = _least(certainty, computation.certainty)
        name = variable.name if kind == "variable" else variable.name.removesuffix(".weights")
        yield Misplaced(kind, name, variable.made, variable.site, access, certainty)

    def _compiled(self, call: ApiCall) -> Iterator[Misplaced]:
        """Yield what `model.compile(...)` takes: it belongs under the scope around it."""
        scope, model = call.context.with_blocks(SCOPE)[0], call.receiver
        strategy = scope.payload
        if not isinstance(strategy, Strategy) or strategy.kind == "other":
            return
        least = definite_if(strategy.kind == "tpu", not scope.is_uncertain)
        yield from self._parts_outside(call, strategy, least)
        if is_model(model):
            # Another library may make the variables of its model at the first step.
            may_build_later = isinstance(model, ExternalObject) and not (
                "keras" in model.path or is_pretrained(model.path)
            )
            built = definite_if(not may_build_later)
            yield from self._taken(call, model, "model", strategy, _least(built, least))
            optimizer = call.value("optimizer", 0)
            if optimizer is not None and is_optimizer(optimizer) and has_slots(optimizer):
                yield from self._taken(call, optimizer, "optimizer", strategy, least)

    def _parts_outside(
        self, call: ApiCall, strategy: Strategy, least: Certainty
    ) -> Iterator[Misplaced]:
        """Yield the parts with weights of the model that a call is of."""
        # What a class of the project does with its parts is its own.
        least = _least(least, definite_if(not isinstance(call.receiver, Instance)))
        count = 0
        for part in parts_of(call.receiver):
            certainty = self._certainty_of_weights(part)
            if certainty is not None:
                for misplaced in self._taken(call, part, "model", strategy, least):
                    count += 1
                    yield replace(misplaced, certainty=_least(certainty, misplaced.certainty))
        if not count and _is_made_in_scope(call.receiver):
            yield from self._layer_outside(call, strategy, least)

    # keras/src/ops/operation.py: a layer makes its weights when it is called on symbolic tensors.
    def _layer_outside(
        self, call: ApiCall, strategy: Strategy, least: Certainty
    ) -> Iterator[Misplaced]:
        """Yield the first layer that is called under no scope to put a model of one together."""
        built: dict[int, LayerCall] = {}
        for value in reached_from(call.receiver):
            for step in steps(value) if isinstance(value, Tensor) else ():
                built.setdefault(id(step.layer), step)
        for step in built.values():
            layer = step.layer
            if not isinstance(layer, ExternalObject) or step.site is None:
                continue
            held = [layer, *parts_of(layer)] if "keras" in layer.path else []
            if not any(part.last in tf_names.LAYERS_WITH_WEIGHTS for part in held):
                continue
            certainty = self.is_outside(step.context, strategy)
            if certainty is not None:
                is_own = isinstance(call.receiver, ExternalObject) and "keras" in call.receiver.path
                names = (module.facts.names_any(FREEZES) for module in self.program.modules)
                certainty = _least(certainty, least, definite_if(is_own and not any(names)))
                yield Misplaced("layer", layer.last, step.context, step.site, call, certainty)
                return

    def _compiled_outside(self, call: ApiCall) -> Iterator[Misplaced]:
        """`model.compile("adam")` under no scope: the optimizer of a model that one was made in."""
        model, optimizer = call.receiver, call.value("optimizer", 0)
        strategy = scope_strategy(made_at(model))
        if strategy is None or strategy.kind != "tpu" or optimizer is None:
            return
        trained = any(call.receiver is model for call in self.program.named.get(TRAINS, ()))
        yield from self._parts_outside(call, strategy, definite_if(trained))
        created, site = call.context, call.site
        if isinstance(optimizer, Const) and isinstance(optimizer.value, str):
            name = optimizer.value
        elif is_optimizer(optimizer) and isinstance(optimizer, ExternalObject):
            name, created, site = optimizer.last, optimizer.context or created, optimizer.site
        else:
            return
        certainty = self.is_outside(created, strategy)
        if certainty is not None and site is not None and has_slots(optimizer):
            certainty = _least(certainty, definite_if(trained))
            yield Misplaced("optimizer", name, created, site, call, certainty, compiled=True)

    def _metrics(self, call: ApiCall) -> Iterator[Misplaced]:
        """Yield the metrics that a model of a TPU's strategy is compiled with."""
        strategy = scope_strategy(made_at(call.receiver))
        if is_model(call.receiver) and strategy is not None and strategy.kind == "tpu":
            for metrics in (call.value("metrics", 2), call.value(WEIGHTED)):
                for metric in filter(is_metric, parts_of(metrics)):
                    yield from self._taken(call, metric, "metric", strategy, Certainty.DEFINITE)

    # Keras 2 enters the model's own strategy, which cannot be nested; Keras 3 makes slots there.
    def _trained_in_scope(self, call: ApiCall) -> Iterator[Misplaced]:
        """`model.fit(...)` under a scope, of a model that is made and compiled under none."""
        model, strategy = call.receiver, scope_strategy(call.context)
        compiled = [it for it in self.program.named.get("compile", ()) if it.receiver is model]
        taken = [step.value("optimizer", 0) for step in compiled]
        is_outside = not any(step.context.with_blocks(SCOPE) for step in compiled)
        is_seen = bool(taken) and is_outside and not call.context.is_guess
        if is_seen and strategy is not None and strategy.kind == "tpu":
            are_slots = all(used is not None and has_slots(used) for used in taken)
            least = definite_if(are_slots, not call.context.with_blocks(SCOPE)[0].is_uncertain)
            yield from self._taken(call, model, "model", strategy, least)

    def _trained_outside(self, call: ApiCall) -> Iterator[Misplaced]:
        """`model.fit(...)` of a model that no scope is around, where there is a TPU to train on."""
        model, strategy = call.receiver, self._left_out(call)
        if strategy is None:
            return
        if not is_model(model):
            yield from self._unseen_outside(call, strategy)
        elif scope_strategy(made_at(model)) is None:
            least = definite_if(not self._is_used(strategy) or _has_part_of(model, strategy))
            for misplaced in self._taken(call, model, "model", strategy, least):
                yield replace(misplaced, unused=True)

    def _unseen_outside(self, call: ApiCall, strategy: Strategy) -> Iterator[Misplaced]:
        """Yield what is compiled and trained like a model, where the program has no scope at all.

        Its creation is not seen: it has no name.
        """
        compiled = [
            step
            for step in self.program.named.get("compile", ())
            if step.receiver is call.receiver
            and step.context.call_chain == call.context.call_chain
            and compiles_model(step.arguments)
            and self.is_outside(step.context, strategy) is not None
        ]
        if compiled and not self.entered and not self._is_held(strategy):
            created, site, possible = compiled[0].context, compiled[0].site, Certainty.POSSIBLE
            yield Misplaced("model", "", created, site, call, possible, unused=True)

    def _is_held(self, strategy: Strategy) -> bool:
        """Return whether an object holds the strategy: it may enter the scope."""
        different = {
            id(value): value
            for call in self.program.calls
            for value in (call.receiver, call.result, *(it.value for it in call.arguments))
            if value is not None
        }
        return any(
            strategy in reached_from(value) or strategy in attributes_of(value)
            for value in different.values()
        )

    def _left_out(self, call: ApiCall) -> Strategy | None:
        """Return the strategy with which a model could train, and does not."""
        strategy = self._free_strategy(call)
        if strategy is None or call.context.with_blocks(SCOPE) or call.context.is_guess:
            return None
        if self.program.named.get(RUNS_CELL):
            return None  # a text that is not read may enter the scope
        maker = self.made[id(strategy)]
        creation = maker.context
        is_called = not creation.is_inside(NO_KNOWN_CALLER)
        if not is_called and creation.run != call.context.run:
            return None  # others may make it, or nobody
        is_used = self._is_used(strategy)
        # What the strategy is under, too, does not ask for a TPU: a test of `__name__` around both.
        tests = {key for key, _ in call.context.forks - creation.forks}
        asks = any(is_used or not is_of_setting(key, naming.DEVICE) for key in tests)
        if asks and (creation.is_tried or not creation.reached_whenever(call.context)):
            return None  # the test may ask whether there is a TPU
        if is_used and _start_of(call) is _start_of(maker):
            # Without the TPU, for a comparison: there is none yet.
            first = next(step for step in self.program.calls if step is call or step is maker)
            return None if first is call else strategy
        return strategy

    def _is_used(self, strategy: Strategy) -> bool:
        """Return whether anything runs on the strategy, or is made under its scope."""
        runs = [it.receiver for it in self.program.named.get("run", ()) if it.receiver is not None]
        return any(strategy in receiver.options for receiver in runs) or any(
            scope.payload is strategy
            for call in self.program.calls
            if isinstance(call.result, (ExternalObject, Instance, Variable))
            for scope in call.context.with_blocks(SCOPE)
        )

    def _free_strategy(self, trains: ApiCall) -> Strategy | None:
        """Return the only TPUStrategy made where a model trains, unless a call is given it.

        That may train with it. Notebooks and scripts of one program do not see each other's.
        """
        strategies = [
            (it.result, _start_of(it))
            for it in self.program.named_any(CLASSES)
            if isinstance(it.result, Strategy) and it.result.kind == "tpu"
        ]
        start = _start_of(trains)
        beside = [strategy for strategy, module in strategies if module is start]
        tpus = beside or [strategy for strategy, _ in strategies]
        return tpus[0] if len(tpus) == 1 and id(tpus[0]) not in self._taken_values else None

    @cached_property
    def _taken_values(self) -> set[int]:
        arguments = (argument for call in self.program.calls for argument in call.arguments)
        return {id(option) for argument in arguments for option in argument.value.options}

    def _certainty_of_weights(self, part: ExternalObject) -> Certainty | None:
        """Return how sure it is that a part of a model has weights where it is made; None if not.

        A layer that is not built yet makes its weights in the model, under the scope of that.
        """
        if is_preprocessor(part):
            return None
        if is_made_with_weights(part):
            # A layer of a hub is frozen unless its maker says otherwise.
            trains = part.argument("trainable", 1) or Const(not is_of_hub(part))
            return definite_if(part.attributes.get("trainable", trains) != Const(False))
        if is_model(part):
            weighted = any(inner.last in tf_names.LAYERS_WITH_WEIGHTS for inner in parts_of(part))
            is_built = part.last == "Model" or knows_input(self.program, part)
            return Certainty.DEFINITE if weighted and is_built else None
        # No layers: what a module that was passed by gives (`.data.load`), or an object's method.
        owner = part.path.rpartition(".")[0].rpartition(".")[2]
        is_layer = "keras" not in part.path and part.path[0] != "." and not owner[:1].isupper()
        return Certainty.POSSIBLE if is_layer and id(part) in self._built_outside else None

    def _taken(
        self,
        call: ApiCall,
        value: Value | None,
        kind: str,
        strategy: Value | None,
        least: Certainty,
    ) -> Iterator[Misplaced]:
        assert isinstance(value, (ExternalObject, Instance))
        if value.context is None or value.site is None:
            return
        certainty = self.is_outside(value.context, strategy)
        if certainty is not None:
            if isinstance(value, Instance):
                name = value.cls.code.name
            else:  # a layer of a model came with that
                name = value.path.removesuffix(".get_layer").rpartition(".")[2]
            certainty = _least(certainty, least)
            yield Misplaced(kind, name, value.context, value.site, call, certainty)

    def is_outside(self, creation: Context, strategy: Value | None) -> Certainty | None:
        """Return the certainty that `made` is under no scope; None where it may be under one.

        Who calls a function that nothing read calls may have entered the scope, unless the
        strategy is made in there; where the function enters it itself, that is unlikely.
        """
        may_be_under = creation.with_blocks(SCOPE) or creation.with_blocks(UNSEEN)
        if creation.is_unrecorded or creation.is_guess or may_be_under:
            return None
        if not creation.is_inside(NO_KNOWN_CALLER):
            return Certainty.DEFINITE
        source = self.made.get(id(strategy))
        if source is not None and source.last in CLASSES and source.context.run == creation.run:
            return Certainty.DEFINITE
        here = creation.run, creation.call_chain  # one call of a function
        if any((call.context.run, call.context.call_chain) == here for call in self.entered):
            return Certainty.POSSIBLE
        return None


def _is_made_in_scope(value: Value | None) -> bool:
    created = made_at(value)
    return created is not None and bool(created.with_blocks(SCOPE))


def _has_part_of(model: Value | None, strategy: Strategy) -> bool:
    """Return whether something of which a model is made was made under the strategy's scope."""
    return any(scope_strategy(made_at(part)) is strategy for part in reached_from(model))


def _start_of(call: ApiCall) -> Module:
    """Return the module in which the way to a call begins."""
    return start_of(call.context.call_chain, call.site).module


def _is_of_strategy(call: ApiCall) -> bool:
    """Return whether a context that is entered by hand is a strategy's scope, or may be."""
    if call.last == "experimental_set_strategy":
        return True
    taken = [call.receiver, *(argument.value for argument in call.arguments)]
    return any(isinstance(value, ContextManagerValue) and value.effect == SCOPE for value in taken)


def _least(*certainties: Certainty) -> Certainty:
    return definite_if(*(certainty is Certainty.DEFINITE for certainty in certainties))


def has_variables(program: Program, weights: Variable) -> bool:
    """Return whether the model or layer of `weights` has them before the step, not in it."""
    call = next(iter(program.at.get(weights.site, ())), None) if weights.site else None
    if call is None:
        return False
    if ".applications." in call.path or call.last in MODELS_WITH_VARIABLES:
        return True
    # A functional model has its inputs and outputs, and therefore its weights.
    if call.last == "Model":
        return len(call.arguments) >= 2
    is_built = isinstance(call.result, ExternalObject) and knows_input(program, call.result)
    builders = program.named_any(MAKE_VARIABLES)
    return is_built or any(builder.receiver is call.result for builder in builders)


def knows_input(program: Program, model: ExternalObject) -> bool:
    """Return whether the first layer of a `Sequential` says its input, and no scope adds layers."""
    added = program.named.get("add", ())
    if any(step.receiver is model and step.context.with_blocks(SCOPE) for step in added):
        return False
    layers = model.argument("layers", 0) or model.attributes.get(LAYERS)
    first = layers.items[0] if isinstance(layers, Sequence) and layers.items else None
    if not isinstance(first, ExternalObject):
        return isinstance(first, Tensor)  # `Input(...)`
    return first.last in INPUTS or any(keyword in INPUT_SHAPES for keyword, _ in first.arguments)
