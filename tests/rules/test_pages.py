"""Every program of every rule's page is analyzed, and run where it has a meaning at run time."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.rules.analysis import found_marks
from tests.rules.consoles import consoles, missing
from tests.rules.execution import Outcome, execute, within
from tests.rules.pages import HEADINGS, RULES, pages
from tpulint.codes import CODES
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
    messages = [found.message for found in findings(block, tmp_path) if found.code not in SYNTAX]
    assert [message for message in messages if not REMEDY.search(message)] == []


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
    asked = {
        item.callspec.params["block"].name
        for item in request.session.items
        if "outcomes" in getattr(item, "fixturenames", ())
    }
    return execute(block for block in RUN_BLOCKS if block.name in asked)


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
    told = {
        (os.path.abspath(found.span.filename), found.span.start.row, found.code)
        for found in (fault.finding for fault in faults)
        if found is not None
    }
    assert told == {(str(tmp_path / mark.filename), mark.row, mark.code) for mark in block.expected}


@each_page
def test_the_title_is_the_code_and_its_name(page: Page) -> None:
    assert page.rule == CODES[page.code].name
    assert page.path == RULES / f"{CODES[page.code].path}.md"


@each_page
def test_the_headings_are_complete_and_in_order(page: Page) -> None:
    assert page.headings == HEADINGS


@each_page
def test_there_are_three_alarms_and_three_silent_twins(page: Page) -> None:
    alarms = [mark for block in page.blocks for mark in block.expected if mark.code == page.code]
    silent = [block for block in page.blocks if not block.expected]
    assert len(alarms) >= 3
    assert len(silent) >= 3


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
