"""The lanes of a computation: device segments, calls, and the host clusters opposite them."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import Access, ApiCall, Cluster
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.output.program_map.model import CALL, CLUSTER, OUTFED, SEGMENT
from tpulint.pipeline.program_map.boxes import OpenBox, builds
from tpulint.pipeline.program_map.part import Part
from tpulint.pipeline.program_map.regions import Regions
from tpulint.pipeline.program_map.timeline import TimelineEvent
from tpulint.queries.happens_before import OUTFED as OUTFED_KINDS


class EventBoxes:
    """The boxes of a computation in order, and the box of each event.

    A cluster that is opened again at the same place, with the same function, is the same box: a
    helper that is called for each layer is read once for each of them. `moved` are the calls, by
    identity, that soft placement moves to the host.
    """

    def __init__(
        self, events: list[TimelineEvent], part: Part, regions: Regions, moved: frozenset[int]
    ) -> None:
        self.boxes: list[OpenBox] = []
        self.of_cluster: dict[int, str] = {}  # keys, by the cluster's identity
        self.of_access: dict[int, str] = {}  # keys, by the access's identity
        self._regions = regions
        self._moved = moved
        self._hosts: dict[tuple[object, ...], OpenBox] = {}
        self._segment: OpenBox | None = None
        for event in events:
            if isinstance(event.what, Cluster) and part.has_cluster(event.what):
                self._open(event.what)
        for event in events:
            self._take(event, part)

    def __iter__(self) -> Iterator[OpenBox]:
        return iter(self.boxes)

    def call_of(self, cluster: str) -> str:
        """Return the key of the call opposite the cluster of that key."""
        return f"call of {cluster}"

    def _open(self, cluster: Cluster) -> None:
        key = self._identity(cluster)
        box = self._hosts.get(key)
        if box is None:
            kind = OUTFED if cluster.kind in OUTFED_KINDS else CLUSTER
            around = self._regions.around(cluster.context)
            box = OpenBox(f"cluster {len(self._hosts)}", HOST_LANE, kind, around)
            self._hosts[key] = box
        box.opened.append(cluster)
        self.of_cluster[id(cluster)] = box.key

    def _identity(self, cluster: Cluster) -> tuple[object, ...]:
        around = self._regions.around(cluster.context)
        return cluster.kind, cluster.site, repr(cluster.callee), around, cluster.parent is None

    def _take(self, event: TimelineEvent, part: Part) -> None:
        what = event.what
        if isinstance(what, Cluster):
            if id(what) in self.of_cluster:
                self._place(what)
            return
        outer = event.context.cluster
        if outer is not None:
            key = self.of_cluster.get(id(outer))
            box = next((each for each in self._hosts.values() if each.key == key), None)
        elif part.has(event.context, event.site):
            if isinstance(what, ApiCall) and id(what) in self._moved:
                self._move(what)
                return
            box = self._segment_at(event)
        else:
            box = None
        if box is not None:
            box.add(event)
            if isinstance(what, Access):
                self.of_access[id(what)] = box.key

    def _place(self, cluster: Cluster) -> None:
        """Put the cluster's box, and its call opposite, where it is opened first."""
        box = self._hosts[self._identity(cluster)]
        if any(each is box for each in self.boxes):
            return
        if cluster.parent is None:
            call = OpenBox(self.call_of(box.key), DEVICE_LANE, CALL, box.regions, box.opened)
            self.boxes.append(call)
            self._segment = None
        self.boxes.append(box)

    def _move(self, call: ApiCall) -> None:
        """Add what soft placement moves to the host, opposite the call."""
        around = self._regions.around(call.context)
        key = ("moved", call.site, around)
        box = self._hosts.get(key)
        if box is None:
            box = OpenBox(f"cluster {len(self._hosts)}", HOST_LANE, CLUSTER, around)
            self._hosts[key] = box
            moved = OpenBox(self.call_of(box.key), DEVICE_LANE, CALL, around, moved=box.moved)
            self.boxes += [moved, box]
            self._segment = None
        box.moved.append(call)

    def _segment_at(self, event: TimelineEvent) -> OpenBox | None:
        """Return the segment of an event; one that builds nothing begins none."""
        around = self._regions.around(event.context)
        if self._segment is None or self._segment.regions != around:
            if isinstance(event.what, ApiCall) and not builds(event.what):
                return None
            number = sum(each.kind == SEGMENT for each in self.boxes)
            self._segment = OpenBox(f"segment {number}", DEVICE_LANE, SEGMENT, around)
            self.boxes.append(self._segment)
        return self._segment
