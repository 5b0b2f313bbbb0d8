"""Calls, accesses and uses in a program, and the tensors and variables that they touch.

Computations, host clusters and contexts refer to each other and to these, hence one file.
Identity matters more than content: two lanes touch the same variable when they reach the
same `Variable` object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeAlias

from tpulint.absint.domain.context import CONVERTED, FUNCTION, MAY_CONVERT, UNCONVERTED, BaseContext
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import UNKNOWN, Value
from tpulint.finding import Certainty
from tpulint.ordering import reachable
from tpulint.syntax.nodes import Expression


class Context(BaseContext):
    """The context of a place, and which computation and which cluster it is in."""

    __slots__ = ()

    @property
    def computation(self) -> Computation | None:
        """The innermost computation being built here."""
        computation: Computation | None = self.scopes.computation
        return computation

    @property
    def cluster(self) -> Cluster | None:
        """The innermost open host cluster of the innermost computation."""
        cluster: Cluster | None = self.scopes.cluster
        return cluster

    @property
    def on_device(self) -> bool:
        """Return whether an operation built here is compiled for the device."""
        return self.computation is not None and self.cluster is None

    @property
    def converts_control_flow(self) -> bool:
        """Return whether Python's `if` and `while` on tensors are converted here."""
        return self.conversion != UNCONVERTED

    @property
    def conversion(self) -> str:
        """CONVERTED, UNCONVERTED or MAY_CONVERT: what becomes of Python's control flow here."""
        for scope in reversed(self.scopes):
            if scope.effect in (CONVERTED, UNCONVERTED, MAY_CONVERT):
                return scope.effect
            if scope.kind == FUNCTION:
                return CONVERTED
        is_function = self.computation is not None and self.computation.mode == "function"
        return CONVERTED if is_function else UNCONVERTED


@dataclass(eq=False, repr=False, slots=True)
class Variable(Value):
    """State that outlives a step: a variable, table, queue, the global step, a layer's weights.

    `made` is where it was created. `sort` is "variable", "step", "table", "queue", "section"
    or "weights". `assumed`: only the methods called on it say that it is a variable. `whole`:
    the weights of which it is one, as `layer.kernel` is. `counts`: it holds integers, as all
    replicas count them.
    """

    shown = "{0.sort} {0.name}"
    name: str
    sort: str
    site: Site | None
    made: Context | None
    assumed: bool = False
    whole: Variable | None = None
    counts: bool = False


@dataclass(eq=False, slots=True)
class Operation:
    """An operation of a computation's graph, as far as its place in the order of things matters.

    number: its place in program order. sources: those whose results it takes. after: those that
    it waits for. unseen: it may be none at all: what was called is not seen. ordered: it has an
    effect, and no variable: a traced function runs these in program order. kept: never removed.
    operator: the operator that builds it, if one does.
    """

    number: int
    context: Context
    sources: tuple[Operation, ...]
    after: tuple[Operation, ...] = ()
    unseen: bool = False
    ordered: bool = False
    kept: bool = False
    operator: str = ""


@dataclass(eq=False, slots=True)
class LayerCall:
    """A step of a model that is being put together: `layer` is called on symbolic tensors.

    It is None where tensors of layers meet in an operation, and for the model's inputs.
    """

    layer: Value | None
    arguments: Arguments
    site: Site | None
    context: Context
    sources: tuple[LayerCall, ...] = ()


@dataclass(eq=False, repr=False, slots=True)
class ClusterTrail:
    """The host clusters that a tensor went through: `cluster` after those of `before`.

    A tensor shares the trails of those that it is made of: a set of its own in each tensor would
    take memory that grows as the square of the clusters.
    """

    cluster: Cluster | None
    before: tuple[ClusterTrail, ...] = ()


