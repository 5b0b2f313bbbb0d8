"""The lanes of a computation: its events in program order, in the boxes that a map shows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

from tpulint.absint.domain.context import COND, LOOP, WHILE, Scope
from tpulint.absint.domain.events import Access, ApiCall, Cluster, Computation, Context, Operation
from tpulint.absint.domain.objects import function_of
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import tensors
from tpulint.finding import DEVICE_LANE, HOST_LANE, Location, Span
from tpulint.frontends.tensorflow import map_facts
from tpulint.map.pictures.model import CALL, CLUSTER, OUTFED, SEGMENT, Line, MapNode, MapRegion
from tpulint.queries.happens_before import scopes_of

ALL_MODES = frozenset().union(*map_facts.MODES.values())

# A part of a program: a file, or one function of it with all that it leads to.


@dataclass(frozen=True)
class Definition:
    """A function or class of a file: its dotted name there, and its rows."""

    name: str
    rows: range

    def is_called(self, name: str) -> bool:
        """Return whether `name` means this: `update` and `Meter.update` both do."""
        return self.name == name or self.name.endswith(f".{name}")


def definitions(text: str) -> Iterator[Definition]:
    """Yield the functions and classes of a file, in its order. Raises SyntaxError."""
    unread: list[tuple[ast.AST, str]] = [(ast.parse(text), "")]
    while unread:
        node, outer = unread.pop()
        name = outer
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{outer}.{node.name}" if outer else node.name
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Definition(name, range(first, (node.end_lineno or node.lineno) + 1))
        children = list(ast.iter_child_nodes(node))
        unread += [(child, name) for child in reversed(children)]


class Part:
    """The rows of some definitions of the file at `path`; of none, everything.

    mode: the one mode of which the part is, where a computation has several; None for all.
    """

    def __init__(
        self, path: str, meant: Iterable[Definition] = (), mode: str | None = None
    ) -> None:
        self.path = path
        self.meant = tuple(meant)
        self.mode = mode
        self._names = frozenset(definition.name.rpartition(".")[2] for definition in self.meant)

    def runs(self, context: Context) -> bool:
        """Return whether what happens there happens in the mode of the part."""
        return self.mode is None or all(
            (value in map_facts.MODES[self.mode]) == branch
            for value, branch in asked_modes(context)
        )

    def has(self, context: Context, site: Site | None) -> bool:
        """Return whether the part holds that place, or a call on the way to it."""
        if not self.runs(context):
            return False
        calls = context.call_chain
        if site is None and calls and calls[-1].name in self._names:
            return True
        sites = [*([site] if site is not None else []), *(call.site for call in calls)]
        return not self.meant or any(map(self._holds, sites))

    def has_cluster(self, cluster: Cluster) -> bool:
        """Return whether it opens the cluster, or is the host function.

        A cluster that evaluates runs only for that, whatever the computation returns.
        """
        if cluster.kind == map_facts.EVALUATED and self.mode not in (None, "evaluate"):
            return False
        if self.has(cluster.context, cluster.site):
            return True
        function = function_of(cluster.callee)
        return (
            self.runs(cluster.context)
            and function is not None
            and self._holds(Site(function.module, function.code.place))
        )

    def _holds(self, site: Site) -> bool:
        if site.module.path != self.path or site.place < 0:
            return False
        row = site.span.start.row
        return any(row in definition.rows for definition in self.meant)


def asked_modes(context: Context) -> list[tuple[str, object]]:
    """Return the modes that are asked for on the way to a place, and the answers."""
    return [
        (key.answer.compared, branch)
        for key, branch in context.conditions
        if key.answer is not None and key.answer.compared in ALL_MODES
    ]


# The events of a computation in program order.


Event: TypeAlias = Operation | ApiCall | Access | Cluster


def timeline(computation: Computation) -> list[Event]:
    """Return the events in order.

    A call that builds nothing comes before what is built next. A call is recorded before the calls
    that it makes, so what comes next has the least number of all that are recorded later.
    """
    operations = computation.operations
    # Each with its place in program order, and its rank among what has the same place.
    events: list[tuple[int, int, Event]] = [
        (operation.number, 1, operation) for operation in operations
    ]
    last = 0
    for access in computation.accesses:
        last = access.operation.number if access.operation is not None else last
        events.append((last, 1, access))
    firsts: dict[int, int] = {}  # of the operations in each cluster, by its identity
    for operation in operations:
        for scope in operation.context.scopes:
            if isinstance(scope.payload, Cluster):
                firsts.setdefault(id(scope.payload), operation.number)
    opened = {id(cluster.call): cluster for cluster in computation.clusters}
    after = end = operations[-1].number + 1 if operations else 0
    for call in reversed(computation.calls):
        cluster = opened.pop(id(call), None)
        number = firsts.get(id(cluster)) if cluster is not None else None
        rank = 1 if cluster is None else 2 if number is None else 0
        number = own_number(call) if number is None else number
        after = after if number is None else min(after, number)
        number = after if number is None else number
        events.append((number, rank, call if cluster is None else cluster))
    for cluster in opened.values():  # its call is recorded elsewhere, as that of an estimator is
        events.append((firsts.get(id(cluster), end), 0, cluster))
    return [event for _, _, event in sorted(events, key=itemgetter(0, 1))]


def site_of(event: Event) -> Site | None:
    """Return where the event is; of an operation, only its function is known."""
    return None if isinstance(event, Operation) else event.site


def own_number(call: ApiCall) -> int | None:
    """Return the number of the operation that the call builds."""
    for tensor in tensors(call.result):
        if tensor.operation is not None and tensor.made is not None:
            same = tensor.made.call_chain == call.context.call_chain
            return tensor.operation.number if same else None
    return None


# The boxes of a computation while they are filled: what each function does in them.

LINES = 6  # functions in a box
NAMES = 4  # operations of a function that are named


@dataclass
class Work:
    """The part of one function in a box: its rows, its operations and what they are called."""

    name: str
    filename: str
    rows: list[int] = field(default_factory=list)
    operations: set[int] = field(default_factory=set)
    names: dict[str, None] = field(default_factory=dict)

    def line(self) -> Line:
        number, names = len(self.operations), list(self.names)
        parts = [f"{number} operation{'s' if number > 1 else ''}"] if number else []
        if names:
            parts.append(", ".join(names[:NAMES]) + (", ..." if len(names) > NAMES else ""))
        span = None
        if self.rows:
            span = Span(self.filename, Location(min(self.rows), 1), Location(max(self.rows), 1))
        return Line(self.name, span, ": ".join(parts))


@dataclass
class OpenBox:
    """A node while it is filled. opened: the clusters that it is the host's part of.

    moved: calls that soft placement moves to the host instead.
    """

    key: str
    lane: str
    kind: str
    regions: tuple[str, ...]
    opened: list[Cluster] = field(default_factory=list)
    moved: list[ApiCall] = field(default_factory=list)
    works: dict[tuple[str, str], Work] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        calls, site = event.context.call_chain, site_of(event)
        name = calls[-1].name if calls else "the module"
        name = "the lambda" if name in ("<lambda>", "lambda") else name
        if site is not None:
            filename = site.module.filename
        else:  # an operation is in the function whose places come with it
            same_name = (work.filename for work in self.works.values() if work.name == name)
            filename = next(same_name, "")
        work = self.works.setdefault((name, filename), Work(name, filename))
        if isinstance(event, Operation):
            work.operations.add(event.number)
        if site is not None and site.place >= 0:
            work.rows += [site.span.start.row, site.span.end.row]
        if isinstance(event, ApiCall) and builds(event):
            # Of an object that is called, its class builds the operations.
            *_, owner, last = ["", *event.path.split(".")]
            work.names.setdefault(owner if last == "__call__" else last)

    def node(
        self, title: str, span: Span | None, lines: tuple[Line, ...], more: int = 0
    ) -> MapNode:
        """Return the node of the filled box."""
        times = len(self.opened) or len(self.moved) or 1
        return MapNode(
            self.key, self.lane, self.kind, title, span, lines, self.regions, times, more
        )

    def shown(self) -> tuple[tuple[Line, ...], int]:
        """Return a line for each function, and how many are left out: those that build least."""
        placed: dict[str, Work] = {}
        for work in sorted(self.works.values(), key=lambda work: not work.rows):
            first = placed.setdefault(work.name, work)
            if not work.rows and first is not work:  # of operators, only the function is known
                first.operations |= work.operations
        with_operations = [
            work
            for work in self.works.values()
            if (work.rows or placed[work.name] is work) and (work.operations or work.names)
        ]
        largest = sorted(with_operations, key=lambda work: -len(work.operations))[:LINES]
        shown = [work for work in with_operations if any(work is large for large in largest)]
        return tuple(work.line() for work in shown), len(with_operations) - len(shown)


def segment_node(box: OpenBox, number: int) -> MapNode | None:
    """Return the node of a device segment, None where nothing is built in it."""
    shown, more = box.shown()
    if not shown:
        return None
    operations = len(set[int]().union(*(work.operations for work in box.works.values())))
    title = f"device segment {number}"
    if operations:
        title += f": {operations} operation{'s' if operations > 1 else ''}"
    return box.node(title, None, shown, more)


def builds(call: ApiCall) -> bool:
    """Return whether the call builds an operation, and not a layer, a scope or a line of log."""
    return map_facts.may_build(call) and (
        own_number(call) is not None or bool(map_facts.operations_on_host(call.path))
    )


# The control flow around an event, as regions of a picture.

DEPTH = 3  # regions within regions


class Regions:
    """The bodies of a computation by key; those that `unfolded` does not name are folded away."""

    def __init__(self, unfolded: frozenset[str] | None = None) -> None:
        self._unfolded = unfolded
        self.met: dict[str, MapRegion] = {}
        self._unrolled: set[str] = set()
        self._branches: dict[tuple[object, int], list[Scope]] = {}

    def around(self, context: Context) -> tuple[str, ...]:
        """Return the keys of the regions around a place, outermost first."""
        scopes = [scope for scope in scopes_of(context) if scope.kind in (COND, WHILE, LOOP)]
        keys = dict.fromkeys(map(self._key, scopes))
        return tuple(key for key in keys if self._unfolded is None or key in self._unfolded)[:DEPTH]

    def on_tensors(self) -> frozenset[str]:
        """Return the keys of the bodies that are traced: not those of Python's own loops."""
        return frozenset(self.met) - self._unrolled

    def shown(self, keys: Iterable[str]) -> tuple[MapRegion, ...]:
        """Return the regions of those keys, in the order of the program."""
        wanted = frozenset(keys)
        return tuple(region for key, region in self.met.items() if key in wanted)

    def _key(self, scope: Scope) -> str:
        span = scope.site.span if scope.site.place >= 0 else None
        branch = self._branch(scope) if scope.kind == COND else 0
        where = f"{span.filename}:{span.start.row}:{span.start.column}" if span else "?"
        key = f"{scope.kind}{branch or ''} {where}"
        if scope.kind == COND:
            conditional = "an `if`" if scope.converted else "a conditional"
            title = f"branch {branch} of {conditional} on a tensor"
        elif scope.kind == LOOP:
            title = "Python loop, unrolled"
            self._unrolled.add(key)
        else:
            title = "loop on a tensor" if scope.converted else "loop on the device"
        self.met.setdefault(key, MapRegion(key, title, span))
        return key

    def _branch(self, scope: Scope) -> int:
        """Return which branch of its conditional this is, from 1."""
        branches = self._branches.setdefault((scope.site, id(scope.payload)), [])
        if not any(branch is scope for branch in branches):
            branches.append(scope)
        return next(number for number, branch in enumerate(branches, 1) if branch is scope)


