"""The counts that the rules about performance promise are those of the run's report."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.rules.pages import RULES
from tpulint.hardware import DEVICES, readable_bytes
from tpulint.run.cost import cost_of
from tpulint.runtime.emulated import emulated_tpu
from tpulint.runtime.run_statistics import Watch, running
from tpulint.testing import findings, read_page, write


@pytest.mark.parametrize(
    ("page", "number"),
    [("tpu901_one_step_per_launch", "24 steps"), ("tpu902_host_read_every_step", "25 rounds")],
)
def test_the_message_counts_what_the_run_does(page: str, number: str, tmp_path: Path) -> None:
    slow, better = (
        block for block in read_page(RULES / "cost" / f"{page}.md").blocks if block.verb == "runs"
    )
    (finding,) = [each for each in findings(slow, tmp_path) if each.code == slow.own_code]
    assert number in finding.message
    expected = int(number.split()[0])
    counts = []
    for block in (slow, better):
        write(block, tmp_path)
        with emulated_tpu(num_replicas=2), running(2, None) as watch:
            runpy.run_path(str(tmp_path / "example.py"), run_name="__main__")
        (computation,) = watch.computations.values()
        reads = sum(read.number for read in watch.reads.values())
        counts.append(len(computation.launches) if slow.own_code == "TPU901" else reads)
    assert counts[0] == expected
    assert counts[1] < expected / 10


def test_half_of_the_rows_that_a_small_batch_fills_are_padding(tmp_path: Path) -> None:
    small, better = (
        block
        for block in read_page(RULES / "cost" / "tpu905_core_batch.md").blocks
        if block.verb == "runs"
    )
    (finding,) = findings(small, tmp_path)
    assert "each core gets 4 examples" in finding.message
    assert "up to 8 rows: 50 % of a dense layer's work on them is padding" in finding.message
    costs = []
    for block in (small, better):
        write(block, tmp_path)
        with emulated_tpu(num_replicas=2), running(2, None, costs=True) as watch:
            runpy.run_path(str(tmp_path / "example.py"), run_name="__main__")
        (work,) = watch.works()
        costs.append(cost_of(work, DEVICES["v3"], str))
    assert 2 * costs[0].flops == costs[1].flops
    assert costs[0].products[0].padded_flops == costs[1].products[0].padded_flops


def slow_block_run(page: Path, code: str, folder: Path) -> tuple[str, Watch]:
    """Return the message about the reported program of a page, and what its run counts."""
    block = next(block for block in read_page(page).blocks if block.verb == "runs")
    (found,) = [each for each in findings(block, folder) if each.code == code]
    write(block, folder)
    with emulated_tpu(num_replicas=2), running(2, None, costs=True) as watch:
        runpy.run_path(str(folder / "example.py"), run_name="__main__")
    return found.message, watch


def test_the_padded_size_of_the_message_is_that_of_the_report(tmp_path: Path) -> None:
    page = RULES / "cost" / "tpu904_padded_tensor.md"
    message, watch = slow_block_run(page, "TPU904", tmp_path)
    (work,) = watch.works()
    largest = cost_of(work, DEVICES["v3"], str).tensors[0]
    sizes = [readable_bytes(largest.sizes.dense), readable_bytes(largest.sizes.row_major)]
    assert f"{sizes[0]} takes {sizes[1]}" in message
    assert f"{largest.sizes.row_major / largest.sizes.dense:.3g} x the memory" in message


def test_the_examples_of_a_step_are_the_input_of_the_report(tmp_path: Path) -> None:
    message, watch = slow_block_run(RULES / "cost" / "tpu903_starved_input.md", "TPU903", tmp_path)
    (computation,) = watch.computations.values()
    assert "each of 64 examples of a step" in message
    image_and_label = 4 * (8 * 8 * 3 + 1)
    assert computation.input_bytes == len(computation.steps) * 64 * image_and_label