def joined_trail(
    cluster: Cluster | None, trails: Iterable[ClusterTrail | None]
) -> ClusterTrail | None:
    """Return the trail of a tensor that is made in `cluster` of tensors with these trails."""
    distinct = {id(trail): trail for trail in trails if trail is not None}
    before = tuple(distinct.values())
    if len(before) == 1 and cluster in (None, before[0].cluster):
        return before[0]
    return ClusterTrail(cluster, before) if before or cluster is not None else None


@dataclass(eq=False, slots=True)
class Tensor(Value):
    """The result of an operation that was built while the program was read.

    made: where it was built. Facts flow: the clusters of its `trail`, `per_replica`
    (depends on the computation's inputs), `replica_id`, `computed` (a device's operation made it),
    `uniform` (always equal on all replicas), `filled` (all its elements are equal, and so are its
    shards), `data` (known at run time only). `dtype` and `shape`
    are known where literals give them; a dimension that is None is dynamic or not seen. `starts`:
    the known start of a string. `operation`: what makes it; None outside computations, and for
    their arguments. `unread`: the variable whose write made it; taking the tensor reads that.
    `layer`: where it is symbolic, the call of a layer that made it. `of_all`: the call that gave
    it, where it is no tensor but holds one of each replica (or a structure of such). `single`: it
    certainly is one tensor, and no pair or list: an operator made it, or it was sent to the host.
    `split`: certainly made of this replica's part of a value of all.
    """

    is_tensor: ClassVar[bool] = True
    made: Context | None
    site: Site | None
    sort: str = "tensor"  # or "operation", "structure", "unseen" (an unknown callee's result)
    trail: ClusterTrail | None = None
    per_replica: bool = False
    replica_id: bool = False
    computed: bool = False
    uniform: bool = False
    filled: bool = False
    result_of: Cluster | None = None
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    starts: str | None = None
    data: bool = False
    operation: Operation | None = None
    unread: Variable | None = None
    layer: LayerCall | None = None
    of_all: ApiCall | None = None
    single: bool = False
    split: bool = False

    @property
    def clusters(self) -> frozenset[Cluster]:
        """The host clusters that it went through."""
        if self.trail is None:
            return frozenset()
        trails = reachable([self.trail], lambda trail: trail.before)
        return frozenset([trail.cluster for trail in trails if trail.cluster is not None])

    def __repr__(self) -> str:
        shape = "" if self.shape is None else str(self.shape).replace("None", "?")
        replica = "per replica" if self.per_replica else ""
        cluster = "from a host cluster" if self.trail is not None else ""
        return " ".join(filter(None, [self.dtype, self.sort, shape, replica, cluster]))


class Argument(NamedTuple):
    """One argument of a call as it was written. `node` is its summary expression."""

    keyword: str | None
    star: str
    value: Value
    site: Site
    node: Expression | None = None


Arguments: TypeAlias = tuple[Argument, ...]


FOR = "for"  # the path of a loop over an object, which takes its items as a call does


@dataclass(eq=False, repr=False, slots=True)
class ApiCall:
    """A call of something outside the project; `path` is its dotted name or `?.method`."""

    path: str
    site: Site
    context: Context
    arguments: Arguments
    receiver: Value | None = None
    result: Value = UNKNOWN
    last: str = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.path.rpartition(".")[2]

    def argument(self, keyword: str, position: int | None = None) -> Argument | None:
        """Return the argument given by `keyword`, or the one at `position`."""
        for argument in self.arguments:
            if argument.keyword == keyword:
                return argument
        if position is not None:
            plain = [argument for argument in self.arguments if argument.keyword is None]
            if position < len(plain):
                stars = [argument for argument in plain[: position + 1] if argument.star]
                return None if stars else plain[position]
        return None

    def value(self, keyword: str, position: int | None = None) -> Value | None:
        """Return the value of an argument, None where it is not given."""
        argument = self.argument(keyword, position)
        return None if argument is None else argument.value

    @property
    def is_starred(self) -> bool:
        """Whether `*` or `**` among the arguments may give more than is seen."""
        return any(argument.star for argument in self.arguments)


