"""The maps of the rules' pages: a deadlock has its cycle, and nothing else has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.pages import pages
from tests.unit.map.drawn import closes, of_file
from tpulint.config import ConfigError
from tpulint.finding import Certainty
from tpulint.map.pictures.model import ComputationMap
from tpulint.testing import Block, write

DEADLOCKS = ("TPU101", "TPU105")
BLOCKS = [
    block
    for page in pages()
    if page.code.startswith(("TPU1", "TPU2", "TPU3", "TPU5", "TPU6"))
    for block in page.blocks
]


def drawn_of(block: Block, folder: Path) -> list[ComputationMap]:
    """Return the maps of all files of a block; of some there is nothing to show."""
    maps: list[ComputationMap] = []
    refusals: list[str] = []
    write(block, folder)
    for name in block.files:
        if name.endswith(".py"):
            try:
                maps += of_file(folder / name).program.computations
            except ConfigError as error:
                refusals.append(str(error))
    assert all("nothing to map" in text or "cannot be parsed" in text for text in refusals)
    return maps


@pytest.mark.parametrize("block", BLOCKS, ids=[block.name for block in BLOCKS])
def test_a_cycle_is_there_where_a_deadlock_is_reported(block: Block, tmp_path: Path) -> None:
    map_drawn = drawn_of(block, tmp_path)
    cycles = [cycle for computation_map in map_drawn for cycle in computation_map.cycles]
    expected = {(mark.code, mark.certainty) for mark in block.expected}
    if ("TPU101", "definite") in expected:
        assert any(cycle.certainty is Certainty.DEFINITE for cycle in cycles)
    if not any(code in DEADLOCKS for code, _ in expected):
        assert not cycles
    for computation_map in map_drawn:
        assert_is_whole(computation_map)
        assert_is_red(computation_map)


def assert_is_red(drawn: ComputationMap) -> None:
    """The legs are between boxes that are there, and the arrow to the host is marked."""
    keys = {box.key for box in drawn.nodes} | {variable.key for variable in drawn.variables}
    for cycle in drawn.cycles:
        assert closes(cycle)
        assert {wait.source for wait in cycle.waits} <= keys
        assert {wait.lane for wait in cycle.waits} == {"device", "host"}
        assert any(
            edge.alarm
            for wait in cycle.waits
            if (edge := drawn.edge(wait.source, wait.target)) is not None
        )


def assert_is_whole(drawn: ComputationMap) -> None:
    """Every edge joins boxes, and every region and touched box is known."""
    keys = [node.key for node in drawn.nodes]
    assert len(keys) == len(set(keys))
    assert {key for edge in drawn.edges for key in (edge.source, edge.target)} <= set(keys)
    regions = {region.key for region in drawn.regions}
    assert {key for node in drawn.nodes for key in node.regions} == regions
    touched = {touch.node for variable in drawn.variables for touch in variable.touches}
    assert touched <= {*keys, ""}
