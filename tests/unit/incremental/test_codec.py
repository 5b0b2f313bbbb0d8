"""Results come back from their text as they were."""

from __future__ import annotations

import json

import pytest

from tpulint.disk import MODULES, PassedOver
from tpulint.finding import (
    Applicability,
    Certainty,
    Change,
    Edit,
    Finding,
    Fix,
    Location,
    Span,
    Step,
    UnfollowedCall,
)
from tpulint.frontends.tensorflow.spelling_search import NamesInFile, Spelled
from tpulint.frontends.tensorflow.target_release import Requirement, Target
from tpulint.incremental import codec
from tpulint.incremental.disk import DiskDependencies
from tpulint.incremental.model import Analysis, FileFacts, Job, ProgramCoverage, Programs
from tpulint.syntax.api_spellings import FileSpellings, SpelledName

START, END = Location(1, 2), Location(3, 4)
SPAN = Span("a.py", START, END)
FIX = Fix(
    Applicability.UNSAFE,
    "drop it",
    (Edit(START, END, "x"),),
    (Change("function", START, END, ("name", 1, None)),),
)
STEP = Step("device", SPAN, "reads", "v", "w")
NAME = SpelledName("name", ("tf.a", "tf.b"), (1, 2), (1, 9), "tf.a", "tf", True, "x")
PATHS = codec.Paths("/top/here")


def test_an_analysis() -> None:
    analysis = Analysis(
        (
            Finding("TPU101", "m", SPAN),
            Finding("TPU102", "n", SPAN, Certainty.POSSIBLE, (STEP, STEP), FIX),
        ),
        messages=("one",),
        skipped={"too deep": 3},
        unfollowed=frozenset([UnfollowedCall("a.py", 1, 2, "f", "often enough")]),
        passed_over=(PassedOver("/top/here/large.py", "it is large", True),),
        programs=(ProgramCoverage("a.py", ("a.py", "b.py"), 3),),
    )
    row = json.loads(codec.encoded(codec.analysis_row(analysis, PATHS)))
    assert codec.analysis_of(row, PATHS) == analysis
    elsewhere = codec.analysis_of(row, codec.Paths("/another/here"))
    assert elsewhere.passed_over[0].path == "/another/here/large.py"


def test_dependencies() -> None:
    dependencies = DiskDependencies(
        {"/top/here/a.py": "digest", "/top/setup.py": ""},
        {"/top/here": ["a.py"]},
        {"/top": ["src"], "/": ["src"]},
        {(MODULES, "/top/here/.hidden"): ["b.py"]},
    )
    row = json.loads(codec.encoded(codec.dependencies_row(dependencies, PATHS)))
    assert list(row["files"]) == ["a.py", "../setup.py"]
    assert codec.dependencies_of(row, PATHS) == dependencies


def test_programs() -> None:
    required = Requirement("tensorflow==2.0", START, END, 4, False)
    target = Target(4, True, False, required, "/top/setup.py", True)
    spelled = Spelled(NAME, SPAN, 7, target, {"tf": ("tensorflow",)}, True)
    job = Job(("a.py",), (("/top/here/a.py", "on"),), 3, ("b.py",))
    programs = Programs((job,), ("a.py",), (spelled,), (PassedOver("/x", "it is large", True),))
    programs = programs._replace(using={"j": 2})
    row = json.loads(codec.encoded(programs))
    assert codec.programs_of(row) == programs
    without = spelled._replace(target=Target(4, False))
    row = json.loads(codec.encoded(Programs(spelled=(without,))))
    assert codec.programs_of(row).spelled == (without,)


def test_facts() -> None:
    spellings = FileSpellings((NAME,), {"tf": ("tensorflow",)}, False)
    facts = [
        FileFacts(),
        FileFacts("hash", script=True),
        FileFacts("", True, True, True, True, "on", NamesInFile(("tf.a",), True, spellings)),
        FileFacts(names=NamesInFile(("tf.a",))),
        FileFacts("hash", frameworks="tj"),
    ]
    assert codec.encoded_facts(facts[0]) == "[]"
    assert codec.decoded_facts(map(codec.encoded_facts, facts)) == facts


@pytest.mark.parametrize(
    "text",
    ["", "[", "7", '{"a": 1, "b": 2}', "[[1, 2, 3, 4, 5, 6, 7, 8]]", '[["hash", 1]]', "[],[]"],
)
def test_what_does_not_decode_is_none(text: str) -> None:
    assert codec.decoded_facts([text]) is None
    assert codec.decoded(lambda row: codec.analysis_of(row, PATHS), text) is None
    assert codec.decoded(codec.programs_of, text) is None
