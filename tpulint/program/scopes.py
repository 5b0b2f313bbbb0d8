"""What was created outside the scope of the strategy whose device code uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.finding import Certainty
from tpulint.knowledge import seam
from tpulint.program.eager import is_built_in_graph
from tpulint.program.evaluate.managers import DEVICE, SCOPE, UNSEEN
from tpulint.program.model import Access, ApiCall, Computation, Program, Site
from tpulint.program.values import (
    Built,
    Class,
    Const,
    External,
    Instance,
    Managed,
    Strategy,
    Value,
    Variable,
)
from tpulint.program.where import GUESSES, UNSEEN_CALLER, Where

# A strategy can also be set, or its scope entered, without a `with` block.
BY_HAND = frozenset(["__enter__", "enter_context", "experimental_set_strategy"])
UPDATES = frozenset(["apply_gradients", "minimize", "apply"])
CLASSES = seam.TPU_STRATEGIES | seam.OTHER_STRATEGIES
BUILT_MODELS = frozenset(["load_model", "model_from_json", "clone_model"])
NO_MOMENTUM = (Const(0), Const(0.0))


@dataclass(frozen=True)
class Outside:
    """Something of `kind` ("optimizer", "metric", "model", "variable") made outside the scope.

    made, site: its creation. use: where device code, or `compile` under the scope, takes it.
    shared: how many frames creation and use have in common.
    """

    kind: str
    name: str
    made: Where
    site: Site
    use: Site
    user: Where
    certainty: Certainty


class Scopes:
    """The scopes of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.entered = [each for each in program.calls if each.last == "scope"]
        self.by_hand = any(
            each.last in BY_HAND and _is_of_strategy(each) for each in program.calls
        )
        self.made = {id(each.result): each for each in program.calls}

    def outside(self) -> Iterator[Outside]:
        if self.by_hand:
            return
        for computation in self.program.computations:
            if computation.kind in seam.STRATEGY_RUN and not is_built_in_graph(computation):
                yield from self._used_by(computation)
        for call in self.program.calls:
            if call.last == "compile" and call.where.contexts(SCOPE):
                yield from self._compiled(call)

    def place(self, found: Outside) -> Site:
        """Where the scope is missing: the outermost call that could stand under it.

        Inside a function that enters the scope itself, that is the creating call.
        """
        frames = found.made.frames
        shared = 0
        for left, right in zip(frames, found.user.frames, strict=False):
            if left != right:
                break
            shared += 1
        depth = shared
        for each in self.entered:
            length = len(each.where.frames)
            if length > depth and each.where.frames == frames[:length]:
                depth = length
        return frames[depth].site if depth < len(frames) else found.site

    def _used_by(self, computation: Computation) -> Iterator[Outside]:
        for call in computation.calls:
            if call.last in UPDATES and call.where.on_device and _is_optimizer(call.receiver):
                assert isinstance(call.receiver, Built)
                yield from self._optimizer(call.receiver, call, computation)
        on_host = {each.variable for each in computation.accesses if not each.where.on_device}
        for access in computation.accesses:
            if access.where.on_device and access.variable not in on_host:
                yield from self._variable(access, computation)

    def _optimizer(
        self, optimizer: Built, call: ApiCall, computation: Computation
    ) -> Iterator[Outside]:
        sure = self._is_outside(optimizer.where, computation.call.receiver)
        if sure is not None and has_slots(optimizer):
            sure = _least(sure, computation.certainty)
            if is_guessed(call.where, computation):
                sure = Certainty.POSSIBLE
            yield Outside(
                "optimizer", optimizer.last, optimizer.where, optimizer.site, call.site,
                call.where, sure,
            )  # fmt: skip

    def _variable(self, access: Access, computation: Computation) -> Iterator[Outside]:
        variable = access.variable
        if variable.strategy is not None or variable.made is None or variable.site is None:
            return
        if access.mode == "create" or variable.made.computation is not None:
            return
        if is_guessed(access.where, computation):
            return
        sure = self._is_outside(variable.made, computation.call.receiver)
        if sure is None:
            return
        kind, name = "variable", variable.name
        if variable.sort == "weights":
            name = variable.name.removesuffix(".weights")
            kind = "metric" if access.how == "update_state" else "model"
            if kind == "model" and access.how not in UPDATES:
                return
            if kind == "model" and not self._is_built(variable):
                sure = Certainty.POSSIBLE
        elif variable.sort != "variable":
            return
        elif access.how not in UPDATES:
            if access.mode != "write" and not _is_on_cpu(variable.made):
                return
            sure = Certainty.POSSIBLE
        sure = _least(sure, computation.certainty)
        yield Outside(kind, name, variable.made, variable.site, access.site, access.where, sure)

    def _compiled(self, call: ApiCall) -> Iterator[Outside]:
        """`with strategy.scope(): model.compile(...)`: what it takes belongs under that scope."""
        layer = call.where.contexts(SCOPE)[0]
        strategy = layer.payload[1]
        if not isinstance(strategy, Strategy) or strategy.kind == "other":
            return
        certain = strategy.kind == "tpu" and not layer.perhaps
        least = Certainty.DEFINITE if certain else Certainty.POSSIBLE
        if _is_model(call.receiver):
            yield from self._taken(call, call.receiver, "model", strategy, least)
            given = call.argument("optimizer", 0)
            if given is not None and _is_optimizer(given.value) and has_slots(given.value):
                yield from self._taken(call, given.value, "optimizer", strategy, least)

    def _taken(
        self, call: ApiCall, value: Value | None, kind: str, strategy: Strategy, least: Certainty
    ) -> Iterator[Outside]:
        assert isinstance(value, (Built, Instance))
        if value.where is None or value.site is None:
            return
        sure = self._is_outside(value.where, strategy)
        if sure is not None and value.where.computation is None:
            name = value.last if isinstance(value, Built) else value.cls.code.name
            sure = _least(sure, least)
            yield Outside(kind, name, value.where, value.site, call.site, call.where, sure)

    def _is_outside(self, made: Where, strategy: Value | None) -> Certainty | None:
        """Whether what was made at `made` surely was under no scope; None where it may have been.

        Who calls a function that nothing read calls may have entered the scope, unless the
        strategy is made in there; where the function enters it itself, that is unlikely.
        """
        if made.muted or made.contexts(SCOPE) or made.contexts(UNSEEN) or made.is_guess:
            return None
        if all(layer.kind != UNSEEN_CALLER for layer in made.layers):
            return Certainty.DEFINITE
        source = self.made.get(id(strategy))
        if source is not None and source.last in CLASSES and source.where.run == made.run:
            return Certainty.DEFINITE
        if any(_is_in_one_of(each.where, made) for each in self.entered):
            return Certainty.POSSIBLE
        return None

    def _is_built(self, weights: Variable) -> bool:
        """Whether the model or layer had its variables before the step: others get them there."""
        call = next((each for each in self.program.calls if each.site == weights.site), None)
        if call is None:
            return False
        if ".applications." in call.path or call.last in BUILT_MODELS:
            return True
        if call.last == "Model":
            return len(call.arguments) >= 2
        if any(each.last in ("build", "summary", "set_weights", "load_weights")
               and each.receiver is call.result for each in self.program.calls):  # fmt: skip
            return True
        return call.last == "Sequential" and any(_is_input(each) for each in call.arguments)