@dataclass(eq=False, repr=False)
class Computation:
    """One place where a computation for the device is built.

    kind: the API's last name (`replicate`, `shard`, `run`, ...) or what it is given as.
    certainty: POSSIBLE where it may turn out to be none.
    mode: "graph" or "function" (the semantics of a traced function).
    updates: calls of `minimize` and `apply_gradients` of optimizers of the project.
    host_modes: values of an argument with which the callee runs on the host instead.
    predicts: False where it is never run to predict, but only exported for that.
    operations: those of its graph, in program order. mixed: operators on tensors of several dtypes.
    carried: the tensors that its traced loops carry from round to round.
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
    host_modes: frozenset[str] = frozenset()
    predicts: bool = True
    operations: list[Operation] = field(default_factory=list)
    mixed: list[MixedOperands] = field(default_factory=list)
    carried: list[Carried] = field(default_factory=list)


class MixedOperands(NamedTuple):
    """An operator on the device that takes tensors of different dtypes."""

    operator: str
    dtypes: frozenset[str]
    site: Site
    context: Context


class Carried(NamedTuple):
    """A tensor that a traced loop carries: as a round gets it, and as it hands it to the next."""

    before: Tensor
    after: Tensor
    context: Context


@dataclass(eq=False, repr=False, slots=True)
class Cluster:
    """One host cluster: what a callable given to outside_compilation (or host_call) makes.

    kind: "outside_compilation", "map_outside_compilation", "host_call", "eval_metrics".
    site: the call itself. named: the call that names the host function (that of the
    forwarding wrapper, where there is one); findings go there. given: the argument that
    names it there.
    context: of the call (the cluster itself is not among its scopes).
    receives: device-made tensors that it takes, by argument or by closure.
    uses: where the device takes its results; empty means that nothing waits for it.
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
    arguments: Arguments
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
        """Return whether the device computes something first: then this is no head cluster."""
        if any(use.tensor.computed for use in self.receives):
            return True
        return any(cluster.computed_inputs for cluster in self.fed_by)

    def is_around(self, context: Context) -> bool:
        """Return whether `context` is inside this cluster."""
        return any(scope.payload is self for scope in context.scopes)


TOUCHES = ("read", "write", "unknown")  # the modes of an access that no rule leaves aside
# Modes that only the map shows. They concern some of a layer's weights, which count as one
# variable: a rule that took them for a write of all would judge the others wrongly.
AVERAGES, MAYBE_AVERAGES = "update of the averages", "possible update of the averages"
REGULARIZER = "read by a regularizer"


@dataclass(eq=False, repr=False, slots=True)
class Access:
    """A variable is touched; `how` is the method or op.

    mode: one of TOUCHES, "create", or one that only the map shows.

    operation: what touches it; None outside computations.
    """

    variable: Variable
    mode: str
    how: str
    site: Site
    context: Context
    operation: Operation | None = None


@dataclass(eq=False, repr=False, slots=True)
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
    (a file), "decides" or "computes" (with a value that is drawn or read just now), "asks" (if
    a tensor is true), "may ask" (the same, in some releases), "fails" (whatever a tensor is),
    "formats" (a tensor, as a number). name: of the function that is called, or Python's word.
    source: where that value comes from, else the call.
    """

    kind: str
    name: str
    site: Site
    context: Context
    source: Site
    sure: bool


@dataclass(eq=False, slots=True)
class ContextChange:
    """A control-flow context entered or left by hand. change: "enter" or "exit"."""

    effect: str
    change: str
    site: Site
    context: Context
    holder: object


@dataclass(eq=False, slots=True)
class Dependencies:
    """A block whose operations wait for `inputs`, read to its end.

    operations: how many operations were built in it, those that only may have been included.
    returned: the values that the block returned.
    """

    inputs: Value
    site: Site
    context: Context
    operations: int
    returned: tuple[Value, ...] = ()