# The lanes of a computation: device segments, calls, and the host clusters opposite them.


class EventBoxes:
    """The boxes of a computation in order, and the box of each event.

    A cluster that is opened again at the same place, with the same function, is the same box: a
    helper that is called for each layer is read once for each of them. `moved` are the calls, by
    identity, that soft placement moves to the host; `unfolded` those that are not folded away.
    """

    def __init__(
        self,
        events: list[Event],
        part: Part,
        moved: frozenset[int],
        unfolded: frozenset[str] | None = None,
    ) -> None:
        self.boxes: list[OpenBox] = []
        self.of_cluster: dict[int, str] = {}  # keys, by the cluster's identity
        self.of_event: dict[int, str] = {}  # keys, by the identity of an access or a call
        self.regions = Regions(unfolded)
        self._moved = moved
        self._hosts: dict[tuple[object, ...], OpenBox] = {}
        self._segment: OpenBox | None = None
        for event in events:
            if isinstance(event, Cluster) and part.has_cluster(event):
                self._open(event)
        for event in events:
            self._take(event, part)

    def call_of(self, cluster: str) -> str:
        """Return the key of the call opposite the cluster of that key."""
        return f"call of {cluster}"

    def _open(self, cluster: Cluster) -> None:
        around = self.regions.around(cluster.context)
        is_outer = cluster.parent is None
        kind = OUTFED if cluster.kind in map_facts.HOST_FUNCTIONS else CLUSTER
        identity = cluster.kind, cluster.site, repr(cluster.callee), around, is_outer
        box = self._host(kind, around, identity)
        box.opened.append(cluster)
        self.of_cluster[id(cluster)] = box.key

    def _host(self, kind: str, around: tuple[str, ...], identity: tuple[object, ...]) -> OpenBox:
        """Return the host's box with this identity."""
        key = f"cluster {len(self._hosts)}"
        return self._hosts.setdefault(identity, OpenBox(key, HOST_LANE, kind, around))

    def _take(self, event: Event, part: Part) -> None:
        outer = event if isinstance(event, Cluster) else event.context.cluster
        box = None
        if outer is not None:
            key = self.of_cluster.get(id(outer))
            box = next((host for host in self._hosts.values() if host.key == key), None)
            if isinstance(event, Cluster):
                if box is not None:
                    self._place(box, with_call=event.parent is None)
                return
        elif part.has(event.context, site_of(event)):
            if isinstance(event, ApiCall) and id(event) in self._moved:
                # Soft placement moves it to the host, opposite the call.
                around = self.regions.around(event.context)
                box = self._host(CLUSTER, around, ("moved", event.site, around))
                box.moved.append(event)
                self._place(box, with_call=True)
                return
            box = self._segment_at(event)
        if box is not None:
            box.add(event)
            self.of_event[id(event)] = box.key

    def _place(self, box: OpenBox, *, with_call: bool) -> None:
        """Put a host's box, and its call opposite, where it is opened first."""
        if any(placed is box for placed in self.boxes):
            return
        if with_call:
            key = self.call_of(box.key)
            self.boxes.append(OpenBox(key, DEVICE_LANE, CALL, box.regions, box.opened, box.moved))
            self._segment = None
        self.boxes.append(box)

    def _segment_at(self, event: Event) -> OpenBox | None:
        """Return the segment of an event; one that builds nothing begins none."""
        around = self.regions.around(event.context)
        if self._segment is None or self._segment.regions != around:
            if isinstance(event, ApiCall) and not builds(event):
                return None
            number = sum(box.kind == SEGMENT for box in self.boxes)
            self._segment = OpenBox(f"segment {number}", DEVICE_LANE, SEGMENT, around)
            self.boxes.append(self._segment)
        return self._segment
