"""The map as plain data: what runs where, what crosses, who touches which variable, what waits.

Two lanes, time running down. A node is a box in one of them; what the device program does between
two host clusters is one node, a segment. A host cluster is opposite the node of the call that sends
it to the host. Keys of nodes, regions and variables are unique in a computation.
"""

from __future__ import annotations

from dataclasses import dataclass

from tpulint.finding import Certainty, Span

# The kinds of node.
ENTRY = "entry"  # the call that builds the computation, on the host
INPUT = "input"  # an input pipeline, on the host
SEGMENT = "segment"  # what the device does between two calls of host clusters
CALL = "call"  # the device calls a host cluster
CLUSTER = "cluster"  # what runs on the host
OUTFED = "outfed"  # what runs on the host after the step, from the outfeed

# The kinds of edge.
THEN = "then"  # the device goes on
SENDS = "sends"  # tensors go from the device to the host, or into the computation
RETURNS = "returns"  # tensors come back, or the device waits for the end alone
NESTED = "nested"  # a host cluster opens another


UNITS = ("KiB", "MiB", "GiB")


@dataclass(frozen=True)
class Line:
    """One line of a box: a name, its place, and what there is to say of it."""

    text: str
    span: Span | None = None
    detail: str = ""


@dataclass(frozen=True)
class MapNode:
    """A box of a lane. regions: around it, outermost first. times: how often it is read.

    more: lines that are left out.
    """

    key: str
    lane: str
    kind: str
    title: str
    span: Span | None = None
    lines: tuple[Line, ...] = ()
    regions: tuple[str, ...] = ()
    times: int = 1
    more: int = 0


@dataclass(frozen=True)
class MapRegion:
    """A body of control flow: a branch or a loop of the device, or a loop of Python."""

    key: str
    title: str
    span: Span | None


@dataclass(frozen=True)
class Crossing:
    """A tensor that crosses the seam, its dtype and shape as far as known.

    bytes: None where they are not known.
    """

    name: str
    tensor: str = ""
    bytes: int | None = None


@dataclass(frozen=True)
class MapEdge:
    """From node to node. label: words beside the crossings. alarm: part of a cycle."""

    source: str
    target: str
    kind: str
    crossings: tuple[Crossing, ...] = ()
    label: str = ""
    alarm: bool = False


@dataclass(frozen=True)
class MapTouch:
    """A node reads or writes a variable at `span`, `times` times; `how` is the method or op."""

    node: str
    lane: str
    mode: str
    how: str
    span: Span
    times: int = 1


@dataclass(frozen=True)
class MapVariable:
    """A variable, by whom it is touched, and how many touches are left out."""

    key: str
    name: str
    sort: str
    span: Span | None
    touches: tuple[MapTouch, ...]
    more: int = 0

    @property
    def lanes(self) -> frozenset[str]:
        return frozenset(each.lane for each in self.touches)


@dataclass(frozen=True)
class MapWait:
    """A leg of a cycle: `source` cannot go on before `target`, in words, and where."""

    source: str
    target: str
    lane: str
    text: str
    span: Span | None


@dataclass(frozen=True)
class Cycle:
    """Waits that close where they began. variable: the key of what is held."""

    variable: str
    certainty: Certainty
    waits: tuple[MapWait, ...]

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(each.source for each in self.waits)


@dataclass(frozen=True)
class ComputationMap:
    """The picture of one computation. left_out: what is not in it, a line each."""

    title: str
    span: Span | None
    notes: tuple[str, ...] = ()
    nodes: tuple[MapNode, ...] = ()
    regions: tuple[MapRegion, ...] = ()
    edges: tuple[MapEdge, ...] = ()
    variables: tuple[MapVariable, ...] = ()
    cycles: tuple[Cycle, ...] = ()
    left_out: tuple[str, ...] = ()

    def edge(self, source: str, target: str) -> MapEdge | None:
        """Return the edge between two nodes, None where there is none."""
        return next((e for e in self.edges if (e.source, e.target) == (source, target)), None)


@dataclass(frozen=True)
class ProgramMap:
    """The map of a file, or of what goes through one of its functions."""

    subject: str
    computations: tuple[ComputationMap, ...]
    left_out: tuple[str, ...] = ()


def in_words(crossing: Crossing) -> str:
    """`loss float32 (8, 128) 4.0 KiB`, as far as it is known."""
    size = "" if crossing.bytes is None else size_in_words(crossing.bytes)
    return " ".join(filter(None, [crossing.name, crossing.tensor, size]))


def size_in_words(number: int) -> str:
    """`12 B`, `4.0 KiB`, `1.5 MiB`."""
    if number < 1024:
        return f"{number} B"
    power = min((number.bit_length() - 1) // 10, len(UNITS))
    return f"{number / 1024**power:.1f} {UNITS[power - 1]}"
