"""Every program of every rule's page is analyzed, and run where it has a meaning at run time."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rules.analysis import found_marks
from tests.rules.consoles import consoles, missing
from tests.rules.execution import Outcome, execute, within
from tests.rules.pages import HEADINGS, RULES, pages
from tpulint.codes import CODES, performance_codes
from tpulint.hardware import readable_bytes
from tpulint.run.explain import explain
from tpulint.testing import Block, Page, assert_same, findings, write

PAGES = pages()
BLOCKS = [block for page in PAGES for block in page.blocks]
RUN_BLOCKS = [block for block in BLOCKS if block.verb]

# The first of these tests waits until all blocks have run.
waits_for_all = pytest.mark.timeout(900)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_exactly_the_marked_findings_are_reported(block: Block, tmp_path: Path) -> None:
    assert_same(found_marks(block, tmp_path), block.expected)


# A message ends with what to do: "...: pass its `size`", "...; did you mean `num_shards`?".
REMEDY = re.compile(
    r"[:;,] (?:add|ask for|call|cast|check|collect|copy|create|did you mean|do|divide|enter|give|"
    r"initialize|list|make|move|name|nest|pass|reduce|remove|reset|return|send|set|sum|test|use|"
    r"wrap|write)\b"
)
# These say what Python's parser, or the comment itself, has wrong.
SYNTAX = ("TPU001", "TPU002")


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.expected], ids=lambda block: block.name
)
def test_the_message_says_what_to_do(block: Block, tmp_path: Path) -> None:
    messages = [
        finding.message for finding in findings(block, tmp_path) if finding.code not in SYNTAX
    ]
    without = [message for message in messages if not REMEDY.search(message)]
    assert without == [], "end the message with what to do; a new verb goes into REMEDY"


@each_page
def test_the_output_shown_is_that_of_the_commands(page: Page) -> None:
    shown = consoles(page)
    assert shown
    for console in shown:
        output = console.output()
        assert output == console.text, f"{page.path.name}: run `scripts/pages.py --update`"


@each_page
def test_the_output_of_an_alarm_is_shown_and_its_fix(page: Page) -> None:
    assert missing(page) == []


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[str, Outcome]:
    """Return the outcomes of the blocks whose tests were selected."""
    wanted = {
        item.callspec.params["block"].name
        for item in request.session.items
        if "outcomes" in getattr(item, "fixturenames", ())
    }
    return execute(block for block in RUN_BLOCKS if block.name in wanted)


@waits_for_all
@pytest.mark.parametrize("block", RUN_BLOCKS, ids=lambda block: block.name)
def test_the_runtime_does_what_the_block_expects(
    block: Block, outcomes: dict[str, Outcome]
) -> None:
    outcome = outcomes[block.name]
    if block.verb == "raises":
        assert block.error in outcome.raised, outcome.text
        assert outcome.rule == block.rule, outcome.text
        return
    assert not outcome.raised, outcome.text
    assert {(name, rule) for name, rule in outcome.warned} == (
        {(block.error, block.rule)} if block.verb == "warns" else set()
    ), outcome.text


SLOW_BLOCKS = [
    block
    for block in RUN_BLOCKS
    if block.own_code in performance_codes()
    if any(mark.code == block.own_code for mark in block.expected)
]


@waits_for_all
@pytest.mark.parametrize("block", SLOW_BLOCKS, ids=lambda block: block.name)
def test_the_counts_of_the_messages_are_those_of_the_report(
    block: Block, outcomes: dict[str, Outcome], tmp_path: Path
) -> None:
    own = [finding for finding in findings(block, tmp_path) if finding.code == block.own_code]
    report = outcomes[block.name].report
    for finding in own:
        counted = COUNTED[finding.code](report, finding.span.start.row)
        assert counted
        assert [words for words in counted if words not in finding.message] == []


def launches(report: dict[str, Any], _: int) -> list[str]:
    return [
        f"a launch for each of {computation['launches']} steps"
        for computation in report["computations"]
    ]


def reads(report: dict[str, Any], row: int) -> list[str]:
    here = [read for read in report["reads"] if read["place"].endswith(f":{row}")]
    return [f"in each of {read['number']} rounds of this loop" for read in here]


def examples(report: dict[str, Any], _: int) -> list[str]:
    (computation,) = report["computations"]
    image_and_label = 4 * (8 * 8 * 3 + 1)
    size = computation["input_bytes"] / computation["steps"] / image_and_label
    return [f"for each of {size:.0f} examples of a step"]


def padded_tensors(report: dict[str, Any], row: int) -> list[str]:
    tensors = [tensor for cost in report["costs"] for tensor in cost["tensors"]]
    sizes = [tensor["sizes"] for tensor in tensors if tensor["place"].endswith(f":{row}")]
    return [
        f"{size['row_major'] / size['dense']:.3g} x the memory, {readable_bytes(size['dense'])} "
        f"takes {readable_bytes(size['row_major'])}"
        for size in sizes
    ]


def padded_rows(report: dict[str, Any], _: int) -> list[str]:
    (cost,) = report["costs"]
    forward = next(product for product in cost["products"] if product["depth"] == 256)
    padding = 100 - 100 * forward["flops"] / forward["padded_flops"]
    return [f"gets {forward['rows']} examples", f"{padding:.0f} % of a dense layer's work"]


def bytes_of_elements(report: dict[str, Any], _: int) -> list[str]:
    tensors = [tensor for cost in report["costs"] for tensor in cost["tensors"]]
    sizes = {tensor["sizes"]["dense"] / math.prod(tensor["shape"]) for tensor in tensors}
    return [f"activations take {size:.0f} bytes for each element" for size in sizes]


def total_launches(report: dict[str, Any]) -> float:
    return float(sum(computation["launches"] for computation in report["computations"]))


def total_reads(report: dict[str, Any]) -> float:
    return float(sum(read["number"] for read in report["reads"]))


def largest_tensor(report: dict[str, Any]) -> float:
    tensors = [tensor for cost in report["costs"] for tensor in cost["tensors"]]
    return float(max(tensor["sizes"]["row_major"] for tensor in tensors))


def padding_of_rows(report: dict[str, Any]) -> float:
    (cost,) = report["costs"]
    forward = next(product for product in cost["products"] if product["depth"] == 256)
    return float(1 - forward["flops"] / forward["padded_flops"])


def least_bytes_of_elements(report: dict[str, Any]) -> float:
    tensors = [tensor for cost in report["costs"] for tensor in cost["tensors"]]
    return float(min(tensor["sizes"]["dense"] / math.prod(tensor["shape"]) for tensor in tensors))


COSTS: dict[str, Callable[[dict[str, Any]], float]] = {
    "TPU901": total_launches,
    "TPU902": total_reads,
    "TPU904": largest_tensor,
    "TPU905": padding_of_rows,
    "TPU906": least_bytes_of_elements,
}


@waits_for_all
@pytest.mark.parametrize(
    "block",
    [block for block in RUN_BLOCKS if block.own_code in COSTS and block not in SLOW_BLOCKS],
    ids=lambda block: block.name,
)
def test_what_a_page_offers_instead_costs_at_most_half(
    block: Block, outcomes: dict[str, Outcome]
) -> None:
    cost = COSTS[block.own_code]
    slow = next(slow for slow in SLOW_BLOCKS if slow.own_code == block.own_code)
    assert cost(outcomes[block.name].report) <= cost(outcomes[slow.name].report) / 2


COUNTED: dict[str, Callable[[dict[str, Any], int], list[str]]] = {
    "TPU901": launches,
    "TPU902": reads,
    "TPU903": examples,
    "TPU904": padded_tensors,
    "TPU905": padded_rows,
    "TPU906": bytes_of_elements,
}


@waits_for_all
@pytest.mark.parametrize(
    "block", [block for block in RUN_BLOCKS if block.verb != "runs"], ids=lambda block: block.name
)
def test_the_fault_leads_to_the_marked_finding(
    block: Block, outcomes: dict[str, Outcome], tmp_path: Path
) -> None:
    write(block, tmp_path)
    failures = [within(tmp_path, failure) for failure in outcomes[block.name].failures]
    faults = explain(failures, str(tmp_path / "example.py")).faults
    linked = {
        (os.path.abspath(finding.span.filename), finding.span.start.row, finding.code)
        for finding in (fault.finding for fault in faults)
        if finding is not None
    }
    marked = {(str(tmp_path / mark.filename), mark.row, mark.code) for mark in block.expected}
    assert linked == marked, (
        "`tpulint run` links the error to a finding by its code; one of TensorFlow itself needs"
        f" a row in knowledge/raised_errors.toml:\n{outcomes[block.name].text}"
    )


@each_page
def test_the_title_is_the_code_and_its_name(page: Page) -> None:
    assert page.rule == CODES[page.code].name
    assert page.path == RULES / f"{CODES[page.code].path}.md"


@each_page
def test_the_headings_are_complete_and_in_order(page: Page) -> None:
    assert page.headings == HEADINGS


@each_page
def test_there_are_three_faults_and_three_correct_programs(page: Page) -> None:
    faults = [mark for block in page.blocks for mark in block.expected if mark.code == page.code]
    correct = [block for block in page.blocks if not block.expected]
    assert len(faults) >= 3, "mark at least three faults on the page"
    assert len(correct) >= 3, "show at least three correct programs on the page"


@each_page
def test_every_program_but_a_broken_one_is_valid_python(page: Page) -> None:
    for block in page.blocks:
        broken = {mark.filename for mark in block.expected if mark.code == "TPU001"}
        assert {name for name, text in block.files.items() if not _compiles(name, text)} == broken


def _compiles(name: str, text: str) -> bool:
    try:
        compile(text, name, "exec", dont_inherit=True)
    except SyntaxError:
        return not name.endswith(".py")
    return True


def test_no_page_gives_an_estimator_its_configuration_as_the_folder_of_the_model() -> None:
    positional = re.compile(r"TPUEstimator\(\s*[\w.]+,\s*[\w.]*RunConfig\(")
    wrong = [page.code for page in PAGES if positional.search(page.path.read_text())]
    assert wrong == [], "write `config=`: the second parameter is `model_dir`"
