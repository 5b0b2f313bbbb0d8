"""Bytes to text and back: encodings, newlines, notebooks, and what cannot be read."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tpulint.diagnostics.fix import apply, difference
from tpulint.finding import Applicability, Edit, Fix, Location
from tpulint.notebook import write_notebook
from tpulint.source import Source, UnreadableSource, read_source


def notebook(*cells: tuple[str, object], **more: object) -> bytes:
    content = [
        {"cell_type": kind, "source": source, "metadata": {}, **more} for kind, source in cells
    ]
    return json.dumps({"cells": content, "nbformat": 4}, indent=1).encode() + b"\n"


def test_newlines_and_rows_stay() -> None:
    source = read_source("a.py", b"x = 1\r\ny = '\x0c'\rz\n")
    assert source.text == "x = 1\r\ny = '\x0c'\rz\n"
    assert source.lines == ["x = 1", "y = '\x0c'", "z", ""]
    assert source.newline == "\r\n"


def test_byte_order_mark_is_no_text() -> None:
    source = read_source("a.py", b"\xef\xbb\xbfx = 1\n")
    assert source.text == "x = 1\n"
    assert source.text.encode(source.encoding) == source.data


@pytest.mark.parametrize("row", [0, 1], ids=["first row", "second row"])
def test_cookie_decides_the_encoding(row: int) -> None:
    data = b"#!python\n" * row + b"# -*- coding: latin-1 -*-\nname = '\xe9'\n"
    assert "'\xe9'" in read_source("a.py", data).text


def test_cookie_in_the_third_row_is_a_comment() -> None:
    with pytest.raises(UnreadableSource, match="not utf-8: byte 0xe9"):
        read_source("a.py", b"\n\n# coding: latin-1\n'\xe9'\n")


@pytest.mark.parametrize(
    ("data", "reason", "row", "column"),
    [
        (b"a = 1\nb = '\xff'\n", "not utf-8: byte 0xff", 2, 6),
        (b"# coding: klingon\n", "encoding cannot be used", 1, 1),
        (b"# coding: utf-8\n'\xff'\n", "not utf-8", 2, 2),
        (b"\xef\xbb\xbf# coding: latin-1\n", "encoding cannot be used", 1, 1),
        (b"x = 1\n\0\0", "binary", 2, 1),
        ("x = 1\n".encode("utf-16"), "binary", 1, 1),
    ],
)
def test_what_cannot_be_text(data: bytes, reason: str, row: int, column: int) -> None:
    with pytest.raises(UnreadableSource, match=reason) as caught:
        read_source("a.py", data)
    assert (caught.value.row, caught.value.column) == (row, column)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="cannot read the file: No such file"):
        read_source(str(tmp_path / "gone.py"))


def test_notebook_cells_are_numbered_over_all_cells() -> None:
    data = notebook(("markdown", ["# Title"]), ("code", ["a = 1\n", "b = 2"]), ("code", "c = 3"))
    source = read_source("n.ipynb", data)
    assert source.text == "a = 1\nb = 2\nc = 3\n"
    assert source.cells == ((2, 1, 2), (3, 3, 3))
    assert source.place(2) == (2, 2)
    assert source.place(3) == (3, 1)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%matplotlib inline\nx = 1", "pass  # magic: %matplotlib inline\nx = 1\n"),
        ("if x:\n    !ls -l", "if x:\n    pass  # magic: !ls -l\n"),
        ("files = !ls", "files = None  # magic: !ls\n"),
        ("tf.tpu?", "pass  # magic: tf.tpu?\n"),
        ("%%bash\necho $x", "pass  # magic: %%bash\npass  # magic: echo $x\n"),
        ("%%time\nx = 1", "pass  # magic: %%time\nx = 1\n"),
        (
            "!pip install a \\\n  b\nx = 1",
            "pass  # magic: !pip install a \\\npass  # magic:   b\nx = 1\n",
        ),
        ("x = (5\n% 3)", "x = (5\n% 3)\n"),
        ("x = ('a'\n% 3)\n!ls", "x = ('a'\n% 3)\npass  # magic: !ls\n"),
        ('s = """\n!no\n"""\n!ls', 's = """\n!no\n"""\npass  # magic: !ls\n'),
        ("pip install a\nx = 1", "pass  # magic: pip install a\nx = 1\n"),
        ("x = # TODO\ny = 1", "x = None  # magic: # TODO\ny = 1\n"),
        ("await tf.io", "await tf.io\n"),
        ("x != y", "x != y\n"),
    ],
)
def test_magics_become_harmless_rows_and_come_back(cell: str, text: str) -> None:
    data = notebook(("code", cell))
    source = read_source("n.ipynb", data)
    assert source.text == text
    assert source.line(1) == cell.split("\n")[0]
    assert write_notebook(source.data, {1: source.text}) == data


def test_a_leading_indent_is_stripped_as_ipython_does() -> None:
    source = read_source("n.ipynb", notebook(("code", " x = 1\n if x:\n     y = 2")))
    assert source.text == "x = 1\nif x:\n    y = 2\n"


def test_a_broken_cell_costs_that_cell_only() -> None:
    source = read_source("n.ipynb", notebook(("code", "x = 1"), ("code", "y = = 2"), ("code", "z")))
    assert source.text == "x = 1\npass  # magic: y = = 2\nz\n"
    assert source.problems == (("invalid syntax", 2, 5),)
    assert source.line(2) == "y = = 2"


@pytest.mark.parametrize(
    "cell",
    [
        ">>> x = 1\n>>> x\n1",
        "In [1]: x\nOut[1]: 3",
        "x = 1\n# reading records:\n>>> reader = tf.TFRecordReader()\n>>> reader",
        "def f():\n    # TODO: your code\n\nf()",
        "f(a,\n  b=  # your code here\n)",
    ],
)
def test_an_exercise_or_a_transcript_is_no_error(cell: str) -> None:
    assert read_source("n.ipynb", notebook(("code", cell))).problems == ()


def test_a_notebook_in_another_language_has_no_cells() -> None:
    content = json.loads(notebook(("code", "x <- 1")))
    content["metadata"] = {"language_info": {"name": "R"}}
    assert read_source("n.ipynb", json.dumps(content).encode()).text == ""


def test_writing_a_cell_leaves_the_others_as_they_are() -> None:
    data = notebook(("code", ["a = 1\n", "b = '\u00e9'"]), ("markdown", "text"), ("code", "c"))
    source = read_source("n.ipynb", data.replace(b"\\u00e9", "\u00e9".encode()))
    written = write_notebook(source.data, {1: "a = 2\nb = 3\n"})
    assert written == source.data.replace(b"a = 1", b"a = 2").replace(
        "b = '\u00e9'".encode(), b"b = 3"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "no list of cells"),
        (b'{"cells": 3}', "no list of cells"),
        (b"\xff", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_broken_notebooks(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSource, match=reason):
        read_source("n.ipynb", data)


def test_odd_cells_are_left_out() -> None:
    data = json.dumps({"cells": [3, {"cell_type": "code"}, {"cell_type": "code", "source": [1]}]})
    assert read_source("n.ipynb", data.encode()) == Source("n.ipynb", data.encode(), "")


def test_libcst_is_not_needed() -> None:
    modules = "tpulint.source, tpulint.notebook"
    program = f"import sys, {modules}; sys.exit('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


EXPORTED = (
    "# In[1]:\n\n!pip install -q \\\n    keras\nfiles = !ls\nif files:\n    %cd /tmp\n%time f()\n"
)


@pytest.mark.parametrize(
    "mark", ["# In[ ]:", "# In[12]:", "# %%", '"""\nAutomatically generated by Colab.\n"""']
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_false_syntax_error_of_a_script_exported_from_a_notebook(mark: str, newline: str) -> None:
    """Commands of IPython are read as a notebook's are; each row and column stays."""
    written = EXPORTED.replace("# In[1]:", mark).replace("\n", newline)
    source = read_source("a.py", written.encode())
    rows = written.split(newline)
    assert len(ast.parse(source.text).body) >= 4
    assert [source.line(row + 1) for row in range(len(rows))] == rows
    assert source.lines[-2].index("f()") == rows[-2].index("f()")


def test_a_fix_of_an_exported_script_keeps_its_commands() -> None:
    source = read_source("a.py", EXPORTED.encode())
    edit = Edit(Location(8, 7), Location(8, 8), "g")
    after = EXPORTED.replace("f()", "g()")
    data, _ = apply(source, [Fix(Applicability.SAFE, "", (edit,))])
    assert data == after.encode()
    assert "-%time f()\n+%time g()\n" in difference(source, data)
    assert "pass" not in difference(source, data)


@pytest.mark.parametrize(
    "text",
    [
        EXPORTED.replace("# In[1]:", "# 1"),  # nothing says that IPython runs it
        '# In[1]:\ntext = """\n!pip install keras\n"""\n',
        "print('# In[1]:')\n!ls\n",
    ],
    ids=["a plain script", "a string of an export", "a mark in a string"],
)
def test_other_scripts_are_read_as_they_are(text: str) -> None:
    source = read_source("a.py", text.encode())
    assert source.text == text
    assert not source.has_stand_ins
