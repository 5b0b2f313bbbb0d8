"""The boxes of a computation while they are filled: what each function does in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tpulint.analysis.domain.events import (
    ApiCall,
    Cluster,
    Context,
    Operation,
    Variable,
)
from tpulint.analysis.domain.objects import ContextManagerValue, ExternalObject
from tpulint.finding import Location, Span
from tpulint.knowledge.operations import builds as host_operations
from tpulint.output.program_map.model import Line, MapNode
from tpulint.pipeline.program_map.timeline import TimelineEvent, own_number

LOGGING = re.compile(r"(^|\.)(logging|logger|log)\.")  # it is given tensors, and builds nothing
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

    def add(self, event: TimelineEvent) -> None:
        name = _function(event.context)
        what = event.what
        filename = event.site.module.filename if event.site is not None else ""
        if event.site is None:  # an operation is in the function whose places come with it
            known = [each for each in self.works.values() if each.name == name]
            filename = known[0].filename if known else ""
        work = self.works.setdefault((name, filename), Work(name, filename))
        if isinstance(what, Operation):
            work.operations.add(what.number)
        if event.site is not None and event.site.place >= 0:
            span = event.site.span
            work.rows += [span.start.row, span.end.row]
        if isinstance(what, ApiCall) and builds(what):
            work.names.setdefault(what.last)

    def shown(self) -> tuple[tuple[Line, ...], int]:
        """Return a line for each function, and how many are left out: those that build least."""
        placed: dict[str, Work] = {}
        for each in sorted(self.works.values(), key=lambda each: not each.rows):
            first = placed.setdefault(each.name, each)
            if not each.rows and first is not each:  # of operators, only the function is known
                first.operations |= each.operations
        kept = [each for each in self.works.values() if each.rows or placed[each.name] is each]
        kept = [each for each in kept if each.operations or each.names]
        largest = sorted(kept, key=lambda each: -len(each.operations))[:LINES]
        shown = [each for each in kept if any(each is one for one in largest)]
        return tuple(each.line() for each in shown), len(kept) - len(shown)


def segment_node(box: OpenBox, number: int) -> MapNode | None:
    """Return the node of a device segment, None where nothing is built in it."""
    shown, more = box.shown()
    if not shown:
        return None
    operations = len(set[int]().union(*(each.operations for each in box.works.values())))
    title = f"device segment {number}"
    if operations:
        title += f": {operations} operation{'s' if operations > 1 else ''}"
    return MapNode(box.key, box.lane, box.kind, title, None, shown, box.regions, more=more)


def builds(call: ApiCall) -> bool:
    """Return whether the call builds an operation, and not a layer, a scope or a line of log."""
    made = (ContextManagerValue, ExternalObject, Variable)
    if isinstance(call.result, made) or not call.last.isidentifier():
        return False
    if LOGGING.search(call.path):
        return False
    return own_number(call) is not None or host_operations(call.path) is not None


def _function(context: Context) -> str:
    name = context.call_chain[-1].name if context.call_chain else "the module"
    return "the lambda" if name in ("<lambda>", "lambda") else name
