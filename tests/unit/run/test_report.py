"""The report of a run, as text and as a page."""

from __future__ import annotations

import json
import re
import xml.dom.minidom
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.sample import CONTEXT, DEADLOCK
from tpulint.finding import Certainty
from tpulint.output.full import block
from tpulint.run.cost import LargeTensor, MemoryRow, ProductLine, Sizes, StepCost
from tpulint.run.report import (
    Checked,
    ComputationRun,
    FinishedRun,
    HostReads,
    Lane,
    RunFault,
    UnfinishedLane,
    html,
    json_text,
    text,
)
from tpulint.run.session import differing_arguments

DEVICE = Lane("device", "", 20, 0, 0, 0, 1.5)
CLUSTER = Lane("host cluster 0", "a<b>.py:7", 2000, 1000, 12345678, 80, 0.0004, "log")
FEED = Lane("infeed", "a<b>.py:9", 40, 0, 0, 640, 0.002)
TABLE = """\
lane                     runs  round trips  bytes to host  bytes to device       ms  made at
trainer.py:18, 10 steps, 3 compilations
  device                   20                                               1,500.0
  host cluster 0 (log)  2,000        1,000     12,345,678               80      0.4  a<b>.py:7
  infeed                   40                           0              640      2.0  a<b>.py:9
"""


def report(*faults: RunFault, lanes: tuple[Lane, ...] = (DEVICE, CLUSTER, FEED)) -> FinishedRun:
    computations = (ComputationRun("trainer.py:18", 10, lanes, 3),) if lanes else ()
    return FinishedRun("trainer.py", "2 replicas", 1, 3.21, computations, faults)


def test_numbers_stand_below_each_other() -> None:
    first, empty, table = text(report(), CONTEXT).split("\n", 2)
    assert first == "tpulint run: trainer.py on 2 replicas: exit status 1 after 3.2 s"
    assert not empty
    assert table.startswith(TABLE)


def test_launches_and_reads_follow_the_table() -> None:
    run = ComputationRun("trainer.py:18", 10, (DEVICE,), 3, launches=5, input_bytes=12340)
    reads = tuple(HostReads(f"trainer.py:{row}", 1000, 4000) for row in range(12))
    ran = report()._replace(computations=(run,), reads=reads)
    written = text(ran, CONTEXT)
    assert "\ntrainer.py:18: 10 steps in 5 launches, 1,234 bytes of input per step\n" in written
    assert "\n12,000 host reads of values of the device, 48,000 bytes:\n" in written
    assert "\n  trainer.py:9: 1,000 reads, 4,000 bytes\n  ... and 2 more lines\n" in written
    assert "<li>trainer.py:9: 1,000 reads, 4,000 bytes</li>" in html(ran, CONTEXT)


def test_compilations_name_what_they_took_and_which_argument_differed() -> None:
    run = ComputationRun("trainer.py:18", 10, (DEVICE,), 3, launches=10)
    run = run._replace(compile_seconds=12.34, differing=("`rate` was 0.1, 0.2, 0.3",))
    output = "3 compilations, whose first steps took 12.3 s: `rate` was 0.1, 0.2, 0.3"
    ran = report()._replace(computations=(run,))
    for form in (text, html):
        assert output in form(ran, CONTEXT)
        assert "TPU509" not in form(ran, CONTEXT)
    (computation,) = json.loads(json_text(ran, CONTEXT))["computations"]
    assert computation["compile_seconds"] == 12.34
    assert computation["differing"] == ["`rate` was 0.1, 0.2, 0.3"]
    many = ran._replace(computations=(run._replace(compilations=9),))
    assert "0.3 [TPU509 recompilation]" in text(many, CONTEXT)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ([(("n", "1"),), (("n", "2"),), (("n", "3"),), (("n", "4"),)], ("`n` was 1, 2, 3, ...",)),
        ([(("x", "int32[8]"),), (("x", "int32[4]"),)], ("`x` was int32[8], int32[4]",)),
        ([(("x", "int32[8]"),)] * 2, ("its arguments were alike, so the function is made anew",)),
        ([(("n", "1"),), None], ()),
    ],
)
def test_the_arguments_that_differed(arguments: list[Any], lines: tuple[str, ...]) -> None:
    traced = [SimpleNamespace(arguments=pairs, frames=(), program=1) for pairs in arguments]
    assert differing_arguments(traced) == lines  # type: ignore[arg-type]


def test_false_two_programs_of_one_line_are_no_function_that_is_made_anew() -> None:
    """Keras' `fit` builds one step for training and one for validation."""
    traced = [
        SimpleNamespace(arguments=(("data", "float32[8]"),), frames=(), program=program)
        for program in (1, 2)
    ]
    assert differing_arguments(traced) == ()  # type: ignore[arg-type]


def test_a_fault_is_followed_by_its_finding_word_for_word() -> None:
    fault = RunFault("DeadlockError", "TPU101", "trainer.py:9", DEADLOCK)
    output = "DeadlockError at trainer.py:9 [TPU101 host-variable-deadlock]: `tpulint check` says"
    assert f"\n{output}\n\n{block(DEADLOCK, CONTEXT)}" in text(report(fault), CONTEXT)