def is_guessed(where: Where, computation: Computation) -> bool:
    """Whether it hangs on which of several things is meant here, in device code."""
    return any(key[0] in GUESSES for key, _ in where.conditions - computation.where.conditions)


def has_slots(optimizer: Value) -> bool:
    """Whether the optimizer makes variables beside each of the model's: plain SGD makes none."""
    assert isinstance(optimizer, Built)
    if optimizer.last != "SGD":
        return True
    momentum = dict(optimizer.arguments).get("momentum", Const(0))
    return momentum not in NO_MOMENTUM


def _is_optimizer(value: Value | None) -> bool:
    if not isinstance(value, Built):
        return False
    return ".optimizers." in value.path and "keras" in value.path and value.last[:1].isupper()


def _is_model(value: Value | None) -> bool:
    """A Keras model, or an object of a class that is one."""
    if isinstance(value, Built):
        return "keras" in value.path and (
            value.last in ("Model", "Sequential") or ".applications." in value.path
        )
    return isinstance(value, Instance) and _inherits_model(value.cls)


def _inherits_model(cls: Class) -> bool:
    return any(
        each.path.endswith("keras.Model") if isinstance(each, External) else
        isinstance(each, Class) and _inherits_model(each)
        for each in cls.bases
    )  # fmt: skip


def _is_input(argument: object) -> bool:
    """Whether the layers of a Sequential begin with their input's shape."""
    value = getattr(argument, "value", None)
    items = getattr(value, "items", None)
    first = items[0] if isinstance(items, list) and items else None
    if not isinstance(first, Built):
        return False
    shapes = {"input_shape", "batch_input_shape", "input_dim"}
    return first.last in ("Input", "InputLayer") or any(
        keyword in shapes for keyword, _ in first.arguments
    )


def _is_on_cpu(made: Where) -> bool:
    """Whether it was placed on a CPU in so many words."""
    names = [each.payload[1] for each in made.contexts(DEVICE)]
    return any(isinstance(each, Const) and "cpu" in str(each.value).lower() for each in names)


def _is_of_strategy(call: ApiCall) -> bool:
    """Whether a context that is entered by hand is a strategy's scope, or may be."""
    if call.last == "experimental_set_strategy":
        return True
    taken = [call.receiver, *(each.value for each in call.arguments)]
    return any(isinstance(each, Managed) and each.effect == SCOPE for each in taken)


def _is_in_one_of(inner: Where, outer: Where) -> bool:
    """Whether both stand in the same call of a function, in one run."""
    return inner.run == outer.run and inner.frames == outer.frames and bool(outer.frames)


def _least(one: Certainty, other: Certainty) -> Certainty:
    return Certainty.DEFINITE if one is other is Certainty.DEFINITE else Certainty.POSSIBLE
