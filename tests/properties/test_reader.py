"""The reader survives any program, and says the same of the same program."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.programs import (
    BLOCKS,
    Files,
    findings_in,
    indented,
    is_valid,
    logical_rows,
    renamed,
    shown,
    spaced,
    unparsed,
)

TOKEN = re.compile(r"\w+|[^\w\s]|\n\s*")
SAMPLE = settings(max_examples=60, deadline=None, derandomize=True)
MANY = settings(max_examples=200, deadline=None, derandomize=True)

blocks = st.sampled_from(BLOCKS)
valid_blocks = st.sampled_from([files for files in BLOCKS if is_valid(files)])


@st.composite
def mutated(draw: st.DrawFn) -> Files:
    """A page's program with some lines and tokens lost, doubled, swapped or foreign."""
    files = dict(draw(blocks))
    foreign = "\n".join(draw(blocks).values())
    name = draw(st.sampled_from(sorted(files)))
    lines = files[name].splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 4))):
        row = draw(st.integers(0, max(len(lines) - 1, 0)))
        other = draw(st.integers(0, max(len(lines) - 1, 0)))
        change = draw(st.sampled_from(["drop", "double", "swap", "foreign", "indent", "token"]))
        if not lines:
            break
        if change == "drop":
            del lines[row]
        elif change == "double":
            lines.insert(other, lines[row])
        elif change == "swap":
            lines[row], lines[other] = lines[other], lines[row]
        elif change == "foreign":
            lines.insert(row, draw(st.sampled_from(foreign.splitlines(keepends=True))) + "\n")
        elif change == "indent":
            lines[row] = "    " + lines[row]
        else:
            lines[row] = _one_token_changed(draw, lines[row], foreign)
    files[name] = "".join(lines)
    return files


def _one_token_changed(draw: st.DrawFn, line: str, foreign: str) -> str:
    actual = list(TOKEN.finditer(line))
    if not actual:
        return line
    old = draw(st.sampled_from(actual))
    new = draw(st.sampled_from([match[0] for match in TOKEN.finditer(foreign)]))
    return line[: old.start()] + new + line[old.end() :]


@MANY
@given(files=mutated())
def test_no_program_crashes_the_reader(files: Files) -> None:
    for finding in findings_in(files):
        rows = files[finding.span.filename.removeprefix("/program/")].splitlines() or [""]
        assert 1 <= finding.span.start.row <= len(rows) + 1
        assert finding.span.start <= finding.span.end


@MANY
@given(files=mutated())
def test_the_same_text_has_the_same_findings(files: Files) -> None:
    assert findings_in(files) == findings_in(files)


@SAMPLE
@given(files=valid_blocks, suffix=st.sampled_from(["_", "_local", "ß", "_2"]))
def test_local_names_mean_nothing(files: Files, suffix: str) -> None:
    assert shown(findings_in(renamed(files, suffix))) == shown(findings_in(files))


@SAMPLE
@given(files=valid_blocks, width=st.sampled_from([1, 2, 8]))
def test_indentation_means_nothing(files: Files, width: int) -> None:
    other = {name: indented(text, width) for name, text in files.items()}
    rows = [(finding.code, finding.span.start.row) for finding in findings_in(files)]
    assert [(finding.code, finding.span.start.row) for finding in findings_in(other)] == rows


@SAMPLE
@given(files=valid_blocks)
def test_layout_means_nothing(files: Files) -> None:
    other = {name: unparsed(text) for name, text in files.items()}
    assert shown(findings_in(other)) == shown(findings_in(files))


@SAMPLE
@given(data=st.data(), files=valid_blocks)
def test_findings_move_with_their_lines(data: st.DataObject, files: Files) -> None:
    name = data.draw(st.sampled_from(sorted(files)))
    rows = st.sampled_from(sorted(logical_rows(files[name])))
    lines = st.sampled_from(["", "# a comment", "    # outside_compilation"])
    text, moved = spaced(files[name], data.draw(st.dictionaries(rows, lines, max_size=6)))
    before, after = findings_in(files), findings_in({**files, name: text})
    here = f"/program/{name}"
    wanted = [
        (finding.code, moved[finding.span.start.row])
        for finding in before
        if finding.span.filename == here
    ]
    assert [
        (finding.code, finding.span.start.row) for finding in after if finding.span.filename == here
    ] == wanted