def test_every_form_has_the_warnings_about_replicas() -> None:
    empty = RunFault("EmptyReplicaWarning", "TPU605", "trainer.py:9", None)
    equal = RunFault("EqualRowsWarning", "TPU714", "trainer.py:9", None)
    nan = "PartialNanWarning: A result of a step is not a number (NaN) on replica 1"
    ran = report(empty, equal)._replace(notes=(nan,))
    for form in (text, html):
        written = form(ran, CONTEXT)
        assert "EmptyReplicaWarning at trainer.py:9 " in written
        assert "EqualRowsWarning at trainer.py:9 " in written
        assert nan in written
    data = json.loads(json_text(ran, CONTEXT))
    assert [fault["code"] for fault in data["faults"]] == ["TPU605", "TPU714"]
    assert data["notes"] == [nan]


def test_a_silent_check_differs_from_a_failed_one() -> None:
    silent = RunFault("SomeError", "TPU501", "", None)
    assert text(report(silent), CONTEXT).endswith(": `tpulint check` is silent there.\n")
    failed = silent._replace(asked=False)
    assert text(report(failed), CONTEXT).endswith(": `tpulint check` could not be asked.\n")


def test_a_run_without_a_computation_says_so() -> None:
    for form in (text, html):
        assert "No TPU computation ran to its end." in form(report(lanes=()), CONTEXT)


def test_what_has_not_ended_is_named_and_drawn() -> None:
    stuck = UnfinishedLane("host cluster 1", "relative", "trainer.py:9", (0, 1))
    (computation,) = report().computations
    run = report()._replace(
        computations=(computation._replace(unfinished=(stuck,)),), unfinished=(stuck,)
    )
    assert "  host cluster 1 (relative) of replica 0, 1, made at trainer.py:9\n" in text(
        run, CONTEXT
    )
    page = html(run, CONTEXT)
    drawing = page[page.index("<svg") : page.rindex("</svg>")]
    assert "calls host cluster 1 (relative)" in drawing
    assert "has not ended" in drawing


def test_the_page_is_well_formed_and_complete() -> None:
    fault = RunFault("DeadlockError", "TPU101", "trainer.py:9", DEADLOCK)
    page = re.sub("<!DOCTYPE html>|<meta [^>]*>", "", html(report(fault), CONTEXT))
    document = xml.dom.minidom.parseString(page)
    cells = [cell.firstChild for cell in document.getElementsByTagName("td")]
    told = [str(cell.nodeValue) for cell in cells if cell is not None]
    assert {"2,000", "12,345,678", "a<b>.py:7", "1,500.0"} <= set(told)
    assert len(document.getElementsByTagName("article")) == 1
    assert "DeadlockError at trainer.py:9" in page


COST = StepCost(
    place="trainer.py:18",
    device="v3",
    minimum=2**34 + 1,
    capacity=2**34,
    memory=(MemoryRow("variables", 2, Sizes(2**30, 2**34 + 1, 2**35), True),),
    tensors=(LargeTensor("a/b/c", "float32", (9, 9), 1, Sizes(324, 4608, 8192), "trainer.py:7"),),
    changes=("something: saves up to 1 GB",),
    flops=2000,
    padded_flops=4000,
    intensity=10.0,
    ridge=137.0,
    products=(ProductLine("a/b", "MatMul", 1, 9, 9, 9, 2000, 4000, 2.5, "trainer.py:7"),),
    unknown_shapes=1,
    measured_loops=0,
    uncounted_loops=0,
)


def test_the_cost_of_a_step_follows() -> None:
    ran = report()._replace(costs=(COST,))
    written = text(ran, CONTEXT)
    assert "DOES NOT FIT: needs at least 16 GB of 16 GB\n" in written
    assert "    1. something: saves up to 1 GB\n" in written
    assert "to the matrix unit (128 x 128): 50% is padding\n" in written
    assert re.search(r"MatMul 9 x 9 x 9 +2 KFLOPs +4 KFLOPs +2.5  trainer.py:7 \(a/b\)\n", written)
    assert "  1 tensor of unknown size is left out.\n" in written
    assert "needs at least 16 GB of 16 GB" in html(ran, CONTEXT)


def test_the_rules_of_possible_findings_are_named() -> None:
    ran = report()._replace(checked=Checked((), 2, {"TPU713": 1, "TPU501": 2}))
    written = text(ran, CONTEXT)
    assert "of the 2 files that ran: nothing, and 3 possible (TPU501, TPU713)\n" in written


def test_a_hint_is_shown_as_a_possible_finding() -> None:
    hint = DEADLOCK._replace(certainty=Certainty.POSSIBLE)
    ran = report()._replace(checked=Checked((), 1, {"TPU101": 1}, (hint,)))
    *_, summary, shown = text(ran, CONTEXT).splitlines()
    assert summary == "`tpulint check` of the file that ran: nothing, and 1 possible (TPU101)"
    assert shown.startswith("  ")
    assert ": TPU101 [possible] " in shown


def test_the_report_as_json_has_all_of_it() -> None:
    fault = RunFault("DeadlockError", "TPU101", "trainer.py:9", DEADLOCK)
    silent = RunFault("SomeError", "TPU501", "", None)
    reads = (HostReads("trainer.py:3", 2, 8),)
    ran = report(fault, silent)._replace(
        costs=(COST,), reads=reads, checked=Checked((DEADLOCK,), 1, {})
    )
    written = json.loads(json_text(ran, CONTEXT))
    assert written["computations"][0]["lanes"][1]["round_trips"] == 1000
    assert written["reads"] == [{"place": "trainer.py:3", "number": 2, "bytes": 8}]
    assert written["costs"][0]["memory"][0]["sizes"]["row_major"] == 2**35
    assert written["faults"][0]["finding"]["code"] == "TPU101"
    assert written["faults"][1]["finding"] is None
    assert [finding["code"] for finding in written["checked"]["findings"]] == ["TPU101"]
