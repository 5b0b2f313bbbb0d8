"""Every program of every rule's page is analyzed, and run where it has a meaning at run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import found_marks
from tests.rules.comparison import assert_same
from tests.rules.consoles import consoles, missing
from tests.rules.execution import Outcome, execute, within
from tests.rules.pages import HEADINGS, RULES, Block, Page, pages, write
from tpulint.codes import CODES
from tpulint.run.explain import explain

PAGES = pages()
BLOCKS = [block for page in PAGES for block in page.blocks]
RUN_BLOCKS = [block for block in BLOCKS if block.verb]
# The tool says these itself; all others are said by the rule file beside the page.
OF_THE_TOOL = {"TPU001", "TPU002"}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_exactly_the_marked_findings_are_reported(block: Block, tmp_path: Path) -> None:
    assert_same(found_marks(block, tmp_path), block.expected)


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
        (str(tmp_path / found.span.filename), found.span.start.row, found.code)
        for found in (fault.finding for fault in faults)
        if found is not None
    }
    assert told == {(str(tmp_path / mark.filename), mark.row, mark.code) for mark in block.expected}


@each_page
def test_the_title_is_the_code_and_its_name(page: Page) -> None:
    assert page.rule == CODES[page.code].name
    assert page.path.stem == CODES[page.code].module


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


def test_every_rule_has_its_page_and_every_page_its_rule() -> None:
    modules = {row.module for row in CODES.values() if (RULES / f"{row.module}.py").exists()}
    tools = {CODES[code].module for code in OF_THE_TOOL}
    assert {page.path.stem for page in PAGES} == modules | tools


def test_every_file_of_a_rule_is_named_by_a_code() -> None:
    """A rule's own questions are in files beside it, with its code before their names."""
    named = {row.module for row in CODES.values()}
    coded = {code.lower() for code in CODES}
    files = list(RULES.glob("tpu[0-9]*.*"))
    assert {path.stem for path in files if path.suffix == ".md"} <= named
    assert {path.stem.partition("_")[0] for path in files} <= coded
