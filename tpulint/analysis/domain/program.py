"""The program as rules see it: computations, their clusters, what each lane touches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tpulint.analysis.domain.context import DATA
from tpulint.analysis.names.target_release import Targets
from tpulint.finding import Certainty, Span

if TYPE_CHECKING:
    from tpulint.analysis.domain.context import Context
    from tpulint.analysis.domain.values import Tensor, Value, Variable
    from tpulint.analysis.names.api_names import Spelled
    from tpulint.analysis.resolver.module import Module


class Site(NamedTuple):
    """A place in a module. Rows and columns are looked up when `span` is asked for."""

    module: Module
    place: int

    @property
    def span(self) -> Span:
        return self.module.span(self.place)


class CallStep(NamedTuple):
    """A call on the way to a place: `site` is the call, `name` who is called."""

    site: Site
    name: str


class Argument(NamedTuple):
    """One argument of a call as it was written. `node` is its summary expression."""

    keyword: str | None
    star: str
    value: Value
    site: Site
    node: list[object]


@dataclass(eq=False)
class ApiCall:
    """A call of something outside the project; `path` is its dotted name or `?.method`."""

    path: str
    site: Site
    context: Context
    arguments: tuple[Argument, ...]
    receiver: Value | None
    result: Value

    def __post_init__(self) -> None:
        self.last = self.path.rpartition(".")[2]

    def argument(self, keyword: str, position: int | None = None) -> Argument | None:
        """The argument given by `keyword`, or the one at `position`."""
        for each in self.arguments:
            if each.keyword == keyword:
                return each
        if position is not None:
            plain = [each for each in self.arguments if each.keyword is None]
            if position < len(plain) and not any(each.star for each in plain[: position + 1]):
                return plain[position]
        return None


@dataclass(eq=False)
class Computation:
    """One place where a TPU computation is built.

    kind: the API's last name (`replicate`, `shard`, `run`, ...) or "model_fn".
    certainty: POSSIBLE where it may turn out to be no TPU's.
    mode: "graph" or "function" (tf.function semantics).
    updates: calls of `minimize` and `apply_gradients` of optimizers of the project.
    """

    kind: str
    site: Site
    context: Context
    callee: Value
    call: ApiCall
    certainty: Certainty
    mode: str
    parameters: tuple[Value, ...] = ()
    result: Value | None = None
    accesses: list[Access] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    context_changes: list[ContextChange] = field(default_factory=list)
    dependencies: list[Dependencies] = field(default_factory=list)
    inner: list[Computation] = field(default_factory=list)
    updates: list[ApiCall] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


# What takes only that something has run: it is ordered on the host, and no value crosses back.
CONTROL_TAKERS = frozenset(["control_dependencies", "group", "no_op"])


@dataclass(eq=False)
class Cluster:
    """One host cluster: what a callable given to outside_compilation (or host_call) makes.

    kind: "outside_compilation", "map_outside_compilation", "host_call", "eval_metrics".
    site: the call itself. named: the call that names the host function (that of the
    forwarding wrapper, where there is one); findings stand there. given: the argument that
    names it there.
    context: of the call (the cluster itself is not among its scopes).
    receives: device-made tensors that it takes, by argument or by closure.
    uses: where the device takes its results; empty means that nobody waits for it.
    feeds: later clusters that take its results.
    vague: an argument is not known, so whether the device computed it is not either.
    """

    kind: str
    site: Site
    named: Site
    given: Argument | None
    context: Context
    callee: Value
    call: ApiCall
    arguments: tuple[Argument, ...]
    computation: Computation | None
    parent: Cluster | None
    result: Value | None = None
    receives: list[Use] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    feeds: list[Cluster] = field(default_factory=list)
    fed_by: list[Cluster] = field(default_factory=list)
    vague: bool = False

    @property
    def computed_inputs(self) -> bool:
        """Whether the device computes something first: then this is no head cluster."""
        if any(use.tensor.computed for use in self.receives):
            return True
        return any(each.computed_inputs for each in self.fed_by)

    def is_around(self, context: Context) -> bool:
        """Whether `context` is inside this cluster."""
        return any(scope.payload is self for scope in context.scopes)

    def waits(self, place: Context | None = None) -> Certainty | None:
        """Whether the device waits for this cluster (facts of TensorFlow: results cross back).

        With `place`: on every run that reaches it.
        """
        return self._waits(set(), place)

    def _waits(self, seen: set[int], place: Context | None) -> Certainty | None:
        if id(self) in seen:
            return None
        seen.add(id(self))
        found = [
            use.certainty
            if place is None or use.context.reached_whenever(place)
            else Certainty.POSSIBLE
            for use in self.uses
            if use.taker not in CONTROL_TAKERS
        ]
        found += [sure for fed in self.feeds if (sure := fed._waits(seen, place)) is not None]
        if not found:
            return None
        return Certainty.DEFINITE if Certainty.DEFINITE in found else Certainty.POSSIBLE


@dataclass(eq=False)
class Access:
    """A variable is touched. mode: "read", "write" or "create"; `how` is the method or op."""

    variable: Variable
    mode: str
    how: str
    site: Site
    context: Context


@dataclass(eq=False)
class Use:
    """A tensor is taken at `site`. certainty: POSSIBLE where the taker is unknown.

    alternative: what is taken there is this tensor or something else.
    """

    tensor: Tensor
    site: Site
    context: Context
    certainty: Certainty
    taker: str
    alternative: bool = False


class Effect(NamedTuple):
    """Python that runs once, while device code is traced, although it reads as if each step ran it.

    kind: "shows" (a tensor, in words), "keeps" (a tensor, in a list from outside), "writes"
    (a file), "decides" or "computes" (with a value that is drawn or read just now).
    name: of the function that is called. source: where that value comes from, else the call.
    """

    kind: str
    name: str
    site: Site
    context: Context
    source: Site
    sure: bool


@dataclass(eq=False)
class ContextChange:
    """A control-flow context entered or left by hand. change: "enter" or "exit"."""

    effect: str
    change: str
    site: Site
    context: Context
    holder: object


@dataclass(eq=False)
class Dependencies:
    """A `with tf.control_dependencies(inputs):` that was read to its end.

    operations: how many operations were built in it, those that only may have been included.
    """

    inputs: Value
    site: Site
    context: Context
    operations: int


@dataclass(eq=False)
class Feed:
    """An input pipeline that feeds a TPU.

    kind: "train", "evaluate" or "predict" of a TPUEstimator; "distribute" or "fit" of a
    TPUStrategy. owner: the estimator or the strategy. data: what the TPU gets.
    """

    kind: str
    site: Site
    context: Context
    owner: Value
    data: Value


Key = TypeVar("Key", bound=Hashable)


def _grouped(calls: Iterable[tuple[Key, ApiCall]]) -> dict[Key, list[ApiCall]]:
    """The calls of each key, in their order."""
    found: dict[Key, list[ApiCall]] = {}
    for key, call in calls:
        found.setdefault(key, []).append(call)
    return found


@dataclass
class Program:
    """What runs where, and what it touches.

    computations: those that a TPU entry point builds. loose_clusters: calls of
    outside_compilation where no computation is being built. calls, uses, accesses:
    those outside every computation. modules: those that were read. feeds: the input
    pipelines of TPUs. spelled: names that the TensorFlow of their files lacks; targets:
    which TensorFlow that is. soft_placement: as `placement` finds it.
    """

    computations: list[Computation] = field(default_factory=list)
    loose_clusters: list[Cluster] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    modules: list[Module] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    spelled: list[Spelled] = field(default_factory=list)
    targets: Targets = field(default_factory=Targets)
    soft_placement: str | None = None

    @cached_property
    def piped(self) -> list[ApiCall]:
        """The calls in functions of input pipelines (few of many); for when all is read."""
        return [each for each in self.calls if any(one.kind == DATA for one in each.context.scopes)]

    @cached_property
    def piped_to(self) -> dict[int, list[ApiCall]]:
        """Those calls by the (id of the) feed whose pipeline they are in."""
        return _grouped(
            (feed, each)
            for each in self.piped
            for feed in {id(one.payload) for one in each.context.scopes if one.kind == DATA}
        )

    @cached_property
    def named(self) -> dict[str, list[ApiCall]]:
        """The calls outside every computation by the last name; for when all is read."""
        return _grouped((each.last, each) for each in self.calls)

    @cached_property
    def at(self) -> dict[Site, list[ApiCall]]:
        """The calls outside every computation by where they stand; for when all is read."""
        return _grouped((each.site, each) for each in self.calls)

    def all_calls(self) -> Iterator[ApiCall]:
        """Every call of something outside the project."""
        yield from self.calls
        for computation in self.computations:
            yield from computation.calls

    def clusters(self) -> Iterator[Cluster]:
        """Every host cluster, of all computations."""
        for computation in self.computations:
            yield from computation.clusters
