"""The columns of a picture: where the boxes of a lane begin, and how wide they are."""

from __future__ import annotations

from dataclasses import dataclass

from tpulint.output.program_map.model import ComputationMap

SPACE = 22  # between rows
RAIL = 6  # from the line of a cycle to the next one
CYCLES = 3  # cycles with a line of their own


@dataclass(frozen=True)
class Columns:
    """The left edges of both lanes, the width of their boxes and of the picture.

    nest: from the frame of a region to the next one. depth: the frames around the deepest box.
    """

    edge: float
    box: float
    host: float
    width: float
    narrow: bool
    nest: float
    depth: int

    @property
    def gap(self) -> float:
        return self.host - self.edge - self.box


def columns_for(drawn: ComputationMap, narrow: bool) -> Columns:
    """Return the columns that the picture needs; in a narrow one the lanes overlap."""
    depth = max((len(each.regions) for each in drawn.nodes), default=0)
    nest = 4.0 if narrow else 8.0
    edge = 14.0 + nest * depth + RAIL * min(len(drawn.cycles), CYCLES)
    if narrow:
        width = 364.0
        box = width - 2 * edge - 36
        return Columns(edge, box, edge + 36, width, True, nest, depth)
    box, gap = 370.0, 236.0
    width = 2 * edge + 2 * box + gap
    return Columns(edge, box, edge + box + gap, width, False, nest, depth)
